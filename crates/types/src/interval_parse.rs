//! Input of intervals: `1 year 2 mons`, `@ 3 days ago`, `1-2`, `04:05:06`, `P1Y2M3DT4H5M6S`.
//!
//! A sign is part of its number here, for the least number has no positive counterpart.

use crate::calendar::{DAY_MICROS, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS};
use crate::datetime::{Bad, Field, error, fraction_micros, split};
use crate::env::{Env, IntervalStyle};
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
        let part = fraction * unit as f64;
        // half a microsecond is dropped, unlike that of a clock
        let rounded = if part.fract().abs() > 0.5 { part.trunc() + part.signum() } else { part.trunc() };
        let sum = whole.checked_mul(unit).and_then(|v| v.checked_add(self.micros));
        self.micros = sum.and_then(|v| v.checked_add(rounded as i64)).ok_or(Bad::Interval)?;
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
        let seconds = |text: &str| -> Parsed<(i64, i64)> {
            let (whole, part) = text.split_once('.').unwrap_or((text, ""));
            Ok((int(whole)?, fraction_micros(part).ok_or(Bad::Format)?))
        };
        let minute_to_second = range == Some(typename::MINUTE | typename::SECOND);
        let (hours, minutes, (seconds, part)) = match parts[..] {
            [h, m] if m.contains('.') => (0, int(h)?, seconds(m)?),
            [m, s] if minute_to_second => (0, int(m)?, seconds(s)?),
            [h, m] => (int(h)?, int(m)?, (0, 0)),
            [h, m, s] => (int(h)?, int(m)?, seconds(s)?),
            _ => return Err(Bad::Format),
        };
        if minutes > 59 || seconds > 60 {
            return Err(Bad::Interval);
        }
        let rest = minutes * MINUTE_MICROS + seconds * SECOND_MICROS + part;
        let total = hours.checked_mul(HOUR_MICROS).and_then(|v| v.checked_add(rest)).ok_or(Bad::Interval)?;
        self.add_micros(if negative { -total } else { total }, 0.0, 1)
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
    signed(text, false)
}

/// A number of digits, below zero if there was a sign in front of them.
fn signed(digits: &str, negative: bool) -> Parsed<i64> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Bad::Format);
    }
    let v = digits.bytes().try_fold(0_i64, |v, digit| {
        let v = v.checked_mul(10)?;
        let digit = i64::from(digit - b'0');
        if negative { v.checked_sub(digit) } else { v.checked_add(digit) }
    });
    v.ok_or(Bad::Interval)
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

/// Whether the sign that an interval begins with counts for all of it: so the SQL standard reads it, unless there are
/// more signs.
fn is_all_negative(fields: &[Field], style: IntervalStyle) -> bool {
    let has_sign = |field: &Field| matches!(field, Field::Signed(_) | Field::SignedWord(_));
    style == IntervalStyle::SqlStandard
        && matches!(fields.first(), Some(Field::Signed(text)) if text.starts_with('-'))
        && !fields[1..].iter().any(has_sign)
}

