//! Messages as bytes: postcard's format, in frames.
//!
//! ```text
//!   length: u32, little end first  │  so many bytes: one value
//! ```
//!
//! Bytes of a peer are not trusted: a value is made of no more than what has arrived, and must use all of it.

use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, Visitor};
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

/// The version of all that members send each other, keep in the metadata store, and on disk. Those of another
/// version are refused.
pub const FORMAT: u32 = 10;

/// The bytes of a frame, at most.
pub const MAX_FRAME: usize = 64 << 20;

/// Bytes that are no value of the format.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a peer has sent what is no message: {0}")]
pub struct Malformed(String);

impl Malformed {
    pub(crate) fn new(what: &str) -> Self {
        Self(what.to_owned())
    }
}

/// Appends the bytes of a value, however many they are.
///
/// # Errors
/// It has no bytes.
pub(crate) fn push<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), Malformed> {
    out.extend(postcard::to_stdvec(value).map_err(|error| Malformed(error.to_string()))?);
    Ok(())
}

/// The bytes of a value, without those of the length.
///
/// # Errors
/// They are more than a frame has.
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, Malformed> {
    let bytes = postcard::to_stdvec(value).map_err(|error| Malformed(error.to_string()))?;
    if bytes.len() > MAX_FRAME {
        return Err(Malformed(format!("{} bytes, the most are {MAX_FRAME}", bytes.len())));
    }
    Ok(bytes)
}

/// The value that the bytes are.
///
/// # Errors
/// They are none, or there are more of them.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Malformed> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(Malformed(format!("{} bytes too many", rest.len()))),
        Err(error) => Err(Malformed(error.to_string())),
    }
}

/// Appends a frame.
///
/// # Errors
/// The value is too long.
pub fn push_frame<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), Malformed> {
    let bytes = encode(value)?;
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(&bytes);
    Ok(())
}

/// Reads a frame of at most so many bytes into the buffer. What is not there is not allocated, whatever the length
/// says.
///
/// # Errors
/// It is longer, or the peer has gone.
pub fn read_frame(from: &mut impl Read, most: usize, buffer: &mut Vec<u8>) -> io::Result<()> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > most {
        let what = format!("a frame of {length} bytes, the most are {most}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    buffer.clear();
    if from.take(length as u64).read_to_end(buffer)? < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// Shared bytes, for keys, values and messages that are encoded once.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub Arc<[u8]>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        shared::serialize(&self.0, to)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        shared::deserialize(from).map(Self)
    }
}

/// For fields of type `Arc<[u8]>`: as one string of bytes.
pub(crate) mod shared {
    use super::{Arc, Deserializer, Error, Visitor, fmt};
    use serde::Serializer;

    struct Any;

    impl Visitor<'_> for Any {
        type Value = Arc<[u8]>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("bytes")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Arc<[u8]>, E> {
            Ok(bytes.into())
        }
    }

    pub(crate) fn serialize<S: Serializer>(bytes: &Arc<[u8]>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(bytes)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<[u8]>, D::Error> {
        from.deserialize_bytes(Any)
    }
}
