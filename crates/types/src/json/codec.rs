//! jsonb as bytes: what rows keep, and what indexes sort by.

use super::{Json, MAX_DEPTH};
use crate::numeric::Numeric;
use crate::storage::write_terminated;
use crate::value::Text;

/// Tags of the stored form.
mod tag {
    pub(super) const NULL: u8 = 0;
    pub(super) const FALSE: u8 = 1;
    pub(super) const TRUE: u8 = 2;
    pub(super) const NUMBER: u8 = 3;
    pub(super) const STRING: u8 = 4;
    pub(super) const ARRAY: u8 = 5;
    pub(super) const OBJECT: u8 = 6;
    /// A number whose mantissa fits a word.
    pub(super) const SMALL: u8 = 7;
}

/// 7 bits a byte, the low ones first; the high bit says that more follow.
fn write_len(mut len: usize, out: &mut Vec<u8>) {
    while len > 0x7F {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
}

/// Reads a stored form from the front.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*byte)
    }

    fn len(&mut self) -> Option<usize> {
        let mut len = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            len |= usize::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(len);
            }
        }
        None
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        Some(taken)
    }

    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn text(&mut self) -> Option<Text> {
        let len = self.len()?;
        std::str::from_utf8(self.take(len)?).ok().map(Text::new)
    }

    fn json(&mut self, depth: usize) -> Option<Json> {
        if depth > MAX_DEPTH {
            return None;
        }
        Some(match self.byte()? {
            tag::NULL => Json::Null,
            tag::FALSE => Json::Bool(false),
            tag::TRUE => Json::Bool(true),
            tag::SMALL => {
                let scale = u16::from_be_bytes(self.chunk()?);
                Json::Number(Numeric::small(i64::from_be_bytes(self.chunk()?), scale))
            }
            tag::NUMBER => {
                let scale = u16::from_be_bytes(self.chunk()?);
                let len = self.len()?;
                let (number, rest) = Numeric::read_sorted(self.take(len)?, scale)?;
                if !rest.is_empty() {
                    return None;
                }
                Json::Number(number)
            }
            tag::STRING => Json::String(self.text()?),
            tag::ARRAY => {
                let len = self.len()?;
                // an element has a byte at least: a wrong length allocates no more than there is
                let mut elements = Vec::with_capacity(len.min(self.bytes.len()));
                for _ in 0..len {
                    elements.push(self.json(depth + 1)?);
                }
                Json::Array(elements)
            }
            tag::OBJECT => {
                let len = self.len()?;
                let mut members = Vec::with_capacity(len.min(self.bytes.len() / 2));
                for _ in 0..len {
                    members.push((self.text()?, self.json(depth + 1)?));
                }
                Json::Object(members)
            }
            _ => return None,
        })
    }
}

impl Json {
    /// Appends the stored form.
    pub(crate) fn write_stored(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.push(tag::NULL),
            Self::Bool(v) => out.push(if *v { tag::TRUE } else { tag::FALSE }),
            Self::Number(Numeric::Small { mantissa, scale }) => {
                out.push(tag::SMALL);
                out.extend_from_slice(&scale.to_be_bytes());
                out.extend_from_slice(&mantissa.to_be_bytes());
            }
            Self::Number(v) => {
                out.push(tag::NUMBER);
                out.extend_from_slice(&v.scale().unwrap_or(0).to_be_bytes());
                let mut bytes = Vec::new();
                v.write_sorted(&mut bytes);
                write_len(bytes.len(), out);
                out.extend_from_slice(&bytes);
            }
            Self::String(v) => {
                out.push(tag::STRING);
                write_len(v.len(), out);
                out.extend_from_slice(v.as_bytes());
            }
            Self::Array(elements) => {
                out.push(tag::ARRAY);
                write_len(elements.len(), out);
                elements.iter().for_each(|element| element.write_stored(out));
            }
            Self::Object(members) => {
                out.push(tag::OBJECT);
                write_len(members.len(), out);
                for (key, value) in members {
                    write_len(key.len(), out);
                    out.extend_from_slice(key.as_bytes());
                    value.write_stored(out);
                }
            }
        }
    }

    /// The value of a stored form; None if it is malformed.
    pub(crate) fn read_stored(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader { bytes };
        let json = reader.json(0)?;
        reader.bytes.is_empty().then_some(json)
    }

    /// Appends bytes that sort as the values do.
    pub(crate) fn write_key(&self, out: &mut Vec<u8>) {
        out.push(self.rank());
        match self {
            Self::Null => {}
            Self::Bool(v) => out.push(u8::from(*v)),
            Self::Number(v) => v.write_sorted(out),
            Self::String(v) => write_terminated(v.as_bytes(), out),
            Self::Array(elements) => {
                out.extend_from_slice(&(elements.len() as u32).to_be_bytes());
                elements.iter().for_each(|element| element.write_key(out));
            }
            Self::Object(members) => {
                out.extend_from_slice(&(members.len() as u32).to_be_bytes());
                for (key, value) in members {
                    write_terminated(key.as_bytes(), out);
                    value.write_key(out);
                }
            }
        }
    }
}
