//! SCRAM-SHA-256 (RFC 5802, 7677), the server's side, with PostgreSQL's verifiers and channel binding
//! `tls-server-end-point`.
//!
//! ```text
//!  client                                      server
//!    n,,n=,r=<nonce>              ──►
//!                                 ◄──   r=<nonce><ours>,s=<salt>,i=<iterations>
//!    c=<binding>,r=<..>,p=<proof> ──►
//!                                 ◄──   v=<signature>
//! ```
//!
//! The server keeps a [`Verifier`], never the password: a stolen verifier is not enough to log in.

use crate::report::{Report, Result, SqlState};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2, rand};
use std::num::NonZeroU32;

/// Rounds of the hash for new verifiers (PostgreSQL's default).
const ITERATIONS: u32 = 4_096;
const MAX_ITERATIONS: u32 = 10_000_000;
const KEY_BYTES: usize = digest::SHA256_OUTPUT_LEN;
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 18;

type Key = [u8; KEY_BYTES];

/// What proves that a client knows a password: `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    iterations: NonZeroU32,
    salt: Vec<u8>,
    stored_key: Key,
    server_key: Key,
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Verifier(..)")
    }
}

impl Verifier {
    /// A verifier of a password, with a random salt.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub fn of(password: &str) -> Result<Self> {
        let salt = random::<SALT_BYTES>()?;
        let iterations = NonZeroU32::new(ITERATIONS).unwrap_or(NonZeroU32::MIN);
        Ok(Self::derive(password, salt.to_vec(), iterations))
    }

    fn derive(password: &str, salt: Vec<u8>, iterations: NonZeroU32) -> Self {
        // as PostgreSQL does, what SASLprep refuses is taken as it is
        let prepared = stringprep::saslprep(password);
        let password = prepared.as_deref().unwrap_or(password);
        let mut salted = Key::default();
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations, &salt, password.as_bytes(), &mut salted);
        let stored_key = sha256(&mac(&salted, b"Client Key"));
        let server_key = mac(&salted, b"Server Key");
        Self { iterations, salt, stored_key, server_key }
    }

    /// Reads PostgreSQL's form (`pg_authid.rolpassword`). `None` if it is not of that form.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("SCRAM-SHA-256$")?;
        let (head, keys) = rest.split_once('$')?;
        let (iterations, salt) = head.split_once(':')?;
        let (stored_key, server_key) = keys.split_once(':')?;
        let iterations = iterations.parse().ok().filter(|n: &NonZeroU32| n.get() <= MAX_ITERATIONS)?;
        Some(Self {
            iterations,
            salt: STANDARD.decode(salt).ok()?,
            stored_key: STANDARD.decode(stored_key).ok()?.try_into().ok()?,
            server_key: STANDARD.decode(server_key).ok()?.try_into().ok()?,
        })
    }

    /// A verifier that no password fits, always the same for a name: whether a user exists stays unknown.
    pub fn nobody(secret: &[u8], user: &str) -> Self {
        let of = |what: &[u8]| mac(secret, &[what, user.as_bytes()].concat());
        Self {
            iterations: NonZeroU32::new(ITERATIONS).unwrap_or(NonZeroU32::MIN),
            salt: of(b"salt")[..SALT_BYTES].to_vec(),
            stored_key: of(b"stored"),
            server_key: of(b"server"),
        }
    }

    /// Whether this is the password, for clients that send it as it is.
    pub fn fits(&self, password: &str) -> bool {
        let derived = Self::derive(password, self.salt.clone(), self.iterations);
        same(&derived.stored_key, &self.stored_key)
    }
}

impl std::fmt::Display for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |bytes: &[u8]| STANDARD.encode(bytes);
        let (salt, stored, server) = (text(&self.salt), text(&self.stored_key), text(&self.server_key));
        write!(f, "SCRAM-SHA-256${}:{salt}${stored}:{server}", self.iterations)
    }
}

/// The server between its two messages.
#[derive(Debug)]
pub(crate) struct Exchange {
    verifier: Verifier,
    /// The header that the client's second message repeats, and what it is bound to.
    binding: Vec<u8>,
    nonce: String,
    /// The client's first message without its header, and our answer.
    messages: String,
}

