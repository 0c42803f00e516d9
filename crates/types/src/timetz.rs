//! `time with time zone`: a time of day, and how far from UTC its clock is.
//!
//! ```text
//! as a key    microseconds in UTC, from the first that there are | seconds west of UTC, 17 bits
//! ```

use crate::calendar::{self, DAY_MICROS, SECOND_MICROS};
use crate::env::Env;
use crate::error::{Result, SqlError, SqlState};
use crate::zone;
use std::cmp::Ordering;

/// A time of day at a distance from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timetz {
    /// Since midnight, up to and including 24:00.
    pub micros: i64,
    /// Seconds west of UTC, as PostgreSQL counts here: less than 16 hours either way.
    pub west: i32,
}

/// Bits of the distance in a key.
const WEST_BITS: u32 = 17;
/// What is added to the distance in a key, so that it is not negative.
const WEST_BIAS: i64 = 1 << (WEST_BITS - 1);
/// What is added to the time in UTC: 16 hours.
const UTC_BIAS: i64 = 16 * 3_600 * SECOND_MICROS;

impl Timetz {
    /// A time of day, so many seconds east of UTC.
    pub fn new(micros: i64, east: i32) -> Self {
        Self { micros, west: -east }
    }

    /// What clocks of the session show as this time of day today.
    ///
    /// # Errors
    ///
    /// 22009 if the session's zone is 16 hours or more from UTC.
    pub(crate) fn of_today(micros: i64, env: &Env) -> Result<Self> {
        let now = env.zone.to_local(env.transaction_time).unwrap_or(0);
        let midnight = calendar::split(now).0 * DAY_MICROS;
        Self::new(micros, env.zone.offset_of_local(midnight.saturating_add(micros))).checked()
    }

    /// Seconds east of UTC.
    pub fn east(&self) -> i32 {
        -self.west
    }

    /// Microseconds since midnight in UTC, which may be of the day before or the next.
    pub(crate) fn utc(&self) -> i64 {
        self.micros + i64::from(self.west) * SECOND_MICROS
    }

    /// The same time at another distance from UTC.
    ///
    /// # Errors
    ///
    /// 22009 for 16 hours or more.
    pub(crate) fn at_offset(&self, east: i32) -> Result<Self> {
        Self::new((self.utc() + i64::from(east) * SECOND_MICROS).rem_euclid(DAY_MICROS), east).checked()
    }

    /// The value, if it is one.
    ///
    /// # Errors
    ///
    /// 22008, 22009.
    pub fn checked(self) -> Result<Self> {
        calendar::check_time(self.micros)?;
        if zone::is_offset(self.west) {
            return Ok(self);
        }
        Err(SqlError::new(SqlState::INVALID_TIME_ZONE_DISPLACEMENT, "time zone displacement out of range"))
    }

    /// An integer that sorts as the value does.
    pub fn key(&self) -> i64 {
        (self.utc() + UTC_BIAS) << WEST_BITS | (i64::from(self.west) + WEST_BIAS)
    }

    /// The value of a key.
    pub fn of_key(key: i64) -> Option<Self> {
        let west = (key & ((1 << WEST_BITS) - 1)) - WEST_BIAS;
        let micros = (key >> WEST_BITS) - UTC_BIAS - west * SECOND_MICROS;
        Self { micros, west: west as i32 }.checked().ok()
    }
}

impl Ord for Timetz {
    /// Earlier ones first; of the same time, that of the east.
    fn cmp(&self, other: &Self) -> Ordering {
        (self.utc(), self.west).cmp(&(other.utc(), other.west))
    }
}

impl PartialOrd for Timetz {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
