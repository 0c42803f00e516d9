//! Input of intervals: `1 year 2 mons`, `@ 3 days ago`, `1-2`, `04:05:06`, `P1Y2M3DT4H5M6S`.

use crate::calendar::{DAY_MICROS, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS};
use crate::datetime::{Bad, Field, error, split};
use crate::error::Result;
use crate::interval::Interval;
use crate::ty::Type;
use crate::typename;

/// A unit, or what else a word may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Micros,
    Millis,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
}

fn unit_of(word: &str) -> Option<Unit> {
    // PostgreSQL compares the first ten letters
    let word = word.get(..10).unwrap_or(word);
    Some(match word {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => Unit::Micros,
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Unit::Millis,
        "s" | "sec" | "secs" | "second" | "seconds" => Unit::Second,
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hour,
        "d" | "day" | "days" => Unit::Day,
        "w" | "week" | "weeks" => Unit::Week,
        "mon" | "mons" | "month" | "months" => Unit::Month,
        "y" | "yr" | "yrs" | "year" | "years" => Unit::Year,
        "dec" | "decs" | "decade" | "decades" => Unit::Decade,
        "c" | "cent" | "century" | "centuries" => Unit::Century,
        "mil" | "mils" | "millennia" | "millennium" => Unit::Millennium,
        _ => return None,
    })
}

/// The units of what is less than a minute.
const SECONDS: u32 = 1 << Unit::Second as u32 | 1 << Unit::Millis as u32 | 1 << Unit::Micros as u32;

/// What has been added up.
#[derive(Default)]
struct Sum {
    years: i32,
    months: i32,
    days: i32,
    micros: i64,
    /// Units that were given, which may not come twice.
    seen: u32,
}

type Parsed<T> = std::result::Result<T, Bad>;

impl Sum {
    fn mark(&mut self, bits: u32) -> Parsed<()> {
        if self.seen & bits != 0 {
            return Err(Bad::Format);
        }
        self.seen |= bits;
        Ok(())
    }

    fn add_micros(&mut self, whole: i64, fraction: f64, unit: i64) -> Parsed<()> {
        let part = (fraction * unit as f64).round_ties_even() as i64;
        let sum = whole
            .checked_mul(unit)
            .and_then(|v| v.checked_add(part))
            .and_then(|v| v.checked_add(self.micros));
        self.micros = sum.ok_or(Bad::Interval)?;
        Ok(())
    }

    /// Whole days, and fractions of one as time.
    fn add_days(&mut self, whole: i64, fraction: f64, unit: i64) -> Parsed<()> {
        let part = fraction * unit as f64;
        let days = whole.checked_mul(unit).and_then(|v| v.checked_add(part as i64));
        let days = days.and_then(|v| v.checked_add(self.days.into())).and_then(|v| i32::try_from(v).ok());
        self.days = days.ok_or(Bad::Interval)?;
        self.add_micros(0, part - part.trunc(), DAY_MICROS)
    }

    fn add_years(&mut self, whole: i64, fraction: f64, unit: i64) -> Parsed<()> {
        let months = (fraction * unit as f64 * 12.0).round_ties_even() as i64;
        let years = whole.checked_mul(unit).and_then(|v| v.checked_add(self.years.into()));
        self.years = years.and_then(|v| i32::try_from(v).ok()).ok_or(Bad::Interval)?;
        self.add_months(months)
    }

    fn add_months(&mut self, months: i64) -> Parsed<()> {
        let months = months.checked_add(self.months.into()).and_then(|v| i32::try_from(v).ok());
        self.months = months.ok_or(Bad::Interval)?;
        Ok(())
    }

    fn add(&mut self, unit: Unit, whole: i64, fraction: f64) -> Parsed<()> {
        match unit {
            // fractions of a second are its parts as well
            Unit::Second if fraction != 0.0 => self.mark(SECONDS)?,
            unit => self.mark(1 << unit as u32)?,
        }
        match unit {
            Unit::Micros => self.add_micros(whole, fraction, 1),
            Unit::Millis => self.add_micros(whole, fraction, 1_000),
            Unit::Second => self.add_micros(whole, fraction, SECOND_MICROS),
            Unit::Minute => self.add_micros(whole, fraction, MINUTE_MICROS),
            Unit::Hour => self.add_micros(whole, fraction, HOUR_MICROS),
            Unit::Day => self.add_days(whole, fraction, 1),
            Unit::Week => self.add_days(whole, fraction, 7),
            Unit::Month => {
                self.add_months(whole)?;
                self.add_days(0, fraction, 30)
            }
            Unit::Year => self.add_years(whole, fraction, 1),
            Unit::Decade => self.add_years(whole, fraction, 10),
            Unit::Century => self.add_years(whole, fraction, 100),
            Unit::Millennium => self.add_years(whole, fraction, 1_000),
        }
    }

