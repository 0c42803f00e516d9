//! Input of dates and times: the forms that PostgreSQL reads, by its rules of what a number means where.

use super::token::{Field, fraction_micros, split};
use crate::binary::round_micros;
use crate::calendar::{self, DAY_MICROS, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS};
use crate::env::{DateOrder, Env};
use crate::error::{Result, SqlError, SqlState};
use crate::ty::Type;
use crate::value::Value;
use crate::zone::{self, Zone};

/// Why a text is no date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    Format,
    /// A field is out of range.
    Field,
    /// A month or a day is, which may be another order.
    MonthOrDay,
    /// An offset is.
    Offset,
    /// A zone is unknown.
    Zone,
    /// A field of an interval is out of range.
    Interval,
    /// All of an interval is.
    IntervalRange,
}

/// The error of a text.
#[cold]
pub(crate) fn error(bad: Bad, text: &str, type_name: &str) -> SqlError {
    let out_of_range = || format!("date/time field value out of range: \"{text}\"");
    match bad {
        Bad::Format => SqlError::new(
            SqlState::INVALID_DATETIME_FORMAT,
            format!("invalid input syntax for type {type_name}: \"{text}\""),
        ),
        Bad::Field => SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, out_of_range()),
        Bad::MonthOrDay => SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, out_of_range())
            .hint("Perhaps you need a different \"datestyle\" setting."),
        Bad::Offset => SqlError::new(
            SqlState::INVALID_TIME_ZONE_DISPLACEMENT,
            format!("time zone displacement out of range: \"{text}\""),
        ),
        Bad::Zone => {
            let name =
                split(text, is_keyword).unwrap_or_default().into_iter().rev().find_map(|field| match field {
                    Field::Date(name) => Some(name),
                    _ => None,
                });
            SqlError::invalid_parameter(format!("time zone \"{}\" not recognized", name.unwrap_or_default()))
        }
        Bad::IntervalRange => crate::interval::out_of_range(),
        Bad::Interval => SqlError::new(
            SqlState::INTERVAL_FIELD_OVERFLOW,
            format!("interval field value out of range: \"{text}\""),
        ),
    }
}

type Parsed<T> = std::result::Result<T, Bad>;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The month of a name or its first three letters.
fn month_of(word: &str) -> Option<i64> {
    let at = MONTHS.iter().position(|month| *month == word || month[..3] == *word);
    at.or((word == "sept").then_some(8)).map(|at| at as i64 + 1)
}

fn is_weekday(word: &str) -> bool {
    matches!(
        word,
        "sun"
            | "sunday"
            | "mon"
            | "monday"
            | "tue"
            | "tues"
            | "tuesday"
            | "wed"
            | "weds"
            | "wednesday"
            | "thu"
            | "thur"
            | "thurs"
            | "thursday"
            | "fri"
            | "friday"
            | "sat"
            | "saturday"
    )
}

/// Words that digits may follow without a blank.
fn is_keyword(word: &str) -> bool {
    month_of(word).is_some()
        || is_weekday(word)
        || matches!(
            word,
            "am" | "pm"
                | "ad"
                | "bc"
                | "t"
                | "z"
                | "j"
                | "jd"
                | "julian"
                | "now"
                | "today"
                | "tomorrow"
                | "at"
                | "on"
                | "yesterday"
                | "epoch"
                | "infinity"
                | "allballs"
                | "zulu"
                | "h"
                | "m"
                | "mm"
                | "s"
                | "y"
                | "d"
        )
}

/// The offset that a text ends with.
#[derive(Clone, Debug)]
enum Where {
    /// Seconds east of UTC.
    Offset(i32),
    Zone(Zone),
}

/// What was found in a text.
#[derive(Clone, Debug, Default)]
struct Found {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    julian: Option<i64>,
    /// The year has one or two digits.
    short_year: bool,
    text_month: bool,
    before_christ: bool,
    /// Some(true) is PM.
    afternoon: Option<bool>,
    /// Hours, minutes, seconds, microseconds.
    time: Option<(i64, i64, i64, i64)>,
    place: Option<Where>,
    special: Option<Special>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Special {
    Epoch,
    Infinity,
    NegInfinity,
    Now,
}

fn int(text: &str) -> Parsed<i64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Bad::Format);
    }
    match text.parse::<i64>() {
        Ok(v) if v <= i32::MAX.into() => Ok(v),
        _ => Err(Bad::Field),
    }
}

