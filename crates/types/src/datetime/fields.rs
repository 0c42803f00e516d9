//! What the fields of a text say together: numbers, words, clocks and zones, by PostgreSQL's rules of what a number
//! means where.

use super::bad::{Bad, Parsed};
use super::token::{Field, fraction_micros};
use super::zone_text::{named_zone, parse_offset, punctuated_zone};
use crate::calendar::{self, DAY_MICROS, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS};
use crate::env::{DateOrder, Env};
use crate::zone::Zone;

pub(super) const MONTHS: [&str; 12] = [
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
pub(super) fn month_of(word: &str) -> Option<i64> {
    let at = MONTHS.iter().position(|month| *month == word || month[..3] == *word);
    at.or((word == "sept").then_some(8)).map(|at| at as i64 + 1)
}

pub(super) fn is_weekday(word: &str) -> bool {
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
pub(super) fn is_keyword(word: &str) -> bool {
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
pub(super) enum Where {
    /// Seconds east of UTC.
    Offset(i32),
    Zone(Zone),
}

/// What was found in a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) year: Option<i64>,
    pub(super) month: Option<i64>,
    pub(super) day: Option<i64>,
    pub(super) day_of_year: Option<i64>,
    pub(super) julian: Option<i64>,
    /// The year has one or two digits.
    pub(super) short_year: bool,
    pub(super) text_month: bool,
    pub(super) before_christ: bool,
    /// Some(true) is PM.
    pub(super) afternoon: Option<bool>,
    /// Hours, minutes, seconds, microseconds.
    pub(super) time: Option<(i64, i64, i64, i64)>,
    pub(super) place: Option<Where>,
    pub(super) special: Option<Special>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    Epoch,
    Infinity,
    NegInfinity,
    Now,
}

pub(super) fn int(text: &str) -> Parsed<i64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Bad::Format);
    }
    match text.parse::<i64>() {
        Ok(v) if v <= i32::MAX.into() => Ok(v),
        _ => Err(Bad::Field),
    }
}

impl Found {
    pub(super) fn has_date(&self) -> bool {
        self.julian.is_some()
            || (self.year.is_some() && self.day_of_year.is_some())
            || (self.year.is_some() && self.month.is_some() && self.day.is_some())
    }

    /// A number that stands alone: what it means depends on what is known already.
    pub(super) fn number(&mut self, text: &str, order: DateOrder) -> Parsed<()> {
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
    pub(super) fn run_together(&mut self, text: &str) -> Parsed<()> {
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
    pub(super) fn date(&mut self, text: &str, order: DateOrder) -> Parsed<()> {
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
    pub(super) fn clock(&mut self, text: &str) -> Parsed<()> {
        if self.time.is_some() {
            return Err(Bad::Format);
        }
        self.time = Some(clock(text)?);
        Ok(())
    }

    pub(super) fn offset(&mut self, text: &str) -> Parsed<()> {
        if self.place.is_some() {
            return Err(Bad::Format);
        }
        self.place = Some(Where::Offset(parse_offset(text)?));
        Ok(())
    }

    pub(super) fn zone(&mut self, name: &str) -> Parsed<()> {
        if self.place.is_some() {
            return Err(Bad::Format);
        }
        self.place = Some(Where::Zone(named_zone(name).ok_or(Bad::Format)?));
        Ok(())
    }

    /// A zone that is no single word.
    pub(super) fn punctuated_zone(&mut self, name: &str) -> Parsed<()> {
        if self.place.is_some() {
            return Err(Bad::Format);
        }
        self.place = Some(Where::Zone(punctuated_zone(name).ok_or(Bad::Zone)?));
        Ok(())
    }

    fn has_part_of_date(&self) -> bool {
        self.julian.is_some() || self.year.is_some() || self.month.is_some() || self.day.is_some()
    }

    /// Whether there is a word for a certain time already.
    fn is_reserved(&self) -> bool {
        self.special.is_some_and(|special| special != Special::Now)
    }

    /// A word for a certain time, of which there may be one.
    fn reserved(&mut self, special: Special) -> Parsed<()> {
        if self.is_reserved() {
            return Err(Bad::Format);
        }
        self.special = Some(special);
        Ok(())
    }

    pub(super) fn word(&mut self, word: &str, next: Option<&Field>, env: &Env) -> Parsed<()> {
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
            "t" if matches!(next, Some(Field::Time(_) | Field::Number(_) | Field::Date(_))) => {}
            "now" => self.special = Some(Special::Now),
            "epoch" => self.reserved(Special::Epoch)?,
            "infinity" => self.reserved(Special::Infinity)?,
            "today" | "tomorrow" | "yesterday" => {
                if self.has_part_of_date() {
                    return Err(Bad::Format);
                }
                // the last word counts
                self.special = self.special.filter(|special| *special == Special::Now);
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

    pub(super) fn read(fields: &[Field], env: &Env) -> Parsed<Self> {
        let mut found = Self::default();
        let order = env.date_order;
        let mut at = 0;
        while let Some(field) = fields.get(at) {
            at += 1;
            match field {
                Field::Date(_) if found.is_reserved() => return Err(Bad::Format),
                Field::Date(text) if found.has_date() || (found.month.is_some() && found.day.is_some()) => {
                    // a date is known already: this is a zone, or time and offset run together
                    match text.split_once('-') {
                        Some((time, offset)) if text.as_bytes()[0].is_ascii_digit() => {
                            found.run_together(time)?;
                            found.offset(&format!("-{offset}"))?;
                        }
                        _ if text.as_bytes()[0].is_ascii_digit() => return Err(Bad::Format),
                        _ => found.punctuated_zone(text)?,
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
                    "-infinity" => found.reserved(Special::NegInfinity)?,
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
        // `now` is a date, a time and a zone
        let more = found.has_part_of_date() || found.time.is_some() || found.place.is_some();
        if found.special == Some(Special::Now) && more {
            return Err(Bad::Format);
        }
        Ok(found)
    }

    /// The day, if there is a date.
    pub(super) fn day(&self) -> Parsed<Option<i64>> {
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
    pub(super) fn micros(&self) -> Parsed<i64> {
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
pub(super) fn clock(text: &str) -> Parsed<(i64, i64, i64, i64)> {
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
