//! Intervals: months, days and microseconds, which are no multiples of one another.

use crate::binary::round_micros;
use crate::calendar::{DAY_MICROS, HOUR_MICROS, MINUTE_MICROS};
use crate::error::{Result, SqlError, SqlState};
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

    /// The sum, part by part.
    ///
    /// # Errors
    ///
    /// 22008 if a part overflows.
    pub fn plus(self, other: Self) -> Result<Self> {
        let months = self.months.checked_add(other.months).ok_or_else(out_of_range)?;
        let days = self.days.checked_add(other.days).ok_or_else(out_of_range)?;
        let micros = self.micros.checked_add(other.micros).ok_or_else(out_of_range)?;
        Ok(Self::new(months, days, micros))
    }

    /// The difference, part by part.
    ///
    /// # Errors
    ///
    /// 22008 if a part overflows.
    pub fn minus(self, other: Self) -> Result<Self> {
        let months = self.months.checked_sub(other.months).ok_or_else(out_of_range)?;
        let days = self.days.checked_sub(other.days).ok_or_else(out_of_range)?;
        let micros = self.micros.checked_sub(other.micros).ok_or_else(out_of_range)?;
        Ok(Self::new(months, days, micros))
    }

    /// The interval with all its signs turned.
    ///
    /// # Errors
    ///
    /// 22008 if a part overflows.
    pub fn negated(self) -> Result<Self> {
        Self::default().minus(self)
    }

    /// `self * factor`; fractions of months become days, those of days hours.
    ///
    /// # Errors
    ///
    /// 22008 if a part overflows.
    pub fn times(self, factor: f64) -> Result<Self> {
        self.scaled(|part| part * factor)
    }

    /// `self / divisor`.
    ///
    /// # Errors
    ///
    /// 22012 if it is zero, 22008 if a part overflows.
    pub fn divided_by(self, divisor: f64) -> Result<Self> {
        if divisor == 0.0 {
            return Err(SqlError::division_by_zero());
        }
        self.scaled(|part| part / divisor)
    }

    /// The interval with all its parts multiplied. A month has 30 days here, as in comparisons.
    fn scaled(self, scale: impl Fn(f64) -> f64) -> Result<Self> {
        const DAY_SECONDS: f64 = 86_400.0;
        // PostgreSQL rounds intermediate fractions to microseconds
        let round = |v: f64| (v * 1e6).round_ties_even() / 1e6;
        let int = |v: f64| {
            let fits = v >= f64::from(i32::MIN) - 0.5 && v < f64::from(i32::MAX) + 0.5;
            if fits { Ok(v as i32) } else { Err(out_of_range()) }
        };
        let (months, days) = (scale(self.months.into()), scale(self.days.into()));
        let (whole_months, mut whole_days) = (int(months)?, int(days)?);
        let month_days = round((months - f64::from(whole_months)) * 30.0);
        let rest = days - f64::from(whole_days) + month_days - month_days.trunc();
        let mut seconds = round(rest * DAY_SECONDS);
        if seconds.abs() >= DAY_SECONDS {
            let extra = (seconds / DAY_SECONDS).trunc();
            whole_days = whole_days.checked_add(extra as i32).ok_or_else(out_of_range)?;
            seconds -= extra * DAY_SECONDS;
        }
        whole_days = whole_days.checked_add(month_days as i32).ok_or_else(out_of_range)?;
        let micros = (scale(self.micros as f64) + seconds * 1e6).round_ties_even();
        // the bound is exact: 2^63
        if !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&micros) {
            return Err(out_of_range());
        }
        Ok(Self::new(whole_months, whole_days, micros as i64))
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

/// 22008.
#[cold]
pub(crate) fn out_of_range() -> SqlError {
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "interval out of range")
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
