//! The reader: columns back out of a key.

use crate::buf::{Direction, Nulls};

/// The bytes are not a key of the columns asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("malformed key")
    }
}

impl std::error::Error for Malformed {}

/// Reads the columns of a key in the order in which they were written.
#[derive(Debug, Clone)]
pub struct KeyReader<'a>(&'a [u8]);

impl<'a> KeyReader<'a> {
    /// A reader at the first column.
    pub fn new(key: &'a [u8]) -> Self {
        Self(key)
    }

    /// What has not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.0.split_at_checked(n).ok_or(Malformed)?;
        self.0 = rest;
        Ok(head)
    }

    fn fixed<const N: usize>(&mut self, d: Direction) -> Result<[u8; N], Malformed> {
        let bytes: [u8; N] = self.take(N)?.try_into().map_err(|_| Malformed)?;
        Ok(if d == Direction::Descending { bytes.map(|b| !b) } else { bytes })
    }

    /// True when the column at hand is NULL.
    pub fn null_marker(&mut self, nulls: Nulls) -> Result<bool, Malformed> {
        match (self.take(1)?[0], nulls) {
            (0x01, _) => Ok(false),
            (0x00, Nulls::First) | (0x02, Nulls::Last) => Ok(true),
            _ => Err(Malformed),
        }
    }

    /// A boolean.
    pub fn bool(&mut self, d: Direction) -> Result<bool, Malformed> {
        match self.fixed(d)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Malformed),
        }
    }

    /// A `u8`.
    pub fn u8(&mut self, d: Direction) -> Result<u8, Malformed> {
        Ok(self.fixed::<1>(d)?[0])
    }

    /// A `u16`.
    pub fn u16(&mut self, d: Direction) -> Result<u16, Malformed> {
        self.fixed(d).map(u16::from_be_bytes)
    }

    /// A `u32`.
    pub fn u32(&mut self, d: Direction) -> Result<u32, Malformed> {
        self.fixed(d).map(u32::from_be_bytes)
    }

    /// A `u64`.
    pub fn u64(&mut self, d: Direction) -> Result<u64, Malformed> {
        self.fixed(d).map(u64::from_be_bytes)
    }

    /// An `i16`.
    pub fn i16(&mut self, d: Direction) -> Result<i16, Malformed> {
        Ok((self.u16(d)? ^ 1 << 15) as i16)
    }

    /// An `i32`.
    pub fn i32(&mut self, d: Direction) -> Result<i32, Malformed> {
        Ok((self.u32(d)? ^ 1 << 31) as i32)
    }

    /// An `i64`.
    pub fn i64(&mut self, d: Direction) -> Result<i64, Malformed> {
        Ok((self.u64(d)? ^ 1 << 63) as i64)
    }

    /// An `f32`.
    pub fn f32(&mut self, d: Direction) -> Result<f32, Malformed> {
        let bits = self.u32(d)?;
        Ok(f32::from_bits(if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits }))
    }

    /// An `f64`.
    pub fn f64(&mut self, d: Direction) -> Result<f64, Malformed> {
        let bits = self.u64(d)?;
        Ok(f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits }))
    }

    /// Bytes of a length that all values of the column share.
    pub fn fixed_bytes(&mut self, len: usize, d: Direction) -> Result<Vec<u8>, Malformed> {
        let bytes = self.take(len)?;
        Ok(if d == Direction::Descending { bytes.iter().map(|b| !b).collect() } else { bytes.to_vec() })
    }

    /// Bytes of any length.
    pub fn bytes(&mut self, d: Direction) -> Result<Vec<u8>, Malformed> {
        let invert = if d == Direction::Descending { 0xFF } else { 0x00 };
        let mut out = Vec::new();
        loop {
            match self.take(1)?[0] ^ invert {
                0 => match self.take(1)?[0] ^ invert {
                    0x01 => return Ok(out),
                    0xFF => out.push(0),
                    _ => return Err(Malformed),
                },
                byte => out.push(byte),
            }
        }
    }
}
