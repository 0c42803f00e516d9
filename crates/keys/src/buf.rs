//! The writer: a key under construction.

use smallvec::SmallVec;
use std::ops::Deref;

/// Bytes that a key may have before it moves to the heap.
const INLINE: usize = 40;

/// The direction of a key column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
pub enum Direction {
    /// Small values first.
    #[default]
    Ascending,
    /// Large values first.
    Descending,
}

/// Where NULLs stand in the order of a key column, whatever its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
pub enum Nulls {
    /// Before all values.
    First,
    /// After all values.
    #[default]
    Last,
}

/// An encoded key, built column by column.
///
/// ```
/// use scaledb_keys::KeyBuf;
/// let a = KeyBuf::new().i32(-5).text("abc");
/// let b = KeyBuf::new().i32(3).text("");
/// assert!(a < b);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct KeyBuf(SmallVec<[u8; INLINE]>);

impl KeyBuf {
    /// The empty key: before all others.
    #[inline]
    pub fn new() -> Self {
        Self(SmallVec::new())
    }

    /// Forgets all columns, keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Cuts the key to its first `len` bytes.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Appends bytes that are encoded already.
    #[inline]
    pub fn push_encoded(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Appends the marker of a nullable column. The value follows unless `null`.
    pub fn push_null_marker(&mut self, null: bool, nulls: Nulls) {
        self.0.push(match (null, nulls) {
            (true, Nulls::First) => 0x00,
            (false, _) => 0x01,
            (true, Nulls::Last) => 0x02,
        });
    }

    #[inline]
    fn push_fixed<const N: usize>(&mut self, bytes: [u8; N], direction: Direction) {
        match direction {
            Direction::Ascending => self.0.extend_from_slice(&bytes),
            Direction::Descending => self.0.extend_from_slice(&bytes.map(|b| !b)),
        }
    }

    /// Appends a boolean.
    #[inline]
    pub fn push_bool(&mut self, v: bool, d: Direction) {
        self.push_fixed([u8::from(v)], d);
    }

    /// Appends a `u8`.
    #[inline]
    pub fn push_u8(&mut self, v: u8, d: Direction) {
        self.push_fixed([v], d);
    }

    /// Appends a `u16`.
    #[inline]
    pub fn push_u16(&mut self, v: u16, d: Direction) {
        self.push_fixed(v.to_be_bytes(), d);
    }

    /// Appends a `u32`.
    #[inline]
    pub fn push_u32(&mut self, v: u32, d: Direction) {
        self.push_fixed(v.to_be_bytes(), d);
    }

    /// Appends a `u64`.
    #[inline]
    pub fn push_u64(&mut self, v: u64, d: Direction) {
        self.push_fixed(v.to_be_bytes(), d);
    }

    /// Appends an `i16`.
    #[inline]
    pub fn push_i16(&mut self, v: i16, d: Direction) {
        self.push_u16(v as u16 ^ 1 << 15, d);
    }

    /// Appends an `i32`.
    #[inline]
    pub fn push_i32(&mut self, v: i32, d: Direction) {
        self.push_u32(v as u32 ^ 1 << 31, d);
    }

    /// Appends an `i64`.
    #[inline]
    pub fn push_i64(&mut self, v: i64, d: Direction) {
        self.push_u64(v as u64 ^ 1 << 63, d);
    }

    /// Appends an `f32`.
    pub fn push_f32(&mut self, v: f32, d: Direction) {
        let bits = if v.is_nan() { f32::NAN.to_bits() & !(1 << 31) } else { (v + 0.0).to_bits() };
        self.push_u32(if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }, d);
    }

    /// Appends an `f64`.
    pub fn push_f64(&mut self, v: f64, d: Direction) {
        let bits = if v.is_nan() { f64::NAN.to_bits() & !(1 << 63) } else { (v + 0.0).to_bits() };
        self.push_u64(if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }, d);
    }

    /// Appends bytes of a length that all values of the column share.
    #[inline]
    pub fn push_fixed_bytes(&mut self, v: &[u8], d: Direction) {
        match d {
            Direction::Ascending => self.0.extend_from_slice(v),
            Direction::Descending => self.0.extend(v.iter().map(|b| !b)),
        }
    }

    /// Appends bytes of any length.
    pub fn push_bytes(&mut self, v: &[u8], d: Direction) {
        let start = self.0.len();
        for part in v.split_inclusive(|&b| b == 0) {
            self.0.extend_from_slice(part);
            if part.ends_with(&[0]) {
                self.0.push(0xFF);
            }
        }
        self.0.extend_from_slice(&[0x00, 0x01]);
        if d == Direction::Descending {
            self.0[start..].iter_mut().for_each(|b| *b = !*b);
        }
    }

    /// Turns the key into the smallest one that is greater than every key it is a prefix of. False (and
    /// an empty key) when there is none: the key was empty or all FF.
    pub fn next_prefix(&mut self) -> bool {
        while let Some(last) = self.0.pop() {
            if last < 0xFF {
                self.0.push(last + 1);
                return true;
            }
        }
        false
    }
}

macro_rules! ascending {
    ($($name:ident, $push:ident, $type:ty;)*) => {
        /// The same columns, ascending, in a chain.
        impl KeyBuf {
            $(
                #[doc = concat!("[`KeyBuf::", stringify!($push), "`], ascending.")]
                #[inline]
                #[must_use]
                pub fn $name(mut self, v: $type) -> Self {
                    self.$push(v, Direction::Ascending);
                    self
                }
            )*
        }
    };
}

ascending! {
    bool, push_bool, bool;
    u8, push_u8, u8;
    u16, push_u16, u16;
    u32, push_u32, u32;
    u64, push_u64, u64;
    i16, push_i16, i16;
    i32, push_i32, i32;
    i64, push_i64, i64;
    f32, push_f32, f32;
    f64, push_f64, f64;
    bytes, push_bytes, &[u8];
    fixed_bytes, push_fixed_bytes, &[u8];
}

impl KeyBuf {
    /// Appends text, ascending.
    #[must_use]
    pub fn text(self, v: &str) -> Self {
        self.bytes(v.as_bytes())
    }
}

impl Deref for KeyBuf {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for KeyBuf {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for KeyBuf {
    fn from(bytes: &[u8]) -> Self {
        Self(SmallVec::from_slice(bytes))
    }
}

impl std::fmt::Debug for KeyBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("x'")?;
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))?;
        f.write_str("'")
    }
}
