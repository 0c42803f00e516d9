//! Reading integers and slices from bytes that nobody vouches for.

use scaledb_base::{Timestamp, varint};

/// What is left to read. Each method takes from the front, or `None` if there is less.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    #[inline]
    pub(crate) fn id(&mut self) -> Option<[u8; 16]> {
        self.array()
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Option<u32> {
        varint::take(&mut self.0)
    }

    /// A timestamp: integers beyond the last one are none.
    #[inline]
    pub(crate) fn timestamp(&mut self) -> Option<Timestamp> {
        self.u64().and_then(timestamp)
    }
}

pub(crate) fn timestamp(raw: u64) -> Option<Timestamp> {
    (raw <= Timestamp::MAX.raw()).then(|| Timestamp::from_raw(raw))
}
