//! Bytes: numbers of variable length, and lists that are no longer than the bytes that are there.

use smallvec::SmallVec;

use crate::limits::MAX_KEY;
use crate::slot::is_slot_key;
use crate::{Datacenter, Incarnation, Micros, Slot, Stamp, TxnId};

/// Bytes, or a text, that nobody of ours has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed: {0}")]
pub struct Malformed(pub &'static str);

/// What is still to be read.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// All of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Succeeds if nothing is left.
    ///
    /// # Errors
    ///
    /// If there is.
    pub fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed("bytes after the end")) }
    }

    /// All that is left.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed("cut short"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Malformed("a number of more than 64 bits"))
    }

    /// The number of things that follow, of at least a byte each.
    pub(crate) fn count(&mut self, max: usize) -> Result<usize, Malformed> {
        let count = self.number()?;
        match usize::try_from(count) {
            Ok(count) if count <= max && count <= self.0.len() => Ok(count),
            _ => Err(Malformed("more elements than there can be")),
        }
    }

    pub(crate) fn bytes(&mut self, max: usize) -> Result<&'a [u8], Malformed> {
        let count = self.count(max)?;
        self.take(count)
    }

    /// A key that is not that of a slot's state: who changes the state would write over it.
    pub(crate) fn key(&mut self) -> Result<&'a [u8], Malformed> {
        let key = self.bytes(MAX_KEY)?;
        if is_slot_key(key) { Err(Malformed("the key of a slot's state")) } else { Ok(key) }
    }

    pub(crate) fn stamp(&mut self) -> Result<Stamp, Malformed> {
        let bytes: [u8; 8] = self.take(8)?.try_into().map_err(|_| Malformed("cut short"))?;
        Ok(Stamp::from_bits(u64::from_be_bytes(bytes)))
    }

    pub(crate) fn micros(&mut self) -> Result<Micros, Malformed> {
        self.number().map(Micros)
    }

    pub(crate) fn slot(&mut self) -> Result<Slot, Malformed> {
        let bytes: [u8; 2] = self.take(2)?.try_into().map_err(|_| Malformed("cut short"))?;
        Slot::new(u16::from_be_bytes(bytes)).ok_or(Malformed("no such slot"))
    }

    pub(crate) fn slots(&mut self, max: usize) -> Result<SmallVec<[Slot; 2]>, Malformed> {
        (0..self.count(max)?).map(|_| self.slot()).collect()
    }

    pub(crate) fn txn(&mut self) -> Result<TxnId, Malformed> {
        let bytes = self.take(16)?.try_into().map_err(|_| Malformed("cut short"))?;
        Ok(TxnId(bytes))
    }

    pub(crate) fn incarnation(&mut self) -> Result<Incarnation, Malformed> {
        let bytes: [u8; 2] = self.take(2)?.try_into().map_err(|_| Malformed("cut short"))?;
        let number = u16::from_be_bytes(bytes);
        let incarnation = Incarnation::new(number);
        if incarnation.get() == number { Ok(incarnation) } else { Err(Malformed("no such incarnation")) }
    }

    pub(crate) fn datacenter(&mut self) -> Result<Datacenter, Malformed> {
        let number = self.byte()?;
        if usize::from(number) < crate::limits::MAX_DATACENTERS {
            Ok(Datacenter(number))
        } else {
            Err(Malformed("no such datacenter"))
        }
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Malformed> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed("neither yes nor no")),
        }
    }
}

pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

pub(crate) fn put_stamp(out: &mut Vec<u8>, stamp: Stamp) {
    out.extend_from_slice(&stamp.to_bits().to_be_bytes());
}

pub(crate) fn put_slot(out: &mut Vec<u8>, slot: Slot) {
    out.extend_from_slice(&slot.get().to_be_bytes());
}

pub(crate) fn put_slots(out: &mut Vec<u8>, slots: &[Slot]) {
    put_number(out, slots.len() as u64);
    for slot in slots {
        put_slot(out, *slot);
    }
}

pub(crate) fn put_incarnation(out: &mut Vec<u8>, incarnation: Incarnation) {
    out.extend_from_slice(&incarnation.get().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.number(), Ok(number));
            assert_eq!(reader.end(), Ok(()));
        }
        assert!(Reader::new(&[0xff; 10]).number().is_err());
        assert!(Reader::new(&[0xff; 3]).number().is_err());
    }

    #[test]
    fn a_count_beyond_the_bytes_allocates_nothing() {
        let mut bytes = Vec::new();
        put_number(&mut bytes, 1 << 40);
        assert!(Reader::new(&bytes).count(usize::MAX).is_err());
        assert!(Reader::new(&[5, 1, 2]).bytes(100).is_err());
    }
}
