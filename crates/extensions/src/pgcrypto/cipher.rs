//! `encrypt` and `decrypt`: AES in blocks, or chained.
//!
//! A key is filled up with zeros to 128, 192 or 256 bits; so is the first block that the chain begins with.

use super::unknown;
use aes::cipher::array::Array;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use scaledb_types::{Result, SqlError, SqlState, Value};

/// Bytes of a block.
const BLOCK: usize = 16;

/// What a text such as `aes-cbc/pad:pkcs` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Method {
    chained: bool,
    padded: bool,
}

impl Method {
    fn parse(text: &str) -> Result<Self> {
        let folded = text.to_ascii_lowercase();
        let mut parts = folded.split('/');
        let chained = match parts.next() {
            Some("aes" | "aes-cbc" | "rijndael" | "rijndael-cbc") => true,
            Some("aes-ecb" | "rijndael-ecb") => false,
            _ => return Err(unknown(text, "cipher")),
        };
        let mut method = Self { chained, padded: true };
        for part in parts {
            method.padded = match part {
                "pad:pkcs" => true,
                "pad:none" => false,
                _ => return Err(unknown(text, "cipher")),
            };
        }
        Ok(method)
    }
}

fn failed(what: &'static str) -> SqlError {
    SqlError::new(SqlState::EXTERNAL_ROUTINE_INVOCATION_EXCEPTION, what)
}

/// A key of one of the three lengths: what is more than the longest is left out.
fn filled(key: &[u8]) -> Vec<u8> {
    let longest = 32;
    let length = [16, 24].into_iter().find(|length| key.len() <= *length).unwrap_or(longest);
    let mut filled = key[..key.len().min(length)].to_vec();
    filled.resize(length, 0);
    filled
}

/// The block that a chain begins with.
fn first_block(given: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let length = given.len().min(BLOCK);
    block[..length].copy_from_slice(&given[..length]);
    block
}

fn xor(block: &mut [u8], with: &[u8; BLOCK]) {
    block.iter_mut().zip(with).for_each(|(byte, with)| *byte ^= with);
}

/// Encrypts bytes.
///
/// # Errors
/// 22023 for an unknown method; 39000 for parts of blocks that are not to be filled up.
pub(super) fn encrypt(bytes: &[u8], key: &[u8], first: &[u8], method: &str) -> Result<Value> {
    let method = Method::parse(method)?;
    let key = filled(key);
    let first = first_block(first);
    let encrypted = match key.len() {
        16 => encrypt_by::<Aes128>(&key, first, bytes, method),
        24 => encrypt_by::<Aes192>(&key, first, bytes, method),
        _ => encrypt_by::<Aes256>(&key, first, bytes, method),
    };
    encrypted
        .map(|bytes| Value::Bytea(bytes.into()))
        .ok_or_else(|| failed("encrypt error: Encryption failed"))
}

/// Decrypts bytes.
///
/// # Errors
/// As [`encrypt`]; 39000 for what no such key has encrypted.
pub(super) fn decrypt(bytes: &[u8], key: &[u8], first: &[u8], method: &str) -> Result<Value> {
    let method = Method::parse(method)?;
    let key = filled(key);
    let first = first_block(first);
    let decrypted = match key.len() {
        16 => decrypt_by::<Aes128>(&key, first, bytes, method),
        24 => decrypt_by::<Aes192>(&key, first, bytes, method),
        _ => decrypt_by::<Aes256>(&key, first, bytes, method),
    };
    decrypted
        .map(|bytes| Value::Bytea(bytes.into()))
        .ok_or_else(|| failed("decrypt error: Decryption failed"))
}

/// `None` for parts of blocks that are not to be filled up.
fn encrypt_by<C: KeyInit + BlockCipherEncrypt>(
    key: &[u8],
    first: [u8; BLOCK],
    bytes: &[u8],
    method: Method,
) -> Option<Vec<u8>> {
    let cipher = C::new_from_slice(key).ok()?;
    let mut out = bytes.to_vec();
    if method.padded {
        // each byte that fills up the last block says how many there are, so there is always one
        let missing = BLOCK - out.len() % BLOCK;
        out.resize(out.len() + missing, missing as u8);
    }
    let mut before = first;
    for block in out.chunks_mut(BLOCK) {
        if method.chained {
            xor(block, &before);
        }
        cipher.encrypt_block(<&mut Array<u8, C::BlockSize>>::try_from(&mut *block).ok()?);
        before.copy_from_slice(block);
    }
    Some(out)
}

