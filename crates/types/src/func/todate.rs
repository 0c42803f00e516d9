//! `to_date` and `to_timestamp` with a template.

use super::Registry;
use super::args::{Date, Timestamptz, code};
use super::tochar::{DAYS, MONTHS, Node, ROMAN, template};
use crate::calendar::{self, DAY_MICROS, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS};
use crate::cast::timestamp_to_timestamptz;
use crate::env::Env;
use crate::error::{Result, SqlError, SqlState};

/// What was read.
#[derive(Default)]
struct Read {
    year: Option<i64>,
    century: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    julian: Option<i64>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
    iso_day: Option<i64>,
    week: Option<i64>,
    week_of_month: Option<i64>,
    hour: Option<i64>,
    half_day: bool,
    afternoon: Option<bool>,
    minute: i64,
    second: i64,
    micros: i64,
    seconds_of_day: Option<i64>,
    before_christ: bool,
    east: Option<i64>,
    west: bool,
}

fn invalid(text: &str, key: &str, detail: &str) -> SqlError {
    let message = format!("invalid value \"{text}\" for \"{key}\"");
    SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message).detail(detail)
}

fn out_of_range(text: &str) -> SqlError {
    let message = format!("date/time field value out of range: \"{text}\"");
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
}

/// Digits that a field has when another follows it at once.
fn width(key: &str) -> usize {
    match key {
        "YYYY" | "IYYY" => 4,
        "YYY" | "IYY" | "DDD" | "IDDD" | "MS" | "FF3" => 3,
        "Y" | "I" | "D" | "ID" | "W" | "Q" | "FF1" => 1,
        "US" | "FF6" => 6,
        "FF4" => 4,
        "FF5" | "SSSS" | "SSSSS" => 5,
        "J" => 7,
        _ => 2,
    }
}

/// Whether a field is read as digits.
fn is_number(key: &str) -> bool {
    !matches!(
        key,
        "MONTH"
            | "Month"
            | "MON"
            | "Mon"
            | "DAY"
            | "Day"
            | "DY"
            | "Dy"
            | "AM"
            | "PM"
            | "A.M."
            | "P.M."
            | "AD"
            | "BC"
            | "A.D."
            | "B.C."
            | "RM"
            | "TZ"
            | "OF"
    )
}

/// Takes a word from a list, in any case.
fn one_of(rest: &mut &str, words: impl Iterator<Item = &'static str>) -> Option<usize> {
    // the longest that fits
    let hit = words
        .enumerate()
        .filter(|(_, word)| rest.get(..word.len()).is_some_and(|text| text.eq_ignore_ascii_case(word)))
        .max_by_key(|(_, word)| word.len())?;
    *rest = &rest[hit.1.len()..];
    Some(hit.0)
}

fn first_word(rest: &str) -> &str {
    rest.split(|c: char| c.is_whitespace()).next().unwrap_or("")
}

/// The year that a short one means: the nearest to 2020.
fn full_year(v: i64, digits: usize) -> i64 {
    match v {
        _ if digits >= 4 => v,
        0..70 => v + 2_000,
        70..100 => v + 1_900,
        100..520 => v + 2_000,
        520..1_000 => v + 1_000,
        _ => v,
    }
}

