//! The first packets of a connection: what they ask for, and which protocol they speak.
//!
//! ```text
//!  SSLRequest ──► S + handshake | N ─┐
//!  GSSENCRequest ──► N ──────────────┤ each once
//!                                    ├──► StartupMessage 3.x ──► (NegotiateProtocolVersion) ──► authentication
//!                                    └──► CancelRequest ──► the connection ends, without an answer
//! ```

use crate::channel::{Channel, Tls, Transport};
use crate::decode::utf8;
use crate::inbox::{Inbox, ReadError};
use crate::limits::MAX_STARTUP_BYTES;
use crate::outbox::Outbox;
use crate::report::{Report, Result, SqlState};
use std::io::Write;

const CANCEL: u32 = 1234 << 16 | 5678;
const SSL: u32 = 1234 << 16 | 5679;
const GSS: u32 = 1234 << 16 | 5680;
/// The newest protocol that is spoken here.
const LATEST: u32 = 3 << 16 | 2;
/// Bytes of a cancel key (protocol 3.2).
const CANCEL_KEY_BYTES: std::ops::RangeInclusive<usize> = 4..=256;

/// Who connects, to what, and how.
#[derive(Clone, Debug)]
pub struct Startup {
    /// The user's name.
    pub user: String,
    /// The database; the user's name if the client names none.
    pub database: String,
    /// Settings for the session, those of `options` included, in order.
    pub parameters: Vec<(String, String)>,
    /// The minor version of the protocol: 0 or 2.
    pub minor: u16,
    /// Whether the connection is encrypted.
    pub encrypted: bool,
}

/// What the first packets ask for.
#[derive(Debug)]
pub(crate) enum Greeting {
    Start(Startup),
    Cancel { pid: i32, key: Vec<u8> },
}

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    /// The client has closed the connection.
    #[error(transparent)]
    Gone(#[from] ReadError),
    /// The client is told why.
    #[error(transparent)]
    Fatal(Box<Report>),
    /// The client ended the session in order.
    #[error("done")]
    Done,
}

impl From<Box<Report>> for Stop {
    fn from(report: Box<Report>) -> Self {
        Self::Fatal(report)
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Gone(error.into())
    }
}

/// The tag of a Terminate message and the first bytes of its length, read as the length of a startup packet.
const TERMINATE: i32 = i32::from_be_bytes([b'X', 0, 0, 0]);

/// Reads the first packets.
///
/// # Errors
///
/// The connection ends.
pub(crate) fn greet<T: Transport>(
    channel: &mut Channel<T>,
    inbox: &mut Inbox,
    out: &mut Outbox,
    tls: Option<&Tls>,
) -> Result<Greeting, Stop> {
    let (mut ssl, mut gss) = (false, false);
    loop {
        let packet = match inbox.packet(channel, MAX_STARTUP_BYTES) {
            // a client that ends the session before it has begun
            Err(ReadError::Length(TERMINATE)) => return Err(Stop::Done),
            Err(ReadError::Length(_)) => {
                return Err(fatal("invalid length of startup packet"));
            }
            packet => packet?,
        };
        let packet = inbox.bytes(&packet);
        let (code, body) = packet.split_at(4);
        let code = u32::from_be_bytes([code[0], code[1], code[2], code[3]]);
        match code {
            SSL if !ssl => {
                ssl = true;
                // what follows in the clear must not be taken for what was encrypted
                if !inbox.is_empty() {
                    return Err(stuffed("SSL"));
                }
                match tls {
                    Some(tls) if !channel.is_encrypted() => {
                        channel.write_all(b"S")?;
                        channel.flush()?;
                        channel.encrypt(tls)?;
                    }
                    _ => {
                        channel.write_all(b"N")?;
                        channel.flush()?;
                    }
                }
            }
            GSS if !gss => {
                gss = true;
                if !inbox.is_empty() {
                    return Err(stuffed("GSSAPI"));
                }
                channel.write_all(b"N")?;
                channel.flush()?;
            }
            CANCEL => {
                let (pid, key) = body.split_at_checked(4).ok_or_else(|| fatal("invalid cancel request"))?;
                if !CANCEL_KEY_BYTES.contains(&key.len()) {
                    return Err(fatal("invalid cancel request"));
                }
                let pid = i32::from_be_bytes([pid[0], pid[1], pid[2], pid[3]]);
                return Ok(Greeting::Cancel { pid, key: key.to_vec() });
            }
            version if version >> 16 == 3 => {
                let startup = startup(version, body, channel.is_encrypted(), out)?;
                return Ok(Greeting::Start(startup));
            }
            version => {
                let (major, minor) = (version >> 16, version & 0xffff);
                let what =
                    format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.2");
                return Err(Report::fatal(SqlState::FEATURE_NOT_SUPPORTED, what).into());
            }
        }
    }
}

