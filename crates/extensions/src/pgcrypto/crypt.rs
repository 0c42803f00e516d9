//! `crypt` and `gen_salt`: hashes of passwords, by bcrypt (`$2a$`) and by MD5 (`$1$`). Those by DES, which take a
//! password's first eight characters, are not there.

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use blowfish::Blowfish;
use md5::{Digest, Md5};
use rand::RngCore;
use scaledb_types::func::Interrupt;
use scaledb_types::{Result, SqlError, SqlState};

/// bcrypt's own way to write bytes: other characters, no padding, and bits left over in the last one.
const BCRYPT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::BCRYPT,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// The powers of two that a salt of bcrypt may ask for as the number of rounds, and the default.
const ROUNDS: std::ops::RangeInclusive<i64> = 4..=31;
const DEFAULT_ROUNDS: i64 = 6;
/// Bytes of a salt of bcrypt, and the characters that they are written as.
const SALT: usize = 16;
const SALT_TEXT: usize = 22;
/// What bcrypt looks at of a password.
const MAX_PASSWORD: usize = 72;
/// What is encrypted, 64 times, with what comes of the password.
const MAGIC: &[u8; 24] = b"OrpheanBeholderScryDoubt";

fn invalid_salt() -> SqlError {
    SqlError::invalid_parameter("invalid salt")
}

/// `gen_salt`: a new salt for hashes of a kind; 0 rounds are the default.
///
/// # Errors
/// 22023 for an unknown kind, or a number of rounds that it does not have; 0A000 for DES.
pub(super) fn salt(kind: &str, rounds: i64) -> Result<String> {
    let wrong_rounds = || SqlError::invalid_parameter("gen_salt: Incorrect number of rounds");
    let mut bytes = [0; SALT];
    rand::rng().fill_bytes(&mut bytes);
    match kind.to_ascii_lowercase().as_str() {
        "bf" => {
            let rounds = if rounds == 0 { DEFAULT_ROUNDS } else { rounds };
            if !ROUNDS.contains(&rounds) {
                return Err(wrong_rounds());
            }
            Ok(format!("$2a${rounds:02}${}", BCRYPT.encode(bytes)))
        }
        "md5" if matches!(rounds, 0 | 1000) => {
            let mut salt = String::from("$1$");
            bytes[..8].iter().for_each(|byte| salt.push(char::from(MD5_DIGITS[usize::from(byte & 63)])));
            Ok(salt)
        }
        "md5" => Err(wrong_rounds()),
        "des" | "xdes" => Err(no_des()),
        _ => Err(SqlError::invalid_parameter("gen_salt: Unknown salt algorithm")),
    }
}

fn no_des() -> SqlError {
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, "hashes of passwords by DES are not supported")
        .hint("Use a salt of gen_salt('bf').")
}

/// `crypt`: the hash of a password with a salt, which an earlier hash begins with.
///
/// # Errors
/// 22023 for what is no salt; 0A000 for one of DES.
pub(super) fn crypt(interrupt: Interrupt<'_>, password: &[u8], salt: &str) -> Result<String> {
    // a zero ends the password, as in C
    let password = password.split(|byte| *byte == 0).next().unwrap_or_default();
    if let Some(salt) = salt.strip_prefix("$2a$") {
        return bcrypt(interrupt, password, salt);
    }
    if let Some(salt) = salt.strip_prefix("$1$") {
        return Ok(md5_crypt(password, salt));
    }
    // `_` begins a salt of extended DES, two characters are one of DES
    match salt.len() {
        0 | 1 => Err(invalid_salt()),
        _ if salt.starts_with("$2x$") => Err(invalid_salt()),
        _ => Err(no_des()),
    }
}

/// bcrypt, with what is behind `$2a$`: the power of two of the rounds, `$`, the salt.
fn bcrypt(interrupt: Interrupt<'_>, password: &[u8], salt: &str) -> Result<String> {
    let parts = salt.split_once('$').filter(|(rounds, _)| rounds.len() == 2);
    let Some((rounds, salt)) = parts else { return Err(invalid_salt()) };
    let rounds = rounds.parse().ok().filter(|rounds| ROUNDS.contains(rounds)).ok_or_else(invalid_salt)?;
    let text = salt.get(..SALT_TEXT).ok_or_else(invalid_salt)?;
    let mut salt = [0; SALT];
    let decoded = BCRYPT.decode(text).map_err(|_| invalid_salt())?;
    salt.copy_from_slice(decoded.get(..SALT).ok_or_else(invalid_salt)?);
    // the zero at its end is a part of the key
    let mut key = [password, &[0]].concat();
    key.truncate(MAX_PASSWORD);
    let mut cipher: Blowfish = Blowfish::bc_init_state();
    cipher.salted_expand_key(&salt, &key);
    for round in 0..1_u64 << rounds {
        if round % 64 == 0 {
            interrupt.check()?;
        }
        cipher.bc_expand_key(&key);
        cipher.bc_expand_key(&salt);
    }
    let mut out = [0; MAGIC.len()];
    for (from, to) in MAGIC.chunks_exact(8).zip(out.chunks_exact_mut(8)) {
        let word = |bytes: &[u8]| bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
        let mut words = [word(&from[..4]), word(&from[4..])];
        for _ in 0..64 {
            words = cipher.bc_encrypt(words);
        }
        to[..4].copy_from_slice(&words[0].to_be_bytes());
        to[4..].copy_from_slice(&words[1].to_be_bytes());
    }
    // the last byte is not written, nor are bits of the salt's last character that are left over
    let hash = BCRYPT.encode(&out[..out.len() - 1]);
    Ok(format!("$2a${rounds:02}${}{hash}", BCRYPT.encode(salt)))
}