    /// `04:05:06.7`, `04:05`, and minutes and seconds where the type says so.
    fn clock(&mut self, text: &str, negative: bool, range: Option<i32>) -> Parsed<()> {
        self.mark(SECONDS | 1 << Unit::Minute as u32 | 1 << Unit::Hour as u32)?;
        let parts: Vec<&str> = text.split(':').collect();
        let seconds = |text: &str| -> Parsed<(i64, f64)> {
            let (whole, part) = text.split_once('.').unwrap_or((text, ""));
            Ok((int(whole)?, fraction(part)?))
        };
        let minute_to_second = range == Some(typename::MINUTE | typename::SECOND);
        let (hours, minutes, (seconds, part)) = match parts[..] {
            [h, m] if m.contains('.') => (0, int(h)?, seconds(m)?),
            [m, s] if minute_to_second => (0, int(m)?, seconds(s)?),
            [h, m] => (int(h)?, int(m)?, (0, 0.0)),
            [h, m, s] => (int(h)?, int(m)?, seconds(s)?),
            _ => return Err(Bad::Format),
        };
        if minutes > 59 || seconds > 60 {
            return Err(Bad::Interval);
        }
        let sign = if negative { -1 } else { 1 };
        let micros = |v: i64, unit: i64| v.checked_mul(unit * sign).ok_or(Bad::Interval);
        self.add_micros(micros(hours, HOUR_MICROS)?, 0.0, 1)?;
        self.add_micros(micros(minutes, MINUTE_MICROS)?, 0.0, 1)?;
        self.add_micros(seconds * sign, part * sign as f64, SECOND_MICROS)
    }

    fn finish(self, before: bool) -> Parsed<Interval> {
        let months = i64::from(self.years) * 12 + i64::from(self.months);
        let months = i32::try_from(months).map_err(|_| Bad::IntervalRange)?;
        let v = Interval::new(months, self.days, self.micros);
        if !before {
            return Ok(v);
        }
        let neg = (v.months.checked_neg(), v.days.checked_neg(), v.micros.checked_neg());
        match neg {
            (Some(months), Some(days), Some(micros)) => Ok(Interval::new(months, days, micros)),
            _ => Err(Bad::Interval),
        }
    }
}

fn int(text: &str) -> Parsed<i64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Bad::Format);
    }
    text.parse().map_err(|_| Bad::Interval)
}

/// The digits behind a point.
fn fraction(digits: &str) -> Parsed<f64> {
    if digits.is_empty() {
        return Ok(0.0);
    }
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Bad::Format);
    }
    format!("0.{digits}").parse().map_err(|_| Bad::Format)
}

/// The unit of a number without one.
fn default_unit(range: Option<i32>) -> Unit {
    match range {
        Some(typename::YEAR) => Unit::Year,
        Some(bits) if bits & typename::MONTH != 0 => Unit::Month,
        Some(typename::DAY) => Unit::Day,
        Some(bits) if bits & typename::SECOND != 0 => Unit::Second,
        Some(bits) if bits & typename::MINUTE != 0 => Unit::Minute,
        Some(bits) if bits & typename::HOUR != 0 => Unit::Hour,
        _ => Unit::Second,
    }
}

