//! Timestamps of the cluster's order, and what is durable.
//!
//! ```text
//!  63..61   60 .............. 25   24 ........ 0
//!  zero     epoch (36 bits)        time of the commit (25 bits; all from 2^25 - 1 on are one)
//! ```
//! A transaction's place is (epoch, time); transactions that do not touch each other may have one place. What depends
//! on another one's commit depends on its epoch, and that is whole: 36 bits are 21 years at ten milliseconds. Of times,
//! only the order within an epoch could be coarse.

use scaledb_base::Timestamp;
use scaledb_scar::{Epoch, Time};

const TIME_BITS: u32 = 25;
const EPOCH_BITS: u32 = 64 - Timestamp::SPARE_BITS - TIME_BITS;

/// The timestamp of a place.
pub(super) fn place(epoch: Epoch, time: Time) -> Timestamp {
    let epoch = epoch.0.min((1 << EPOCH_BITS) - 1);
    Timestamp::from_raw(epoch << TIME_BITS | time.0.min((1 << TIME_BITS) - 1))
}

/// The epoch of a place.
pub(super) fn epoch(place: Timestamp) -> Epoch {
    Epoch(place.raw() >> TIME_BITS)
}

/// What is before this has committed, if `epoch` is the last that has.
pub(super) fn behind(epoch: Epoch) -> Timestamp {
    place(epoch.next(), Time(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_order_and_know_their_epoch() {
        let places = [(1, 5), (1, 6), (2, 0), (2, u64::MAX), (3, 1), (u64::MAX, u64::MAX)];
        let places = places.map(|(epoch, time)| place(Epoch(epoch), Time(time)));
        assert!(places.is_sorted() && places[5] <= Timestamp::MAX);
        assert_eq!((epoch(places[3]), epoch(places[4])), (Epoch(2), Epoch(3)));
        assert!(places[3] < behind(Epoch(2)) && places[4] >= behind(Epoch(2)));
    }
}