/// Digits of six bits, as hashes by MD5 are written.
const MD5_DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const MD5_ROUNDS: usize = 1000;
/// What is used of a salt.
const MD5_SALT: usize = 8;

/// The hash by MD5, with what is behind `$1$`: up to eight characters, or up to a `$`.
fn md5_crypt(password: &[u8], salt: &str) -> String {
    let salt = salt.split('$').next().unwrap_or_default().as_bytes();
    let salt = &salt[..salt.len().min(MD5_SALT)];
    let mut first = Md5::new();
    first.update(password);
    first.update(b"$1$");
    first.update(salt);
    let inner = Md5::new().chain_update(password).chain_update(salt).chain_update(password).finalize();
    for part in 0..password.len().div_ceil(inner.len()) {
        first.update(&inner[..inner.len().min(password.len() - part * inner.len())]);
    }
    // a zero or the password's first byte for each bit of its length
    let mut bits = password.len();
    while bits > 0 {
        if bits & 1 == 1 {
            first.update([0]);
        } else {
            first.update(&password[..1]);
        }
        bits >>= 1;
    }
    let mut digest = first.finalize();
    for round in 0..MD5_ROUNDS {
        let mut next = Md5::new();
        if round & 1 == 1 {
            next.update(password);
        } else {
            next.update(digest);
        }
        if round % 3 != 0 {
            next.update(salt);
        }
        if round % 7 != 0 {
            next.update(password);
        }
        if round & 1 == 1 {
            next.update(digest);
        } else {
            next.update(password);
        }
        digest = next.finalize();
    }
    let mut out = format!("$1${}$", String::from_utf8_lossy(salt));
    let mut write = |bytes: [u8; 3], digits: usize| {
        let mut word = u32::from(bytes[0]) << 16 | u32::from(bytes[1]) << 8 | u32::from(bytes[2]);
        for _ in 0..digits {
            out.push(char::from(MD5_DIGITS[(word & 63) as usize]));
            word >>= 6;
        }
    };
    for at in 0..5 {
        let last = if at == 4 { 5 } else { at + 12 };
        write([digest[at], digest[at + 6], digest[last]], 4);
    }
    write([0, 0, digest[11]], 2);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(password: &str, salt: &str) -> String {
        crypt(Interrupt::never(), password.as_bytes(), salt).unwrap()
    }

    /// What PostgreSQL 15 answers.
    #[test]
    fn answers_are_those_of_postgresql() {
        assert_eq!(
            hash("a", "$2a$05$abcdefghijklmnopqrstuu"),
            "$2a$05$abcdefghijklmnopqrstuu8.veTXNDPV2eEsdpKNczMw2otgh5LnK"
        );
        assert_eq!(hash("", "$1$abcdefgh$"), "$1$abcdefgh$M55TzYaaccxVGbptZWaxX/");
        assert_eq!(hash("a", "$1$"), "$1$$Ij31LCAysPM23KuPlm1wA/");
        assert_eq!(hash("a", "$1$abc"), "$1$abc$uAXS.Zj1ZDNcW9iX1TVH2/");
    }

    #[test]
    fn a_hash_is_its_own_salt() {
        for kind in ["bf", "md5"] {
            for password in
                ["", "x", "a longer password, of more than one block of a digest", &"y".repeat(100)]
            {
                let hashed = hash(password, &salt(kind, 0).unwrap());
                assert_eq!(hash(password, &hashed), hashed);
                assert_ne!(hash("another", &hashed), hashed);
            }
        }
    }

    #[test]
    fn what_is_no_salt_is_refused() {
        for text in [
            "",
            "x",
            "$2a$06$abc",
            "$2a$03$abcdefghijklmnopqrstuu",
            "$2a$32$abcdefghijklmnopqrstuu",
            "$2a$",
            "$2x$05$",
        ] {
            let error = crypt(Interrupt::never(), b"a", text).unwrap_err();
            assert_eq!(
                (error.code(), error.message()),
                (SqlState::INVALID_PARAMETER_VALUE, "invalid salt"),
                "{text}"
            );
        }
        // not at the bound of a character
        assert!(crypt(Interrupt::never(), b"a", "$2a$05$abcdefghijklmnopqrstu\u{e4}").is_err());
        assert!(
            salt("bf", 3).is_err()
                && salt("bf", 32).is_err()
                && salt("md5", 5).is_err()
                && salt("x", 0).is_err()
        );
        assert_eq!(salt("des", 0).unwrap_err().code(), SqlState::FEATURE_NOT_SUPPORTED);
    }
}
