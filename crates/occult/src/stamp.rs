//! Stamps: loosely synchronized times that say, too, which incarnation of the shard gave them.

use std::fmt;

/// Microseconds since 1970-01-01, or a duration of that many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Micros(pub u64);

impl Micros {
    /// That much later.
    #[must_use]
    pub fn plus(self, duration: Micros) -> Self {
        Self(self.0.saturating_add(duration.0))
    }

    /// How long it is since `earlier`; zero if that is later.
    pub fn since(self, earlier: Micros) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

/// Where a master is, as a number. A shard keeps the datacenter in which it began: what counts is that all agree on
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Datacenter(pub u8);

/// One life of a shard at one master: it ends with a failover, a restart, or a move of the slot.
///
/// Stamps carry it in their lowest bits. A server draws it at random when it starts and when it is promoted, so
/// that two lives of a shard that never knew of each other have the same number in one of 4,095 cases only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Incarnation(u16);

impl Incarnation {
    /// What no server has: that of a shard without any write.
    pub const NONE: Self = Self(0);

    /// An incarnation of any random number.
    pub fn from_random(random: u64) -> Self {
        Self((random % (Stamp::INCARNATIONS - 1)) as u16 + 1)
    }

    /// The number.
    pub fn get(self) -> u16 {
        self.0
    }

    /// Of a number that [`get`](Self::get) has given; larger ones wrap.
    pub fn new(number: u16) -> Self {
        Self(number & Stamp::INCARNATION_MASK as u16)
    }
}

/// The place of a write in the order of its shard.
///
/// ```text
///   63                                              12 11          0
///   ┌─────────────────────────────────────────────────┬─────────────┐
///   │ microseconds since 2020-01-01 UTC               │ incarnation │
///   └─────────────────────────────────────────────────┴─────────────┘
/// ```
///
/// Stamps are ordered by time first. Each shard gives each time once at most within an incarnation.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stamp(u64);

impl Stamp {
    /// Before all writes.
    pub const ZERO: Self = Self(0);

    const BITS: u32 = 12;
    const INCARNATIONS: u64 = 1 << Self::BITS;
    const INCARNATION_MASK: u64 = Self::INCARNATIONS - 1;
    /// 2020-01-01 UTC in microseconds since 1970.
    const ORIGIN: u64 = 1_577_836_800_000_000;
    const MAX_TIME: u64 = u64::MAX >> Self::BITS;

    /// The stamp of a time (cut to what can be represented: the years 2020 to 2162).
    pub fn new(time: Micros, incarnation: Incarnation) -> Self {
        let time = time.0.saturating_sub(Self::ORIGIN).min(Self::MAX_TIME);
        Self(time << Self::BITS | u64::from(incarnation.0))
    }

    /// When it was given, by the clock of who gave it.
    pub fn time(self) -> Micros {
        Micros((self.0 >> Self::BITS) + Self::ORIGIN)
    }

    /// Who gave it.
    pub fn incarnation(self) -> Incarnation {
        Incarnation((self.0 & Self::INCARNATION_MASK) as u16)
    }

    /// The first time after it.
    pub(crate) fn next_time(self) -> Micros {
        if self == Self::ZERO { Micros(0) } else { Micros(self.time().0 + 1) }
    }

    /// The greatest stamp before it.
    pub(crate) fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// As a number; its order is that of the stamps.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// Of a number that [`to_bits`](Self::to_bits) has given.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0 >> Self::BITS, self.0 & Self::INCARNATION_MASK)
    }
}

/// The name of a transaction: 16 random bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TxnId(pub [u8; 16]);

impl fmt::Display for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for TxnId {
    type Err = crate::Malformed;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(crate::Malformed("a transaction is named by 32 hexadecimal digits"));
        }
        let number =
            u128::from_str_radix(text, 16).map_err(|_| crate::Malformed("not a hexadecimal number"))?;
        Ok(Self(number.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_ordered_by_time_first() {
        let stamp = |time, of| Stamp::new(Micros(Stamp::ORIGIN + time), Incarnation::new(of));
        assert!(stamp(1, 4_095) < stamp(2, 0));
        assert!(stamp(2, 1) < stamp(2, 2));
        assert_eq!(stamp(7, 9).incarnation(), Incarnation::new(9));
        assert_eq!(stamp(7, 9).time(), Micros(Stamp::ORIGIN + 7));
        assert_eq!(Stamp::new(Micros(5), Incarnation::NONE), Stamp::ZERO);
        assert_eq!(Stamp::from_bits(u64::MAX).next_time().0, Stamp::ORIGIN + Stamp::MAX_TIME + 1);
    }

    #[test]
    fn no_server_has_the_incarnation_of_none() {
        for random in [0, 1, 4_094, 4_095, 4_096, u64::MAX] {
            assert_ne!(Incarnation::from_random(random), Incarnation::NONE);
        }
    }
}
