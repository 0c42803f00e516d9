//! `pgcrypto`: digests, hashes of passwords, encryption by AES. Its functions for PGP are not there.

mod cipher;
mod crypt;
mod digest;

use crate::{Definition, bytes, text};
use rand::RngCore;
use scaledb_types::{Result, SqlError, SqlState, Value};

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[Definition] = &[
    Definition::pure("digest(text, text) bytea", |_, args| digest::digest(bytes(&args[0]), text(&args[1]))),
    Definition::pure("digest(bytea, text) bytea", |_, args| digest::digest(bytes(&args[0]), text(&args[1]))),
    Definition::pure("hmac(text, text, text) bytea", |_, args| {
        digest::hmac(bytes(&args[0]), bytes(&args[1]), text(&args[2]))
    }),
    Definition::pure("hmac(bytea, bytea, text) bytea", |_, args| {
        digest::hmac(bytes(&args[0]), bytes(&args[1]), text(&args[2]))
    }),
    Definition::pure("crypt(text, text) text", |call, args| {
        crypt::crypt(call.interrupt, bytes(&args[0]), text(&args[1])).map(Value::text)
    }),
    Definition::volatile("gen_salt(text) text", |_, args| crypt::salt(text(&args[0]), 0).map(Value::text)),
    Definition::volatile("gen_salt(text, int4) text", |_, args| {
        crypt::salt(text(&args[0]), args[1].as_i64().unwrap_or(0)).map(Value::text)
    }),
    Definition::pure("encrypt(bytea, bytea, text) bytea", |_, args| {
        cipher::encrypt(bytes(&args[0]), bytes(&args[1]), &[], text(&args[2]))
    }),
    Definition::pure("decrypt(bytea, bytea, text) bytea", |_, args| {
        cipher::decrypt(bytes(&args[0]), bytes(&args[1]), &[], text(&args[2]))
    }),
    Definition::pure("encrypt_iv(bytea, bytea, bytea, text) bytea", |_, args| {
        cipher::encrypt(bytes(&args[0]), bytes(&args[1]), bytes(&args[2]), text(&args[3]))
    }),
    Definition::pure("decrypt_iv(bytea, bytea, bytea, text) bytea", |_, args| {
        cipher::decrypt(bytes(&args[0]), bytes(&args[1]), bytes(&args[2]), text(&args[3]))
    }),
    Definition::volatile("gen_random_bytes(int4) bytea", |_, args| random_bytes(args[0].as_i64().unwrap_or(0))),
    Definition::volatile("gen_random_uuid() uuid", |_, _| Ok(crate::uuid_ossp::random())),
];

/// The most bytes that `gen_random_bytes` makes.
const MAX_RANDOM: usize = 1024;

fn random_bytes(count: i64) -> Result<Value> {
    let count = usize::try_from(count).ok().filter(|count| (1..=MAX_RANDOM).contains(count));
    let Some(count) = count else {
        return Err(SqlError::new(SqlState::EXTERNAL_ROUTINE_INVOCATION_EXCEPTION, "Length not in range"));
    };
    let mut bytes = vec![0; count];
    rand::rng().fill_bytes(&mut bytes);
    Ok(Value::Bytea(bytes.into()))
}

/// 22023: there is no such algorithm.
fn unknown(name: &str, kind: &str) -> SqlError {
    SqlError::invalid_parameter(format!("Cannot use \"{name}\": No such {kind} algorithm"))
}