impl Exchange {
    /// Reads the client's first message; returns our answer. `end_point` is the certificate's hash if the
    /// mechanism is the one with channel binding; `offered` says whether that one was to be had.
    ///
    /// # Errors
    ///
    /// The message is malformed, or a man in the middle has hidden that the server offers channel binding.
    pub(crate) fn start(
        verifier: Verifier,
        first: &[u8],
        end_point: Option<&[u8]>,
        offered: bool,
    ) -> Result<(Self, String)> {
        let ours = STANDARD.encode(random::<NONCE_BYTES>()?);
        Self::start_with(verifier, first, end_point, offered, &ours)
    }

    fn start_with(
        verifier: Verifier,
        first: &[u8],
        end_point: Option<&[u8]>,
        offered: bool,
        ours: &str,
    ) -> Result<(Self, String)> {
        let first = std::str::from_utf8(first).map_err(|_| malformed("not UTF-8"))?;
        let mut parts = first.splitn(3, ',');
        let (flag, authzid, bare) = (parts.next(), parts.next(), parts.next());
        let (Some(flag), Some(authzid), Some(bare)) = (flag, authzid, bare) else {
            return Err(malformed("no header"));
        };
        match (flag, end_point) {
            ("p=tls-server-end-point", Some(_)) | ("n", None) => {}
            // the client would bind if we could: it does not know that we offered it
            ("y", None) if !offered => {}
            ("y", _) => {
                let what = "SCRAM channel binding negotiation error";
                return Err(Report::fatal(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, what));
            }
            _ => return Err(malformed("channel binding does not fit the mechanism")),
        }
        if !authzid.is_empty() {
            let what = "client uses authorization identity, but it is not supported";
            return Err(Report::fatal(SqlState::FEATURE_NOT_SUPPORTED, what));
        }
        let mut attributes = bare.split(',');
        // the name is that of the start-up packet, as in PostgreSQL
        attributes.next().filter(|name| name.starts_with("n=")).ok_or_else(|| malformed("no user"))?;
        let theirs = attributes.next().and_then(|nonce| nonce.strip_prefix("r="));
        let theirs = theirs.filter(|nonce| {
            !nonce.is_empty() && nonce.bytes().all(|byte| matches!(byte, 0x21..=0x7e) && byte != b',')
        });
        let theirs = theirs.ok_or_else(|| malformed("no nonce"))?;
        let nonce = format!("{theirs}{ours}");
        let salt = STANDARD.encode(&verifier.salt);
        let answer = format!("r={nonce},s={salt},i={}", verifier.iterations);
        let mut binding = format!("{flag},,").into_bytes();
        binding.extend_from_slice(end_point.unwrap_or_default());
        let messages = format!("{bare},{answer}");
        Ok((Self { verifier, binding, nonce, messages }, answer))
    }

    /// Reads the client's second message; returns our last one, or `None` if the proof is wrong.
    ///
    /// # Errors
    ///
    /// The message is malformed, or bound to another channel.
    pub(crate) fn finish(self, last: &[u8]) -> Result<Option<String>> {
        let last = std::str::from_utf8(last).map_err(|_| malformed("not UTF-8"))?;
        let (message, proof) = last.rsplit_once(",p=").ok_or_else(|| malformed("no proof"))?;
        let mut attributes = message.split(',');
        let binding = attributes.next().and_then(|binding| binding.strip_prefix("c="));
        let binding = binding.and_then(|binding| STANDARD.decode(binding).ok());
        let binding = binding.ok_or_else(|| malformed("no channel binding"))?;
        if binding != self.binding {
            let what = "SCRAM channel binding check failed";
            return Err(Report::fatal(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, what));
        }
        let nonce = attributes.next().and_then(|nonce| nonce.strip_prefix("r="));
        if nonce != Some(&self.nonce) {
            return Err(malformed("nonce does not match"));
        }
        let proof: Key = STANDARD
            .decode(proof)
            .ok()
            .and_then(|proof| proof.try_into().ok())
            .ok_or_else(|| malformed("no proof"))?;
        let all = format!("{},{message}", self.messages);
        let signature = mac(&self.verifier.stored_key, all.as_bytes());
        let client_key: Key = std::array::from_fn(|i| proof[i] ^ signature[i]);
        if !same(&sha256(&client_key), &self.verifier.stored_key) {
            return Ok(None);
        }
        let signature = STANDARD.encode(mac(&self.verifier.server_key, all.as_bytes()));
        Ok(Some(format!("v={signature}")))
    }
}

fn malformed(what: &str) -> Box<Report> {
    Report::fatal(SqlState::PROTOCOL_VIOLATION, "malformed SCRAM message").with_detail(what)
}