impl Found {
    fn has_date(&self) -> bool {
        self.julian.is_some()
            || (self.year.is_some() && self.day_of_year.is_some())
            || (self.year.is_some() && self.month.is_some() && self.day.is_some())
    }

    /// A number that stands alone: what it means depends on what is known already.
    fn number(&mut self, text: &str, order: DateOrder) -> Parsed<()> {
        let v = int(text)?;
        let long = text.len() >= 3;
        let set_year = |found: &mut Self| {
            found.year = Some(v);
            found.short_year = text.len() <= 2;
        };
        if text.len() == 3
            && self.year.is_some()
            && self.month.is_none()
            && self.day.is_none()
            && (1..=366).contains(&v)
        {
            self.day_of_year = Some(v);
            return Ok(());
        }
        match (self.year.is_some(), self.month.is_some(), self.day.is_some()) {
            (false, false, false) if long || order == DateOrder::Ymd => set_year(self),
            (false, false, false) if order == DateOrder::Dmy => self.day = Some(v),
            (false, false, false) => self.month = Some(v),
            (true, false, false) => self.month = Some(v),
            (false, true, false) if self.text_month && (long || order == DateOrder::Ymd) => set_year(self),
            (false, true, false) => self.day = Some(v),
            // `99-jan-2024`: what was taken for a year was the day
            (true, true, false) if self.text_month && long && self.short_year => {
                self.day = self.year;
                set_year(self);
            }
            (true, true, false) => self.day = Some(v),
            (false, false, true) => self.month = Some(v),
            (false, true, true) => set_year(self),
            (true, _, true) => return self.run_together(text),
        }
        Ok(())
    }