/// Reads from the end, so that a unit is known before its number.
fn read(fields: &[Field], range: Option<i32>) -> Parsed<Interval> {
    let mut sum = Sum::default();
    let mut unit: Option<Unit> = None;
    let mut before = false;
    let mut any = false;
    for field in fields.iter().rev() {
        match field {
            Field::Time(text) => {
                sum.clock(text, false, range)?;
                unit = Some(Unit::Day);
                any = true;
            }
            Field::Signed(text) if text.contains(':') => {
                sum.clock(&text[1..], text.starts_with('-'), range)?;
                unit = Some(Unit::Day);
                any = true;
            }
            Field::Number(text) | Field::Date(text) | Field::Signed(text) => {
                let (negative, body) = match text.as_bytes()[0] {
                    b'-' => (true, &text[1..]),
                    b'+' => (false, &text[1..]),
                    _ => (false, text.as_str()),
                };
                let sign = if negative { -1 } else { 1 };
                if let Some((years, months)) = body.split_once('-') {
                    let months = int(months)?;
                    if months >= 12 {
                        return Err(Bad::Interval);
                    }
                    let total = int(years)?.checked_mul(12).and_then(|v| v.checked_add(months));
                    sum.mark(1 << Unit::Year as u32 | 1 << Unit::Month as u32)?;
                    sum.add_months(total.ok_or(Bad::Interval)? * sign)?;
                } else {
                    let (whole, part) = body.split_once('.').unwrap_or((body, ""));
                    let whole = if whole.is_empty() { 0 } else { int(whole)? };
                    let part = fraction(part)? * sign as f64;
                    let own = unit.unwrap_or_else(|| default_unit(range));
                    sum.add(own, whole * sign, part)?;
                    // what stands before hours is days
                    if own == Unit::Hour {
                        unit = Some(Unit::Day);
                    }
                }
                any = true;
            }
            Field::Word(word) if word == "ago" => before = true,
            Field::Word(word) => unit = Some(unit_of(word).ok_or(Bad::Format)?),
            Field::SignedWord(_) => return Err(Bad::Format),
        }
    }
    if any { sum.finish(before) } else { Err(Bad::Format) }
}

/// `P1Y2M3DT4H5M6S`, `P1W`, `P0001-02-03T04:05:06`.
fn read_iso(text: &str) -> Parsed<Interval> {
    let mut sum = Sum::default();
    let mut rest = text.strip_prefix('P').filter(|rest| !rest.is_empty()).ok_or(Bad::Format)?;
    let mut in_time = false;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('T') {
            if in_time || after.is_empty() {
                return Err(Bad::Format);
            }
            in_time = true;
            rest = after;
            continue;
        }
        let (sign, body) = match rest.as_bytes()[0] {
            b'-' => (-1, &rest[1..]),
            b'+' => (1, &rest[1..]),
            _ => (1, rest),
        };
        let len = body.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
        let (number, after) = body.split_at(len);
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && part.is_empty() {
            return Err(Bad::Format);
        }
        let whole = if whole.is_empty() { 0 } else { int(whole)? } * sign;
        let part = fraction(part)? * sign as f64;
        // the alternative form has separators instead of units
        let unit = match (after.as_bytes().first(), in_time) {
            (Some(b'Y'), false) => Unit::Year,
            (Some(b'M'), false) => Unit::Month,
            (Some(b'W'), false) => Unit::Week,
            (Some(b'D'), false) => Unit::Day,
            (Some(b'H'), true) => Unit::Hour,
            (Some(b'M'), true) => Unit::Minute,
            (Some(b'S'), true) => Unit::Second,
            (Some(b'-' | b':') | None | Some(b'T'), _) => return read_iso_alternative(text),
            _ => return Err(Bad::Format),
        };
        sum.add(unit, whole, part)?;
        rest = &after[1..];
    }
    sum.finish(false)
}

fn read_iso_alternative(text: &str) -> Parsed<Interval> {
    let mut sum = Sum::default();
    let body = text.strip_prefix('P').ok_or(Bad::Format)?;
    let (date, time) = body.split_once('T').map_or((body, None), |(date, time)| (date, Some(time)));
    let mut parts = date.split('-').filter(|part| !part.is_empty());
    for unit in [Unit::Year, Unit::Month, Unit::Day] {
        if let Some(part) = parts.next() {
            sum.add(unit, int(part)?, 0.0)?;
        }
    }
    if parts.next().is_some() {
        return Err(Bad::Format);
    }
    if let Some(time) = time {
        if time.contains(':') {
            sum.clock(time, false, None)?;
        } else {
            sum.add(Unit::Hour, int(time)?, 0.0)?;
        }
    }
    sum.finish(false)
}

/// Reads an interval.
pub(crate) fn parse(text: &str, ty: Type) -> Result<Interval> {
    let trimmed = crate::numeric::trim(text);
    let parsed = if trimmed.starts_with('P') {
        read_iso(trimmed)
    } else {
        // words never join digits here: 1h30m
        split(text, |_| true).ok_or(Bad::Format).and_then(|fields| read(&fields, ty.interval_range()))
    };
    parsed.map_err(|bad| error(bad, text, "interval"))?.to_typmod(ty)
}