/// `None` for bytes that are no blocks, or have not been filled up so.
fn decrypt_by<C: KeyInit + BlockCipherDecrypt>(
    key: &[u8],
    first: [u8; BLOCK],
    bytes: &[u8],
    method: Method,
) -> Option<Vec<u8>> {
    let cipher = C::new_from_slice(key).ok()?;
    let mut out = bytes.to_vec();
    let mut before = first;
    for block in out.chunks_mut(BLOCK) {
        let encrypted: [u8; BLOCK] = (&*block).try_into().ok()?;
        cipher.decrypt_block(<&mut Array<u8, C::BlockSize>>::try_from(&mut *block).ok()?);
        if method.chained {
            xor(block, &before);
        }
        before = encrypted;
    }
    if method.padded {
        let filling = *out.last()?;
        let length = out.len().checked_sub(usize::from(filling))?;
        let is_filling = (1..=BLOCK).contains(&usize::from(filling));
        if !is_filling || out[length..].iter().any(|byte| *byte != filling) {
            return None;
        }
        out.truncate(length);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(value: &Value) -> String {
        let Value::Bytea(bytes) = value else { panic!("{value:?}") };
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What PostgreSQL 15 answers.
    #[test]
    fn answers_are_those_of_postgresql() {
        let key = b"0123456789abcdef";
        assert_eq!(hex(&encrypt(b"abc", b"k", &[], "aes").unwrap()), "aa215862cfa049b2886e7e0a97ec8ad3");
        assert_eq!(hex(&encrypt(b"", b"k", &[], "AES").unwrap()), "932f1b1e9189536b938a6b67666d4031");
        let chained = encrypt(b"abc", key, &[], "aes-cbc/pad:pkcs").unwrap();
        assert_eq!(hex(&chained), "1d25821c3e311eea2d4dd8633a25c1b5");
        let plain = encrypt(key, key, &[], "aes-ecb/pad:none").unwrap();
        assert_eq!(hex(&plain), "72727e881edcfd0100a718687909b565");
        let long = encrypt(b"abc", b"012345678901234567890123456789012345", &[], "aes").unwrap();
        assert_eq!(hex(&long), "438696ebe681940c534e3379f35c4429");
        assert_eq!(hex(&encrypt(b"abc", b"k", b"iv", "aes").unwrap()), "b1cca321356fba3406b57245485ce5b7");
    }

    #[test]
    fn what_is_encrypted_is_decrypted() {
        let text: Vec<u8> = (0..100).collect();
        for method in ["aes", "aes-ecb", "rijndael-cbc/pad:pkcs"] {
            for (length, key) in [(0, 5), (1, 16), (15, 17), (16, 24), (17, 25), (100, 40)] {
                let key = vec![7; key];
                let Value::Bytea(encrypted) = encrypt(&text[..length], &key, b"first", method).unwrap()
                else {
                    unreachable!()
                };
                assert_eq!(encrypted.len(), (length / BLOCK + 1) * BLOCK);
                let decrypted = decrypt(&encrypted, &key, b"first", method).unwrap();
                assert_eq!(decrypted, Value::Bytea(text[..length].into()));
            }
        }
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for bytes in [&b""[..], b"x", &[b'a'; 16], &[b'a'; 17]] {
            assert_eq!(
                decrypt(bytes, b"k", &[], "aes").unwrap_err().message(),
                "decrypt error: Decryption failed"
            );
        }
        assert!(encrypt(b"abc", b"k", &[], "aes-ecb/pad:none").is_err());
        for method in ["foo", "aes-ofb", "aes/pad:x", "", "/", "bf"] {
            assert!(encrypt(b"abc", b"k", &[], method).is_err(), "{method}");
        }
    }
}
