//! Commit timestamps.

use crate::ids::WorkerId;
use std::fmt;

/// The point in the serial order where a transaction takes effect: clock ticks, then the worker that
/// committed. Unique, and ordered like real time: a transaction that begins after another one has
/// committed has the larger timestamp.
///
/// ```text
///  63..61   60 ............................ 7   6 ..... 0
///  zero     ticks (54 bits, 16-32 ns each)      origin: the worker, and for engines of several nodes the node above it
/// ```
/// Three bits stay free so that a record's header word can hold a timestamp and its flags.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Bits of a timestamp that say who committed: a worker of one machine. Everything else follows from this one
    /// constant; an engine that is spread over machines takes its nodes' bits from here as well.
    pub const ORIGIN_BITS: u32 = 7;
    /// Bits that a timestamp leaves free at the top.
    pub const SPARE_BITS: u32 = 3;
    /// Before every transaction.
    pub const ZERO: Self = Self(0);
    /// After every transaction.
    pub const MAX: Self = Self(u64::MAX >> Self::SPARE_BITS);

    /// The timestamp of `worker` at `ticks`.
    #[inline]
    pub fn new(ticks: u64, worker: WorkerId) -> Self {
        debug_assert!(ticks >> (64 - Self::SPARE_BITS - Self::ORIGIN_BITS) == 0, "the clock has run out");
        Self(ticks << Self::ORIGIN_BITS | u64::from(worker.0))
    }

    /// The first timestamp of a tick: at or before every commit of that tick or later.
    #[inline]
    pub fn start_of(ticks: u64) -> Self {
        Self(ticks << Self::ORIGIN_BITS)
    }

    /// The clock ticks.
    #[inline]
    pub fn ticks(self) -> u64 {
        self.0 >> Self::ORIGIN_BITS
    }

    /// The worker that committed.
    #[inline]
    pub fn worker(self) -> WorkerId {
        WorkerId((self.0 & ((1 << Self::ORIGIN_BITS) - 1)) as u8)
    }

    /// The timestamp as an integer below 2^61.
    #[inline]
    pub fn raw(self) -> u64 {
        self.0
    }

    /// The timestamp that `raw` was taken from.
    #[inline]
    pub fn from_raw(raw: u64) -> Self {
        debug_assert!(raw <= Self::MAX.0);
        Self(raw)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.ticks(), self.worker())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_by_time_then_worker_and_leaves_the_spare_bits_free() {
        let a = Timestamp::new(7, WorkerId(127));
        let b = Timestamp::new(8, WorkerId(0));
        assert!(a < b && Timestamp::start_of(8) <= b && a.ticks() == 7 && a.worker() == WorkerId(127));
        let last = Timestamp::new((1 << 54) - 1, WorkerId(127));
        assert_eq!(last, Timestamp::MAX);
        assert_eq!(last.raw() >> 61, 0);
    }
}