/// Reads from the end, so that a unit is known before its number.
fn read(fields: &[Field], range: Option<i32>, style: IntervalStyle) -> Parsed<Interval> {
    let all_negative = is_all_negative(fields, style);
    let mut sum = Sum::default();
    let mut unit: Option<Unit> = None;
    let mut before = false;
    let mut any = false;
    for field in fields.iter().rev() {
        match field {
            Field::Time(text) => {
                sum.clock(text, all_negative, range)?;
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
                let negative = negative || all_negative;
                if let Some((years, months)) = body.split_once('-') {
                    let months = int(months)?;
                    if months >= 12 {
                        return Err(Bad::Interval);
                    }
                    let months = if negative { -months } else { months };
                    let total = signed(years, negative)?.checked_mul(12).and_then(|v| v.checked_add(months));
                    sum.mark(1 << Unit::Year as u32 | 1 << Unit::Month as u32)?;
                    sum.add_months(total.ok_or(Bad::Interval)?)?;
                } else {
                    let (whole, part) = body.split_once('.').unwrap_or((body, ""));
                    let whole = if whole.is_empty() { 0 } else { signed(whole, negative)? };
                    let part = fraction(part)? * if negative { -1.0 } else { 1.0 };
                    let own = unit.unwrap_or_else(|| default_unit(range));
                    sum.add(own, whole, part)?;
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

/// A number of ISO 8601, and the width of the digits that it starts with.
struct IsoNumber {
    whole: i64,
    part: f64,
    width: usize,
}

/// Takes a number off the front of a text. What is larger than a float holds exactly is refused.
fn take_number(rest: &mut &str) -> Parsed<IsoNumber> {
    const MAX: f64 = 1e15;
    let bytes = rest.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let sign = usize::from(bytes.first() == Some(&b'-'));
    let width = digits(sign);
    let mut end = sign + width;
    let mut any = width;
    if bytes.get(end) == Some(&b'.') {
        let more = digits(end + 1);
        any += more;
        end += 1 + more;
    }
    if any == 0 {
        return Err(Bad::Format);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let v: f64 = rest[..end].parse().map_err(|_| Bad::Format)?;
    if !(-MAX..=MAX).contains(&v) {
        return Err(Bad::Interval);
    }
    *rest = &rest[end..];
    Ok(IsoNumber { whole: v.trunc() as i64, part: v.fract(), width })
}

/// `P1Y2M3DT4H5M6S`, `P1W`, and without units `P0001-02-03T04:05:06` and `P00010203T040506`.
fn read_iso(text: &str) -> Parsed<Interval> {
    let mut sum = Sum::default();
    let mut rest = text.strip_prefix('P').filter(|rest| !rest.is_empty()).ok_or(Bad::Format)?;
    let mut in_time = false;
    // whether this side of the T has a number with a unit, beside which none may be without
    let mut has_unit = false;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('T') {
            (rest, in_time, has_unit) = (after, true, false);
            continue;
        }
        let number = take_number(&mut rest)?;
        let IsoNumber { whole, part, width } = number;
        let unit = rest.as_bytes().first().copied();
        match (unit, in_time) {
            (Some(b'Y'), false) => sum.add_years(whole, part, 1)?,
            (Some(b'M'), false) => {
                sum.add_months(whole)?;
                sum.add_days(0, part, 30)?;
            }
            (Some(b'W'), false) => sum.add_days(whole, part, 7)?,
            (Some(b'D'), false) => sum.add_days(whole, part, 1)?,
            (Some(b'H'), true) => sum.add_micros(whole, part, HOUR_MICROS)?,
            (Some(b'M'), true) => sum.add_micros(whole, part, MINUTE_MICROS)?,
            (Some(b'S'), true) => sum.add_micros(whole, part, SECOND_MICROS)?,
            _ if has_unit => return Err(Bad::Format),
            (None | Some(b'T'), false) if width == 8 => {
                sum.add_years(whole / 10_000, 0.0, 1)?;
                sum.add_months(whole / 100 % 100)?;
                sum.add_days(whole % 100, part, 1)?;
                continue;
            }
            (None | Some(b'T' | b'-'), false) => {
                read_iso_date(&mut sum, &number, &mut rest)?;
                continue;
            }
            (None, true) if width == 6 => {
                sum.add_micros(whole / 10_000, 0.0, HOUR_MICROS)?;
                sum.add_micros(whole / 100 % 100, 0.0, MINUTE_MICROS)?;
                // PostgreSQL takes the fraction for one of a microsecond
                sum.add_micros(whole % 100, 0.0, SECOND_MICROS)?;
                sum.add_micros(0, part, 1)?;
                break;
            }
            (None | Some(b':'), true) => {
                read_iso_time(&mut sum, &number, &mut rest)?;
                break;
            }
            _ => return Err(Bad::Format),
        }
        rest = &rest[1..];
        has_unit = true;
    }
    sum.finish(false)
}

/// The rest of `0001-02-03`, up to a `T`.
fn read_iso_date(sum: &mut Sum, years: &IsoNumber, rest: &mut &str) -> Parsed<()> {
    sum.add_years(years.whole, years.part, 1)?;
    let Some(mut after) = rest.strip_prefix('-') else { return Ok(()) };
    let months = take_number(&mut after)?;
    sum.add_months(months.whole)?;
    sum.add_days(0, months.part, 30)?;
    if let Some(more) = after.strip_prefix('-') {
        after = more;
        let days = take_number(&mut after)?;
        sum.add_days(days.whole, days.part, 1)?;
    }
    *rest = after;
    if after.is_empty() || after.starts_with('T') { Ok(()) } else { Err(Bad::Format) }
}

/// The rest of `04:05:06`, up to the end.
fn read_iso_time(sum: &mut Sum, hours: &IsoNumber, rest: &mut &str) -> Parsed<()> {
    sum.add_micros(hours.whole, hours.part, HOUR_MICROS)?;
    for unit in [MINUTE_MICROS, SECOND_MICROS] {
        let Some(after) = rest.strip_prefix(':') else { break };
        *rest = after;
        let number = take_number(rest)?;
        sum.add_micros(number.whole, number.part, unit)?;
    }
    if rest.is_empty() { Ok(()) } else { Err(Bad::Format) }
}

/// Reads an interval.
pub(crate) fn parse(text: &str, ty: Type, env: &Env) -> Result<Interval> {
    let parsed = if text.starts_with('P') {
        read_iso(text)
    } else {
        // words never join digits here: 1h30m
        let fields = split(text, |_| true).ok_or(Bad::Format);
        fields.and_then(|fields| read(&fields, ty.interval_range(), env.interval_style))
    };
    parsed.map_err(|bad| error(bad, text, "interval"))?.to_typmod(ty)
}
