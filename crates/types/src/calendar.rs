//! Days and microseconds as PostgreSQL counts them: from 2000-01-01, 4713 BC to 294276 AD.

use crate::error::{Result, SqlError, SqlState};

/// Microseconds of a day.
pub const DAY_MICROS: i64 = 86_400_000_000;
/// Microseconds of an hour.
pub(crate) const HOUR_MICROS: i64 = 3_600_000_000;
/// Microseconds of a minute.
pub(crate) const MINUTE_MICROS: i64 = 60_000_000;
/// Microseconds of a second.
pub(crate) const SECOND_MICROS: i64 = 1_000_000;
/// The Julian day of 2000-01-01.
pub(crate) const POSTGRES_EPOCH_JULIAN: i64 = 2_451_545;
/// From 2000-01-01 back to 1970-01-01, in days.
pub(crate) const UNIX_EPOCH_DAYS: i64 = 10_957;

/// The first day: 4714-11-24 BC, Julian day 0.
pub(crate) const MIN_DAY: i64 = -POSTGRES_EPOCH_JULIAN;
/// The day after the last date: 5874898-01-01.
pub(crate) const END_DAY: i64 = 2_147_483_494 - POSTGRES_EPOCH_JULIAN;
/// The first timestamp.
pub(crate) const MIN_TIMESTAMP: i64 = -211_813_488_000_000_000;
/// The end of timestamps: 294277-01-01.
pub(crate) const END_TIMESTAMP: i64 = 9_223_371_331_200_000_000;

/// The date that is infinity.
pub const DATE_INFINITY: i32 = i32::MAX;
/// The date that is -infinity.
pub const DATE_NEG_INFINITY: i32 = i32::MIN;
/// The timestamp that is infinity.
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;
/// The timestamp that is -infinity.
pub const TIMESTAMP_NEG_INFINITY: i64 = i64::MIN;

/// Whether a timestamp is in range; infinities are not.
pub(crate) fn is_timestamp(micros: i64) -> bool {
    (MIN_TIMESTAMP..END_TIMESTAMP).contains(&micros)
}

/// Whether a day is in range for a date; infinities are not.
pub(crate) fn is_day(day: i64) -> bool {
    (MIN_DAY..END_DAY).contains(&day)
}

/// Whether a timestamp is one of the infinities.
pub(crate) fn is_infinite(micros: i64) -> bool {
    matches!(micros, TIMESTAMP_INFINITY | TIMESTAMP_NEG_INFINITY)
}

/// Whether a date is one of the infinities.
pub(crate) fn is_infinite_date(day: i32) -> bool {
    matches!(day, DATE_INFINITY | DATE_NEG_INFINITY)
}

/// The timestamp, if it is one.
///
/// # Errors
/// 22008.
#[inline]
pub fn check_timestamp(micros: i64) -> Result<i64> {
    if is_timestamp(micros) || is_infinite(micros) { Ok(micros) } else { Err(out_of_range("timestamp")) }
}

/// The date, if it is one.
///
/// # Errors
/// 22008.
#[inline]
pub fn check_date(day: i32) -> Result<i32> {
    if is_day(day.into()) || is_infinite_date(day) { Ok(day) } else { Err(out_of_range("date")) }
}

/// The time of day, if it is one.
///
/// # Errors
/// 22008.
#[inline]
pub fn check_time(micros: i64) -> Result<i64> {
    if (0..=DAY_MICROS).contains(&micros) { Ok(micros) } else { Err(out_of_range("time")) }
}

#[cold]
fn out_of_range(what: &str) -> SqlError {
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("{what} out of range"))
}

/// Day, and microseconds in it.
pub(crate) fn split(micros: i64) -> (i64, i64) {
    (micros.div_euclid(DAY_MICROS), micros.rem_euclid(DAY_MICROS))
}

/// Year (0 is 1 BC), month and day of month of a day since 2000-01-01, in the Gregorian calendar.
pub(crate) fn civil(day: i64) -> (i64, i64, i64) {
    // eras of 400 years from 0000-03-01, so that the leap day is the last of its year
    let z = day + UNIX_EPOCH_DAYS + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let dom = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + i64::from(month <= 2), month, dom)
}

/// The day of a date, the inverse of [`civil`]. Months and days beyond their range count on.
pub(crate) fn day_of(year: i64, month: i64, dom: i64) -> i64 {
    let year = year + (month - 1).div_euclid(12);
    let month = (month - 1).rem_euclid(12) + 1;
    let y = year - i64::from(month <= 2);
    let era = y.div_euclid(400);
    let yoe = y.rem_euclid(400);
    let doy = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + dom - 1;
    let doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    era * 146_097 + doe - 719_468 - UNIX_EPOCH_DAYS
}

/// Whether a year has a leap day.
pub(crate) fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

/// Days of a month.
pub(crate) fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The day of the week: 0 is Sunday.
pub(crate) fn weekday(day: i64) -> i64 {
    // 2000-01-01 was a Saturday
    (day + 6).rem_euclid(7)
}

/// The year of ISO 8601 and its week, from 1.
pub(crate) fn iso_week(day: i64) -> (i64, i64) {
    // the week belongs to the year of its Thursday
    let thursday = day + 4 - iso_weekday(day);
    let (year, _, _) = civil(thursday);
    (year, (thursday - day_of(year, 1, 1)) / 7 + 1)
}

/// The day of the week: 1 is Monday, 7 Sunday.
pub(crate) fn iso_weekday(day: i64) -> i64 {
    (day + 5).rem_euclid(7) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_finds_its_date_again() {
        for day in (MIN_DAY..END_DAY).step_by(9_973).chain([-1, 0, 1, 59, 60, 365, 366, END_DAY - 1]) {
            let (year, month, dom) = civil(day);
            assert!((1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&dom));
            assert_eq!(day_of(year, month, dom), day);
        }
        assert_eq!(civil(0), (2000, 1, 1));
        assert_eq!(civil(MIN_DAY), (-4713, 11, 24));
        assert_eq!(civil(END_DAY), (5_874_898, 1, 1));
        assert_eq!(civil(MIN_TIMESTAMP / DAY_MICROS), (-4713, 11, 24));
        assert_eq!(civil(END_TIMESTAMP / DAY_MICROS), (294_277, 1, 1));
    }
}
