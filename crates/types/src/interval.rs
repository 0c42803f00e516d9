//! Intervals: months, days and microseconds, which are no multiples of one another.

use crate::binary::round_micros;
use crate::calendar::{DAY_MICROS, HOUR_MICROS, MINUTE_MICROS};
use crate::error::Result;
use crate::ty::Type;
use crate::typename;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// An interval.
///
/// Comparisons take a month as 30 days and a day as 24 hours, as PostgreSQL does: `1 mon` equals `30 days`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval {
    /// Months.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

impl Interval {
    /// The interval of these parts.
    pub const fn new(months: i32, days: i32, micros: i64) -> Self {
        Self { months, days, micros }
    }

    /// With the fields and the digits of a second that the type keeps.
    ///
    /// # Errors
    ///
    /// 22008 if rounding overflows.
    pub fn to_typmod(self, ty: Type) -> Result<Self> {
        let mut v = self;
        if let Some(range) = ty.interval_range() {
            // the lowest field of the range is the last that counts
            let whole = |micros: i64, unit: i64| micros / unit * unit;
            if range == typename::YEAR {
                v = Self::new(v.months / 12 * 12, 0, 0);
            } else if range & typename::MONTH != 0 {
                v = Self::new(v.months, 0, 0);
            } else if range == typename::DAY {
                v.micros = 0;
            } else if range & typename::SECOND == 0 {
                let unit = if range & typename::MINUTE != 0 { MINUTE_MICROS } else { HOUR_MICROS };
                v.micros = whole(v.micros, unit);
            }
        }
        v.micros = round_micros(v.micros, ty);
        Ok(v)
    }

    /// What comparisons compare.
    pub(crate) fn span(self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * i128::from(DAY_MICROS) + i128::from(self.micros)
    }
}

impl Ord for Interval {
    fn cmp(&self, other: &Self) -> Ordering {
        self.span().cmp(&other.span())
    }
}

impl PartialOrd for Interval {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Interval {
    fn eq(&self, other: &Self) -> bool {
        self.span() == other.span()
    }
}

impl Eq for Interval {}

impl Hash for Interval {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.span().hash(state);
    }
}