    /// `20240102`, `040506`, `0405`.
    fn run_together(&mut self, text: &str) -> Parsed<()> {
        let (digits, fraction) = text.split_once('.').map_or((text, None), |(a, b)| (a, Some(b)));
        let at = |from: usize, to: usize| int(digits.get(from..to).ok_or(Bad::Format)?);
        let len = digits.len();
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(Bad::Format);
        }
        if fraction.is_none() && !self.has_date() && len >= 6 {
            self.day = Some(at(len - 2, len)?);
            self.month = Some(at(len - 4, len - 2)?);
            self.year = Some(at(0, len - 4)?);
            self.short_year = len - 4 == 2;
            return Ok(());
        }
        if self.time.is_some() {
            return Err(Bad::Format);
        }
        let micros = fraction.map_or(Ok(0), |digits| fraction_micros(digits).ok_or(Bad::Format))?;
        self.time = Some(match len {
            6 => (at(0, 2)?, at(2, 4)?, at(4, 6)?, micros),
            4 if fraction.is_none() => (at(0, 2)?, at(2, 4)?, 0, 0),
            _ => return Err(Bad::Format),
        });
        Ok(())
    }

    /// `2024-01-02`, `02-jan-2024`, `1/2/2024`, `2024.123`.
    fn date(&mut self, text: &str, order: DateOrder) -> Parsed<()> {
        let mut parts: Vec<&str> = Vec::new();
        let mut start = 0;
        let bytes = text.as_bytes();
        for at in 1..=bytes.len() {
            // pieces of digits and of letters; everything else separates
            let kind = |b: u8| (b.is_ascii_digit(), b.is_ascii_alphabetic());
            if at == bytes.len() || kind(bytes[at]) != kind(bytes[start]) {
                if kind(bytes[start]) != (false, false) {
                    parts.push(&text[start..at]);
                }
                start = at;
            }
        }
        if parts.len() > 3 {
            return Err(Bad::Format);
        }
        if let Some(at) = parts.iter().position(|part| part.as_bytes()[0].is_ascii_alphabetic()) {
            let month = month_of(parts[at]).ok_or(Bad::Format)?;
            if self.month.is_some() {
                return Err(Bad::Format);
            }
            self.month = Some(month);
            self.text_month = true;
            parts.remove(at);
        }
        for part in parts {
            if part.as_bytes()[0].is_ascii_alphabetic() || self.has_date() {
                return Err(Bad::Format);
            }
            self.number(part, order)?;
        }
        if self.has_date() { Ok(()) } else { Err(Bad::Format) }
    }

    /// `04:05`, `04:05:06.7`, `05:06.7`.
    fn clock(&mut self, text: &str) -> Parsed<()> {
        if self.time.is_some() {
            return Err(Bad::Format);
        }
        self.time = Some(clock(text)?);
        Ok(())
    }

    fn offset(&mut self, text: &str) -> Parsed<()> {
        if self.place.is_some() {
            return Err(Bad::Format);
        }
        self.place = Some(Where::Offset(parse_offset(text)?));
        Ok(())
    }

    fn zone(&mut self, name: &str) -> Parsed<()> {
        if self.place.is_some() {
            return Err(Bad::Format);
        }
        self.place = Some(Where::Zone(named_zone(name).ok_or(Bad::Format)?));
        Ok(())
    }

    fn word(&mut self, word: &str, next: Option<&Field>, env: &Env) -> Parsed<()> {
        if let Some(month) = month_of(word) {
            // a number before it was taken for the month, and is the day
            if let Some(before) = self.month {
                if self.text_month || self.day.is_some() {
                    return Err(Bad::Format);
                }
                self.day = Some(before);
            }
            self.month = Some(month);
            self.text_month = true;
            return Ok(());
        }
        if is_weekday(word) {
            return Ok(());
        }
        let day = |shift: i64| {
            let local = env.zone.to_local(env.transaction_time).unwrap_or(0);
            calendar::split(local).0 + shift
        };
        match word {
            "am" => self.afternoon = Some(false),
            "pm" => self.afternoon = Some(true),
            "ad" => self.before_christ = false,
            "bc" => self.before_christ = true,
            "at" | "on" => {}
            "t" if matches!(next, Some(Field::Time(_) | Field::Number(_))) => {}
            "now" => self.special = Some(Special::Now),
            "epoch" => self.special = Some(Special::Epoch),
            "infinity" => self.special = Some(Special::Infinity),
            "today" | "tomorrow" | "yesterday" => {
                let shift = match word {
                    "tomorrow" => 1,
                    "yesterday" => -1,
                    _ => 0,
                };
                self.julian = Some(day(shift) + calendar::POSTGRES_EPOCH_JULIAN);
            }
            "allballs" => {
                self.time = Some((0, 0, 0, 0));
                self.place = Some(Where::Offset(0));
            }
            _ => return self.zone(word),
        }
        Ok(())
    }

    fn read(fields: &[Field], env: &Env) -> Parsed<Self> {
        let mut found = Self::default();
        let order = env.date_order;
        let mut at = 0;
        while let Some(field) = fields.get(at) {
            at += 1;
            match field {
                Field::Date(text) if found.has_date() => {
                    // a date is known already: this is a zone, or time and offset run together
                    match text.split_once('-') {
                        Some((time, offset)) if text.as_bytes()[0].is_ascii_digit() => {
                            found.run_together(time)?;
                            found.offset(&format!("-{offset}"))?;
                        }
                        _ => found.zone(text).map_err(|_| Bad::Zone)?,
                    }
                }
                Field::Date(text) => match found.date(text, order) {
                    Ok(()) => {}
                    Err(_) if text.as_bytes()[0].is_ascii_alphabetic() && text.contains('/') => {
                        found.zone(text)?
                    }
                    Err(bad) => return Err(bad),
                },
                Field::Time(text) => found.clock(text)?,
                Field::Signed(text) => found.offset(text)?,
                Field::SignedWord(word) => match word.as_str() {
                    "-infinity" => found.special = Some(Special::NegInfinity),
                    _ => return Err(Bad::Format),
                },
                Field::Number(text) => {
                    let whole = text.split('.').next().map_or(0, str::len);
                    let pointed = text.contains('.');
                    let started = found.year.is_some() || found.month.is_some() || found.day.is_some();
                    if pointed && !started && found.julian.is_none() {
                        found.date(text, order)?;
                    } else if (pointed && whole > 2) || (whole >= 6 && (!started || found.time.is_none())) {
                        found.run_together(text)?;
                    } else {
                        found.number(text, order)?;
                    }
                }
                Field::Word(word) if matches!(word.as_str(), "j" | "jd" | "julian") => {
                    let Some(Field::Number(text)) = fields.get(at) else { return Err(Bad::Format) };
                    at += 1;
                    let (day, fraction) = text.split_once('.').unwrap_or((text, ""));
                    found.julian = Some(int(day)?);
                    if !fraction.is_empty() {
                        let part: f64 = format!("0.{fraction}").parse().map_err(|_| Bad::Format)?;
                        let micros = (part * DAY_MICROS as f64).round_ties_even() as i64;
                        found.time = Some((0, 0, 0, micros));
                    }
                }
                Field::Word(word) => found.word(word, fields.get(at), env)?,
            }
        }
        Ok(found)
    }

    /// The day, if there is a date.
    fn day(&self) -> Parsed<Option<i64>> {
        if let Some(julian) = self.julian {
            return Ok(Some(julian - calendar::POSTGRES_EPOCH_JULIAN));
        }
        if self.year.is_none() && self.month.is_none() && self.day.is_none() {
            return Ok(None);
        }
        let Some(mut year) = self.year else { return Err(Bad::Format) };
        if self.before_christ {
            if year <= 0 {
                return Err(Bad::Field);
            }
            year = 1 - year;
        } else if self.short_year {
            year += if year < 70 { 2000 } else { 1900 };
        } else if year <= 0 {
            return Err(Bad::Field);
        }
        if let Some(day_of_year) = self.day_of_year {
            return Ok(Some(calendar::day_of(year, 1, 1) + day_of_year - 1));
        }
        let (Some(month), Some(day)) = (self.month, self.day) else { return Err(Bad::Format) };
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(Bad::MonthOrDay);
        }
        if day > calendar::days_in_month(year, month) {
            return Err(Bad::Field);
        }
        Ok(Some(calendar::day_of(year, month, day)))
    }

    /// Microseconds since midnight.
    fn micros(&self) -> Parsed<i64> {
        let Some((mut hour, minute, second, micros)) = self.time else { return Ok(0) };
        if let Some(afternoon) = self.afternoon {
            if !(0..=12).contains(&hour) {
                return Err(Bad::Field);
            }
            hour = hour % 12 + if afternoon { 12 } else { 0 };
        }
        let total = hour * HOUR_MICROS + minute * MINUTE_MICROS + second * SECOND_MICROS + micros;
        if minute > 59 || second > 60 || total > DAY_MICROS {
            return Err(Bad::Field);
        }
        Ok(total)
    }
}

