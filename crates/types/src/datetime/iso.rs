//! The form that most texts have, `2024-02-29 12:00:00.5`, read without splitting it into fields first.

use crate::calendar::{self, DAY_MICROS, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS};

/// `YYYY-MM-DD`, and what follows it: the form that nearly all texts have.
pub(super) fn iso_date(text: &str) -> Option<(i64, &str)> {
    let bytes = text.as_bytes();
    let digit = |at: usize| Some(i64::from(bytes.get(at)?.wrapping_sub(b'0'))).filter(|d| *d < 10);
    let two = |at: usize| Some(digit(at)? * 10 + digit(at + 1)?);
    if bytes.get(4) != Some(&b'-') || bytes.get(7) != Some(&b'-') {
        return None;
    }
    let (year, month, day) = (two(0)? * 100 + two(2)?, two(5)?, two(8)?);
    let fits =
        year > 0 && (1..=12).contains(&month) && day >= 1 && day <= calendar::days_in_month(year, month);
    fits.then(|| (calendar::day_of(year, month, day), &text[10..]))
}

/// `HH:MM:SS` and a fraction, and what follows it.
pub(super) fn iso_time(text: &str) -> Option<(i64, &str)> {
    let bytes = text.as_bytes();
    let digit = |at: usize| Some(i64::from(bytes.get(at)?.wrapping_sub(b'0'))).filter(|d| *d < 10);
    let two = |at: usize| Some(digit(at)? * 10 + digit(at + 1)?);
    if bytes.get(2) != Some(&b':') || bytes.get(5) != Some(&b':') {
        return None;
    }
    let (hour, minute, second) = (two(0)?, two(3)?, two(6)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut micros = hour * HOUR_MICROS + minute * MINUTE_MICROS + second * SECOND_MICROS;
    let mut at = 8;
    if bytes.get(at) == Some(&b'.') {
        let mut unit = SECOND_MICROS;
        at += 1;
        while let Some(digit) = digit(at) {
            unit /= 10;
            if unit == 0 {
                return None;
            }
            micros += digit * unit;
            at += 1;
        }
    }
    Some((micros, &text[at..]))
}

/// A timestamp of the usual form: local microseconds, and the rest.
pub(super) fn iso_timestamp(text: &str) -> Option<(i64, &str)> {
    let (day, rest) = iso_date(text)?;
    if rest.is_empty() {
        return Some((day * DAY_MICROS, rest));
    }
    let (time, rest) = iso_time(rest.strip_prefix([' ', 'T'])?)?;
    Some((day * DAY_MICROS + time, rest))
}
