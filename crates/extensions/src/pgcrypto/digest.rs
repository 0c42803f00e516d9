//! `digest` and `hmac`.

use super::unknown;
use ::hmac::{Hmac, KeyInit, Mac};
use md5::{Digest, Md5};
use scaledb_types::{Result, Value};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};

fn unknown_digest(name: &str) -> scaledb_types::SqlError {
    unknown(name, "hash")
}

/// The digest of bytes by an algorithm, whose name may be in any case.
pub(super) fn digest(bytes: &[u8], name: &str) -> Result<Value> {
    let digest = match name.to_ascii_lowercase().as_str() {
        "md5" => Md5::digest(bytes).to_vec(),
        "sha1" => Sha1::digest(bytes).to_vec(),
        "sha224" => Sha224::digest(bytes).to_vec(),
        "sha256" => Sha256::digest(bytes).to_vec(),
        "sha384" => Sha384::digest(bytes).to_vec(),
        "sha512" => Sha512::digest(bytes).to_vec(),
        _ => return Err(unknown_digest(name)),
    };
    Ok(Value::Bytea(digest.into()))
}

/// The digest of bytes that only those can make who know the key.
pub(super) fn hmac(bytes: &[u8], key: &[u8], name: &str) -> Result<Value> {
    // keys of any length are taken
    macro_rules! by {
        ($digest:ty) => {
            Hmac::<$digest>::new_from_slice(key)
                .map(|mac| mac.chain_update(bytes).finalize().into_bytes().to_vec())
        };
    }
    let code = match name.to_ascii_lowercase().as_str() {
        "md5" => by!(Md5),
        "sha1" => by!(Sha1),
        "sha224" => by!(Sha224),
        "sha256" => by!(Sha256),
        "sha384" => by!(Sha384),
        "sha512" => by!(Sha512),
        _ => return Err(unknown_digest(name)),
    };
    code.map(|code| Value::Bytea(code.into())).map_err(|_| unknown_digest(name))
}