/// Hours, minutes, seconds and microseconds.
fn clock(text: &str) -> Parsed<(i64, i64, i64, i64)> {
    let mut parts = text.split(':');
    let hour = int(parts.next().unwrap_or(""))?;
    let second_part = parts.next().ok_or(Bad::Format)?;
    let third = parts.next();
    if parts.next().is_some() {
        return Err(Bad::Format);
    }
    let seconds = |text: &str| {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        Ok((int(whole)?, fraction_micros(fraction).ok_or(Bad::Format)?))
    };
    let (hour, minute, (second, micros)) = match third {
        Some(third) => (hour, int(second_part)?, seconds(third)?),
        // minutes and seconds
        None if second_part.contains('.') => (0, hour, seconds(second_part)?),
        None => (hour, int(second_part)?, (0, 0)),
    };
    if minute > 59 || second > 60 {
        return Err(Bad::Field);
    }
    Ok((hour, minute, second, micros))
}

/// `+02`, `-0330`, `+05:30:15`, in seconds east.
pub(crate) fn parse_offset(text: &str) -> Parsed<i32> {
    let (sign, body) = match text.as_bytes() {
        [b'+', ..] => (1, &text[1..]),
        [b'-', ..] => (-1, &text[1..]),
        _ => return Err(Bad::Format),
    };
    let mut parts = body.split(':');
    let first = parts.next().unwrap_or("");
    let mut hours = int(first)?;
    let mut minutes = 0;
    let mut seconds = 0;
    match (parts.next(), parts.next(), parts.next()) {
        (None, ..) => {
            if first.len() > 4 {
                seconds = hours % 100;
                hours /= 100;
            }
            if first.len() > 2 {
                minutes = hours % 100;
                hours /= 100;
            }
        }
        (Some(m), s, None) => {
            minutes = int(m)?;
            seconds = s.map_or(Ok(0), int)?;
        }
        _ => return Err(Bad::Format),
    }
    let total = hours * 3_600 + minutes * 60 + seconds;
    match i32::try_from(total) {
        Ok(total) if minutes < 60 && seconds < 60 && zone::is_offset(total) => Ok(sign * total),
        _ => Err(Bad::Offset),
    }
}