/// Reads a StartupMessage; a newer protocol than ours, or options of it, are negotiated down.
fn startup(version: u32, body: &[u8], encrypted: bool, out: &mut Outbox) -> Result<Startup, Stop> {
    let mut startup = Startup {
        user: String::new(),
        database: String::new(),
        parameters: Vec::new(),
        // there is no 3.1
        minor: if version >= LATEST { 2 } else { 0 },
        encrypted,
    };
    let mut unknown = Vec::new();
    let mut rest = body;
    loop {
        let name = text(&mut rest)?;
        if name.is_empty() {
            break;
        }
        let value = text(&mut rest)?;
        match name {
            "user" => startup.user = value.to_owned(),
            "database" => startup.database = value.to_owned(),
            "options" => options(value, &mut startup.parameters)?,
            "replication" => {
                if !matches!(value, "false" | "off" | "no" | "0") {
                    let what = "replication connections are not supported";
                    return Err(Report::fatal(SqlState::FEATURE_NOT_SUPPORTED, what).into());
                }
            }
            name if name.starts_with("_pq_.") => unknown.push(name.to_owned()),
            name => startup.parameters.push((name.to_owned(), value.to_owned())),
        }
    }
    if !rest.is_empty() {
        return Err(fatal("invalid startup packet layout: expected terminator as last byte"));
    }
    if startup.user.is_empty() {
        let what = "no PostgreSQL user name specified in startup packet";
        return Err(Report::fatal(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, what).into());
    }
    if startup.database.is_empty() {
        startup.database.clone_from(&startup.user);
    }
    let spoken = 3 << 16 | u32::from(startup.minor);
    if version != spoken && version > 3 << 16 || !unknown.is_empty() {
        out.negotiate(spoken as i32, &unknown);
    }
    Ok(startup)
}

fn text<'a>(rest: &mut &'a [u8]) -> Result<&'a str, Stop> {
    let end = rest.iter().position(|byte| *byte == 0);
    let end = end.ok_or_else(|| fatal("invalid startup packet layout: expected terminator as last byte"))?;
    let text = utf8(&rest[..end]).map_err(Report::into_fatal)?;
    *rest = &rest[end + 1..];
    Ok(text)
}

/// Reads `-c name=value` and `--name=value`; a backslash takes what follows literally.
fn options(text: &str, parameters: &mut Vec<(String, String)>) -> Result<(), Stop> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\\' => word.get_or_insert_default().extend(chars.next()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let setting = if word == "-c" {
            words.next()
        } else {
            word.strip_prefix("--").or_else(|| word.strip_prefix("-c")).map(str::to_owned)
        };
        let setting = setting.as_deref().and_then(|setting| setting.split_once('='));
        let Some((name, value)) = setting else {
            let what = format!("invalid command-line argument for server process: {word}");
            return Err(Report::fatal(SqlState::INVALID_PARAMETER_VALUE, what).into());
        };
        parameters.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(())
}

fn fatal(what: &'static str) -> Stop {
    Report::fatal(SqlState::PROTOCOL_VIOLATION, what).into()
}

fn stuffed(kind: &str) -> Stop {
    let what = format!("received unencrypted data after {kind} encryption request");
    let detail =
        "This could be either a client-software bug or evidence of an attempted man-in-the-middle attack.";
    Report::fatal(SqlState::PROTOCOL_VIOLATION, what).with_detail(detail).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(version: u32, body: &[u8]) -> (Result<Startup, Stop>, Vec<u8>) {
        let mut out = Outbox::default();
        (startup(version, body, false, &mut out), out.bytes)
    }

    #[test]
    fn parameters_and_options_are_read() {
        let body = b"user\0ann\0options\0-c a=1 --b-c=two\\ words\0application_name\0x\0\0";
        let (startup, sent) = read(3 << 16, body);
        let startup = startup.unwrap();
        assert_eq!((startup.user.as_str(), startup.database.as_str()), ("ann", "ann"));
        let parameters: Vec<_> =
            startup.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(parameters, [("a", "1"), ("b_c", "two words"), ("application_name", "x")]);
        assert!(sent.is_empty());
    }

    #[test]
    fn newer_protocols_are_negotiated_down() {
        let (startup, sent) = read(3 << 16 | 9_999, b"user\0ann\0_pq_.magic\0one\0\0");
        assert_eq!(startup.unwrap().minor, 2);
        assert_eq!(sent, b"v\0\0\0\x17\0\x03\0\x02\0\0\0\x01_pq_.magic\0");
        let (startup, sent) = read(3 << 16 | 1, b"user\0ann\0\0");
        assert_eq!(startup.unwrap().minor, 0);
        assert_eq!(sent, b"v\0\0\0\x0c\0\x03\0\0\0\0\0\0");
        assert!(read(3 << 16 | 2, b"user\0ann\0\0").1.is_empty());
    }

    #[test]
    fn broken_layouts_are_refused() {
        for body in [
            &b""[..],
            b"user\0ann\0",
            b"user\0ann",
            b"user\0",
            b"user\0ann\0\0x",
            b"\0",
            b"database\0a\0\0",
            b"user\0\xff\0\0",
            b"user\0ann\0options\0-x\0\0",
            b"user\0ann\0replication\0true\0\0",
        ] {
            let (found, _) = read(3 << 16, body);
            assert!(matches!(found, Err(Stop::Fatal(report)) if report.is_fatal()), "{body:?}");
        }
    }
}