impl Read {
    fn number(&mut self, key: &'static str, digits: &str, v: i64) {
        match key {
            "YYYY" | "Y,YYY" => self.year = Some(v),
            "YYY" | "YY" | "Y" => self.year = Some(full_year(v, digits.len())),
            "IYYY" => self.iso_year = Some(v),
            "IYY" | "IY" | "I" => self.iso_year = Some(full_year(v, digits.len())),
            "CC" => self.century = Some(v),
            "MM" => self.month = Some(v),
            "DD" => self.day = Some(v),
            "DDD" => self.day_of_year = Some(v),
            "IDDD" if v > 0 => (self.iso_week, self.iso_day) = (Some((v - 1) / 7 + 1), Some((v - 1) % 7 + 1)),
            "IW" => self.iso_week = Some(v),
            "ID" => self.iso_day = Some(v),
            "WW" => self.week = Some(v),
            "W" => self.week_of_month = Some(v),
            "J" => self.julian = Some(v),
            "HH" | "HH12" => (self.hour, self.half_day) = (Some(v), true),
            "HH24" => self.hour = Some(v),
            "MI" => self.minute = v,
            "SS" => self.second = v,
            "SSSS" | "SSSSS" => self.seconds_of_day = Some(v),
            "MS" | "US" | "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => {
                // a fraction: 5 milliseconds of 3 digits are 5, of 1 digit 500
                let shown = digits.len().min(6) as u32;
                self.micros += v * 10_i64.pow(6 - shown);
            }
            "TZH" => self.east = Some(self.east.unwrap_or(0) + v * 3_600),
            "TZM" => self.east = Some(self.east.unwrap_or(0) + v * 60),
            // a day of the week, and a quarter, say nothing
            _ => {}
        }
    }

    fn take(&mut self, key: &'static str, rest: &mut &str, next_is_digit: bool) -> Result<()> {
        if !is_number(key) {
            return self.take_word(key, rest);
        }
        if key == "TZH" {
            self.west = rest.starts_with('-');
            *rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        }
        let fraction = key == "MS" || key == "US" || key.starts_with("FF");
        let limit = if next_is_digit || fraction { width(key) } else { usize::MAX };
        let grouped = key == "Y,YYY";
        let len =
            rest.bytes().take(limit).take_while(|b| b.is_ascii_digit() || (grouped && *b == b',')).count();
        let digits = rest[..len].replace(',', "");
        if digits.is_empty() {
            if rest.is_empty() {
                return Ok(());
            }
            let shown: String = rest.chars().take(width(key).min(10)).collect();
            return Err(invalid(&shown, key, "Value must be an integer."));
        }
        let v: i64 = digits.parse().map_err(|_| out_of_range(&digits))?;
        if v > i32::MAX.into() {
            return Err(SqlError::new(
                SqlState::DATETIME_FIELD_OVERFLOW,
                format!("value for \"{key}\" in source string is out of range"),
            ));
        }
        *rest = &rest[len..];
        self.number(key, &digits, v);
        Ok(())
    }

    fn take_word(&mut self, key: &'static str, rest: &mut &str) -> Result<()> {
        let detail = "The given value did not match any of the allowed values for this field.";
        let bad = |rest: &str| invalid(first_word(rest), key, detail);
        match key {
            "MONTH" | "Month" => {
                self.month = Some(one_of(rest, MONTHS.into_iter()).ok_or_else(|| bad(rest))? as i64 + 1)
            }
            "MON" | "Mon" => {
                self.month = Some(
                    one_of(rest, MONTHS.into_iter().map(|m| &m[..3])).ok_or_else(|| bad(rest))? as i64 + 1,
                );
            }
            "RM" => self.month = Some(one_of(rest, ROMAN.into_iter()).ok_or_else(|| bad(rest))? as i64 + 1),
            "DAY" | "Day" => {
                one_of(rest, DAYS.into_iter()).ok_or_else(|| bad(rest))?;
            }
            "DY" | "Dy" => {
                one_of(rest, DAYS.into_iter().map(|d| &d[..3])).ok_or_else(|| bad(rest))?;
            }
            "AM" | "PM" | "A.M." | "P.M." => {
                let at = one_of(rest, ["am", "pm", "a.m.", "p.m."].into_iter()).ok_or_else(|| bad(rest))?;
                self.afternoon = Some(at % 2 == 1);
                self.half_day = true;
            }
            "AD" | "BC" | "A.D." | "B.C." => {
                let at = one_of(rest, ["ad", "bc", "a.d.", "b.c."].into_iter()).ok_or_else(|| bad(rest))?;
                self.before_christ = at % 2 == 1;
            }
            _ => {
                let message = format!("formatting field \"{key}\" is only supported in to_char");
                return Err(SqlError::unsupported(message));
            }
        }
        Ok(())
    }

    fn day(&self, text: &str) -> Result<i64> {
        // what is 0 counts as not given
        let given = |field: Option<i64>| field.filter(|value| *value != 0);
        if let Some(julian) = given(self.julian) {
            return Ok(julian - calendar::POSTGRES_EPOCH_JULIAN);
        }
        if let Some(week) = given(self.iso_week) {
            let year = self.iso_year.or(self.year).unwrap_or(1);
            // the first week has the fourth of January
            let fourth = calendar::day_of(year, 1, 4);
            // Sunday is the day that is none of the others
            let day = self.iso_day.map_or(1, |day| if (1..=6).contains(&day) { day } else { 7 });
            return Ok(fourth - calendar::iso_weekday(fourth) + (week - 1) * 7 + day);
        }
        let century = given(self.century).map(|century| (century - 1) * 100 + 1);
        // without a year it is 1 BC
        let mut year = self.year.or(self.iso_year).or(century).unwrap_or(0);
        if self.before_christ {
            year = 1 - year;
        }
        let first_of = |week: i64| (week - 1) * 7 + 1;
        let mut day = given(self.week_of_month).map(first_of).or(given(self.day)).unwrap_or(1);
        let mut month = given(self.month).unwrap_or(1);
        let of_year = given(self.week).map(first_of).or(given(self.day_of_year));
        if let Some(of_year) = of_year.filter(|_| month <= 1 || day <= 1) {
            if year == 0 && !self.before_christ {
                let message = "cannot calculate day of year without year information";
                return Err(SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message));
            }
            let (mut of_month, mut left) = (1, of_year);
            while of_month <= 12 && left > calendar::days_in_month(year, of_month) {
                left -= calendar::days_in_month(year, of_month);
                of_month += 1;
            }
            (month, day) = (if month <= 1 { of_month } else { month }, if day <= 1 { left } else { day });
        }
        if !(1..=12).contains(&month) || day < 1 || day > calendar::days_in_month(year, month) {
            return Err(out_of_range(text));
        }
        Ok(calendar::day_of(year, month, day))
    }

    fn time(&self, text: &str) -> Result<i64> {
        let (mut hour, mut minute, mut second) = (self.hour.unwrap_or(0), self.minute, self.second);
        if self.half_day && self.hour.is_some() {
            if !(1..=12).contains(&hour) {
                let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
                return Err(SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message)
                    .hint("Use the 24-hour clock, or give an hour between 1 and 12."));
            }
            hour = hour % 12 + if self.afternoon == Some(true) { 12 } else { 0 };
        }
        if let Some(seconds) = self.seconds_of_day {
            (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        }
        if !(0..=23).contains(&hour) || minute > 59 || second > 59 {
            return Err(out_of_range(text));
        }
        Ok(hour * HOUR_MICROS + minute * MINUTE_MICROS + second * SECOND_MICROS + self.micros)
    }
}