/// The zone of an abbreviation or a name.
pub(crate) fn named_zone(name: &str) -> Option<Zone> {
    Zone::abbreviated(name).or_else(|| Zone::named(name))
}

/// `YYYY-MM-DD`, and what follows it: the form that nearly all texts have.
fn iso_date(text: &str) -> Option<(i64, &str)> {
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
fn iso_time(text: &str) -> Option<(i64, &str)> {
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
fn iso_timestamp(text: &str) -> Option<(i64, &str)> {
    let (day, rest) = iso_date(text)?;
    if rest.is_empty() {
        return Some((day * DAY_MICROS, rest));
    }
    let (time, rest) = iso_time(rest.strip_prefix([' ', 'T'])?)?;
    Some((day * DAY_MICROS + time, rest))
}

fn found(text: &str, env: &Env, type_name: &str) -> Result<Found> {
    let fields = split(text, is_keyword).filter(|fields| !fields.is_empty());
    let found = fields.ok_or(Bad::Format).and_then(|fields| Found::read(&fields, env));
    found.map_err(|bad| error(bad, text, type_name))
}

#[cold]
fn out_of_range(what: &str, text: &str) -> SqlError {
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("{what} out of range: \"{text}\""))
}

/// Reads a date.
pub(crate) fn parse_date(text: &str, env: &Env) -> Result<Value> {
    const NAME: &str = "date";
    if let Some((day, "")) = iso_date(text) {
        return Ok(Value::Date(day as i32));
    }
    let found = found(text, env, NAME)?;
    let bad = |bad| error(bad, text, NAME);
    let day = match found.special {
        Some(Special::Infinity) => return Ok(Value::Date(calendar::DATE_INFINITY)),
        Some(Special::NegInfinity) => return Ok(Value::Date(calendar::DATE_NEG_INFINITY)),
        Some(Special::Epoch) => -calendar::UNIX_EPOCH_DAYS,
        Some(Special::Now) => calendar::split(env.zone.to_local(env.transaction_time).unwrap_or(0)).0,
        None => {
            found.micros().map_err(bad)?;
            found.day().map_err(bad)?.ok_or_else(|| bad(Bad::Format))?
        }
    };
    if !calendar::is_day(day) {
        return Err(out_of_range("date", text));
    }
    Ok(Value::Date(day as i32))
}

/// Reads a time; a date or an offset beside it does not matter.
pub(crate) fn parse_time(text: &str, ty: Type, env: &Env) -> Result<Value> {
    const NAME: &str = "time";
    if let Some((micros, "")) = iso_time(text) {
        return Ok(Value::Time(round_micros(micros, ty)));
    }
    let bad = |bad| error(bad, text, NAME);
    let fields =
        split(text, is_keyword).filter(|fields| !fields.is_empty()).ok_or_else(|| bad(Bad::Format))?;
    let found = match &fields[..] {
        // without a date, digits are a time
        [Field::Number(digits), rest @ ..]
            if matches!(digits.split('.').next().map_or(0, str::len), 4 | 6) =>
        {
            let mut found = Found::read(rest, env).map_err(bad)?;
            found.julian = Some(0);
            found.run_together(digits).map_err(bad)?;
            found
        }
        fields => Found::read(fields, env).map_err(bad)?,
    };
    let micros = match found.special {
        Some(Special::Now) => calendar::split(env.zone.to_local(env.transaction_time).unwrap_or(0)).1,
        Some(_) => return Err(bad(Bad::Format)),
        None if found.time.is_none() => return Err(bad(Bad::Format)),
        None => found.micros().map_err(bad)?,
    };
    if matches!(found.place, Some(Where::Zone(ref zone)) if zone.is_named()) && !found.has_date() {
        return Err(bad(Bad::Format));
    }
    Ok(Value::Time(round_micros(micros, ty)))
}

/// Local microseconds and the place of a text; or what is the same everywhere.
enum Instant {
    Fixed(i64),
    Local(i64, Option<Where>),
}

fn instant(text: &str, env: &Env, type_name: &str) -> Result<Instant> {
    let found = found(text, env, type_name)?;
    let bad = |bad| error(bad, text, type_name);
    Ok(match found.special {
        Some(Special::Infinity) => Instant::Fixed(calendar::TIMESTAMP_INFINITY),
        Some(Special::NegInfinity) => Instant::Fixed(calendar::TIMESTAMP_NEG_INFINITY),
        Some(Special::Epoch) => Instant::Fixed(-calendar::UNIX_EPOCH_DAYS * DAY_MICROS),
        Some(Special::Now) => Instant::Fixed(env.transaction_time),
        None => {
            let day = found.day().map_err(bad)?.ok_or_else(|| bad(Bad::Format))?;
            let micros = found.micros().map_err(bad)?;
            let local = day.checked_mul(DAY_MICROS).and_then(|day| day.checked_add(micros));
            let local =
                local.filter(|_| calendar::is_day(day)).ok_or_else(|| out_of_range("timestamp", text))?;
            Instant::Local(local, found.place)
        }
    })
}

fn checked(micros: i64, ty: Type, text: &str) -> Result<i64> {
    let rounded = round_micros(micros, ty);
    if calendar::is_timestamp(rounded) { Ok(rounded) } else { Err(out_of_range("timestamp", text)) }
}

/// Reads a timestamp; an offset behind it does not matter.
pub(crate) fn parse_timestamp(text: &str, ty: Type, env: &Env) -> Result<Value> {
    if let Some((micros, "")) = iso_timestamp(text) {
        return Ok(Value::Timestamp(round_micros(micros, ty)));
    }
    Ok(Value::Timestamp(match instant(text, env, "timestamp")? {
        Instant::Fixed(v) if calendar::is_infinite(v) => v,
        Instant::Fixed(v) if v == env.transaction_time => round_micros(env.zone.to_local(v).unwrap_or(v), ty),
        Instant::Fixed(v) => v,
        Instant::Local(v, _) => checked(v, ty, text)?,
    }))
}

/// Reads a timestamptz; without an offset it is a time of the session's zone.
pub(crate) fn parse_timestamptz(text: &str, ty: Type, env: &Env) -> Result<Value> {
    const NAME: &str = "timestamp with time zone";
    let (local, place) = match iso_timestamp(text) {
        Some((local, "")) => (local, None),
        Some((local, "Z" | "+00" | "+00:00")) => (local, Some(Where::Offset(0))),
        _ => match instant(text, env, NAME)? {
            Instant::Fixed(v) if calendar::is_infinite(v) => return Ok(Value::Timestamptz(v)),
            Instant::Fixed(v) => return Ok(Value::Timestamptz(round_micros(v, ty))),
            Instant::Local(local, place) => (local, place),
        },
    };
    let utc = match place {
        None => env.zone.to_utc(local),
        Some(Where::Offset(east)) => local.checked_sub(i64::from(east) * SECOND_MICROS),
        Some(Where::Zone(zone)) => zone.to_utc(local),
    };
    let utc = utc.ok_or_else(|| out_of_range("timestamp", text))?;
    Ok(Value::Timestamptz(checked(utc, ty, text)?))
}