fn mac(key: &[u8], text: &[u8]) -> Key {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text);
    let mut key = Key::default();
    key.copy_from_slice(tag.as_ref());
    key
}

fn sha256(bytes: &[u8]) -> Key {
    let mut hash = Key::default();
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

/// Compares in a time that does not depend on where they differ.
fn same(a: &Key, b: &Key) -> bool {
    a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

/// Random bytes of the system.
///
/// # Errors
///
/// The system gives no random numbers.
pub fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    rand::SecureRandom::fill(&rand::SystemRandom::new(), &mut bytes)
        .map_err(|_| Report::fatal(SqlState::INTERNAL_ERROR, "the system gives no random numbers"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    // the example of RFC 7677
    const FIRST: &[u8] = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
    const OURS: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    const LAST: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

    fn pencil() -> Verifier {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        Verifier::derive("pencil", salt, NonZeroU32::new(4_096).unwrap())
    }

    fn start(first: &[u8], end_point: Option<&[u8]>, offered: bool) -> Result<(Exchange, String)> {
        Exchange::start_with(pencil(), first, end_point, offered, OURS)
    }

    #[test]
    fn the_example_of_the_rfc_passes() {
        let (exchange, answer) = start(FIRST, None, false).unwrap();
        assert_eq!(
            answer,
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        );
        let answer = exchange.finish(LAST.as_bytes()).unwrap();
        assert_eq!(answer.as_deref(), Some("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
    }

    #[test]
    fn a_wrong_password_and_a_name_that_is_nobody_fail_alike() {
        let wrong = LAST.replace("p=dHz", "p=eHz");
        let (exchange, _) = start(FIRST, None, false).unwrap();
        assert_eq!(exchange.finish(wrong.as_bytes()).unwrap(), None);
        let nobody = Verifier::nobody(b"secret", "ann");
        assert_eq!(nobody, Verifier::nobody(b"secret", "ann"));
        assert_ne!(nobody, Verifier::nobody(b"other", "ann"));
        let (exchange, _) = Exchange::start_with(nobody, FIRST, None, false, OURS).unwrap();
        assert_eq!(exchange.finish(LAST.as_bytes()).unwrap(), None);
    }

    #[test]
    fn a_channel_binding_that_was_hidden_is_noticed() {
        let hidden = b"y,,n=,r=abc";
        assert!(start(hidden, None, true).is_err());
        assert!(start(hidden, None, false).is_ok());
        let bound = b"p=tls-server-end-point,,n=,r=abc";
        assert!(start(bound, None, false).is_err());
        let (exchange, _) = start(bound, Some(b"hash"), true).unwrap();
        let other = STANDARD.encode(b"p=tls-server-end-point,,hasH");
        let last = format!("c={other},r=abc{OURS},p={}", STANDARD.encode([0; 32]));
        assert_eq!(
            exchange.finish(last.as_bytes()).unwrap_err().code,
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION
        );
        assert!(start(FIRST, Some(b"hash"), true).is_err());
    }

    #[test]
    fn malformed_messages_are_refused() {
        for first in
            [&b""[..], b"n", b"n,,", b"n,,n=", b"n,,n=,r=", b"n,a=x,n=,r=a", b"x,,n=,r=a", b"n,,m=1,n=,r=a"]
        {
            assert!(start(first, None, false).is_err(), "{first:?}");
        }
        for last in
            ["", "c=biws", "c=biws,p=aaaa", "c=biws,r=abc,p=aaaa", "c=!,r=,p=", &LAST.replace("VQ=", "V")]
        {
            let (exchange, _) = start(FIRST, None, false).unwrap();
            assert!(exchange.finish(last.as_bytes()).is_err(), "{last}");
        }
    }

    #[test]
    fn verifiers_are_read_as_they_are_written() {
        let verifier = Verifier::of("secret").unwrap();
        let text = verifier.to_string();
        assert_eq!(Verifier::parse(&text), Some(verifier.clone()));
        assert!(verifier.fits("secret"));
        assert!(!verifier.fits("Secret"));
        for text in ["", "md5abc", "SCRAM-SHA-256$0:AA==$AA==:AA==", "SCRAM-SHA-256$4096:AA==$AA==:AA=="] {
            assert_eq!(Verifier::parse(text), None, "{text}");
        }
    }

    #[test]
    fn verifiers_of_others_are_understood() {
        let text = postgres_protocol::password::scram_sha_256(b"secret");
        assert!(Verifier::parse(&text).unwrap().fits("secret"));
    }
}