fn read(text: &str, pattern: &str) -> Result<Read> {
    let nodes = template(pattern);
    let mut found = Read::default();
    let mut rest = text.trim_start();
    for (at, node) in nodes.iter().enumerate() {
        match node {
            Node::Field { key, ordinal, .. } => {
                rest = rest.trim_start();
                let digit_follows =
                    matches!(nodes.get(at + 1), Some(Node::Field { key, .. }) if is_number(key));
                found.take(key, &mut rest, digit_follows)?;
                if ordinal.is_some() {
                    rest = rest.get(2..).unwrap_or("");
                }
            }
            // a separator stands for any other
            Node::Char(c) if !c.is_alphanumeric() => {
                let before = rest;
                rest = rest.trim_start();
                let separator = rest.chars().next().filter(|c| !c.is_alphanumeric());
                let sign_of_zone = matches!(nodes.get(at + 1), Some(Node::Field { key: "TZH", .. }));
                if let Some(separator) = separator
                    && (before.len() == rest.len() || !c.is_whitespace())
                    && !sign_of_zone
                {
                    rest = &rest[separator.len_utf8()..];
                }
            }
            Node::Char(_) => {
                let mut chars = rest.chars();
                chars.next();
                rest = chars.as_str();
            }
        }
    }
    Ok(found)
}

fn to_date(text: &str, pattern: &str) -> Result<Date> {
    let day = read(text, pattern)?.day(text)?;
    if calendar::is_day(day) { Ok(Date(day as i32)) } else { Err(out_of_range(text)) }
}

fn to_timestamp(text: &str, pattern: &str, env: &Env) -> Result<Timestamptz> {
    let found = read(text, pattern)?;
    let time = found.time(text)?;
    let micros = found.day(text)?.checked_mul(DAY_MICROS).and_then(|day| day.checked_add(time));
    let local = micros.ok_or_else(|| out_of_range(text))?;
    let utc = match found.east {
        Some(east) => {
            let east = if found.west { -east } else { east };
            local.checked_sub(east.saturating_mul(SECOND_MICROS)).ok_or_else(|| out_of_range(text))?
        }
        None => timestamp_to_timestamptz(local, env)?,
    };
    if !calendar::is_timestamp(utc) {
        return Err(out_of_range(text));
    }
    Ok(Timestamptz(utc))
}

pub(super) fn register(r: &mut Registry) {
    r.stable("to_date(text,text) date", code!(|text: &str, pattern: &str| to_date(text, pattern)));
    r.stable(
        "to_timestamp(text,text) timestamptz",
        code!(|c; text: &str, pattern: &str| to_timestamp(text, pattern, c.env)),
    );
}
