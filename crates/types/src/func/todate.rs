//! `to_date` and `to_timestamp` with a template: field by field as PostgreSQL's `DCH_from_char` reads them, and put
//! together as its `do_to_timestamp` does.

use super::Registry;
use super::args::{Date, Timestamptz, code};
use super::jsonpath::Datetime;
use super::tochar::{DAYS, MONTHS, Node, ROMAN, template};
use crate::binary::round_micros;
use crate::calendar::{self, DAY_MICROS, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS};
use crate::cast::{timestamp_out_of_range, timestamp_to_timestamptz};
use crate::datetime::{Bad, error};
use crate::env::Env;
use crate::error::{Result, SqlError, SqlState};
use crate::timetz::Timetz;
use crate::ty::Type;

/// The calendar that fields belong to, which must be the same for all that have one.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Gregorian,
    IsoWeek,
}

/// What was read. What is zero was not given.
#[derive(Default)]
struct Read {
    mode: Option<Mode>,
    year: i64,
    /// Digits of the year's field.
    year_width: usize,
    century: i64,
    before_christ: i64,
    month: i64,
    day: i64,
    day_of_year: i64,
    /// Of the week, Sunday is 1.
    weekday: i64,
    week: i64,
    week_of_month: i64,
    julian: i64,
    hour: i64,
    /// Hours are those of a 12-hour clock.
    half_day: bool,
    afternoon: i64,
    minute: i64,
    second: i64,
    seconds_of_day: i64,
    millis: i64,
    micros: i64,
    /// Digits of a second that are kept, if a field says so.
    precision: Option<i64>,
    /// The sign of the zone, which is given if this is not zero.
    zone_sign: i64,
    zone_hours: i64,
    zone_minutes: i64,
}

fn format_error(message: String) -> SqlError {
    SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message)
}

fn invalid(text: &str, key: &str, detail: &str) -> SqlError {
    format_error(format!("invalid value \"{text}\" for \"{key}\"")).detail(detail)
}

/// Whether a field is digits, so that the one before it cannot take all there are.
fn is_digits(key: &str) -> bool {
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
            | "TZH"
            | "OF"
            | "FX"
    )
}

fn mode_of(key: &str) -> Option<Mode> {
    Some(match key {
        "IYYY" | "IYY" | "IY" | "I" | "IDDD" | "ID" | "IW" => Mode::IsoWeek,
        "Y,YYY" | "YYYY" | "YYY" | "YY" | "Y" | "MM" | "MONTH" | "Month" | "MON" | "Mon" | "RM" | "DDD"
        | "DD" | "D" | "WW" | "W" => Mode::Gregorian,
        _ => return None,
    })
}

/// Takes a word from a list, in any case: of several the longest.
fn one_of(rest: &mut &str, words: &[&str]) -> Option<i64> {
    let fits = |word: &&str| rest.get(..word.len()).is_some_and(|text| text.eq_ignore_ascii_case(word));
    let (at, word) =
        words.iter().enumerate().filter(|(_, word)| fits(word)).max_by_key(|(_, word)| word.len())?;
    *rest = &rest[word.len()..];
    Some(at as i64)
}

/// The year that a short one means: the nearest to 2020.
fn full_year(v: i64) -> i64 {
    match v {
        ..70 => v + 2_000,
        70..100 => v + 1_900,
        100..520 => v + 2_000,
        520..1_000 => v + 1_000,
        _ => v,
    }
}

/// Sets a field, which must not have another value.
fn set(field: &mut i64, v: i64, key: &str) -> Result<()> {
    if *field != 0 && *field != v {
        let message = format!("conflicting values for \"{key}\" field in formatting string");
        let detail = "This value contradicts a previous setting for the same field type.";
        return Err(format_error(message).detail(detail));
    }
    *field = v;
    Ok(())
}

/// A number with a sign at the start of a text, and how many bytes it has; None if there is none.
fn leading_int(text: &str) -> Option<(Option<i64>, usize)> {
    let blank = text.len() - text.trim_start_matches(|c: char| c.is_ascii_whitespace()).len();
    let body = &text[blank..];
    let sign = usize::from(body.starts_with(['+', '-']));
    let digits = body[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let end = sign + digits;
    (digits > 0).then(|| (body[..end].trim_start_matches('+').parse().ok(), blank + end))
}

/// A field of a template where it is read.
struct Cursor<'a> {
    key: &'static str,
    /// What follows is no digit, so that all digits there are belong to it.
    open: bool,
    rest: &'a str,
}

impl Cursor<'_> {
    /// Reads an integer of so many characters, or of any number of them; the number of bytes that it has.
    fn int(&mut self, width: usize) -> Result<(i64, usize)> {
        let key = self.key;
        self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        // whole characters only
        let end =
            (0..=width.min(self.rest.len())).rev().find(|at| self.rest.is_char_boundary(*at)).unwrap_or(0);
        let copy = &self.rest[..end];
        let hint = "If your source string is not fixed-width, try using the \"FM\" modifier.";
        let found = if self.open {
            leading_int(self.rest)
        } else {
            if self.rest.len() < width {
                let detail = format!("Field requires {width} characters, but only {} remain.", copy.len());
                let message = format!("source string too short for \"{key}\" formatting field");
                return Err(format_error(message).detail(detail).hint(hint));
            }
            let found = leading_int(copy);
            if let Some((_, used)) = found
                && used < width
            {
                let detail = format!("Field requires {width} characters, but only {used} could be parsed.");
                return Err(invalid(copy, key, &detail).hint(hint));
            }
            found
        };
        let Some((v, used)) = found else { return Err(invalid(copy, key, "Value must be an integer.")) };
        let Some(v) = v.filter(|v| i32::try_from(*v).is_ok()) else {
            let message = format!("value for \"{key}\" in source string is out of range");
            let detail = format!("Value must be in the range {} to {}.", i32::MIN, i32::MAX);
            return Err(SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, message).detail(detail));
        };
        self.rest = &self.rest[used..];
        Ok((v, used))
    }

    fn word(&mut self, words: &[&str]) -> Result<i64> {
        one_of(&mut self.rest, words).ok_or_else(|| {
            let first = self.rest.split(|c: char| c.is_ascii_whitespace()).next().unwrap_or("");
            let detail = "The given value did not match any of the allowed values for this field.";
            invalid(first, self.key, detail)
        })
    }
}

impl Read {
    /// Reads a field. `minus` if a minus was skipped before it that the template does not account for.
    fn take(&mut self, at: &mut Cursor<'_>, minus: bool) -> Result<()> {
        let key = at.key;
        if let Some(mode) = mode_of(key)
            && *self.mode.get_or_insert(mode) != mode
        {
            let hint = "Do not mix Gregorian and ISO week date conventions in a formatting template.";
            return Err(format_error("invalid combination of date conventions".to_owned()).hint(hint));
        }
        let width = key.len();
        match key {
            "HH" | "HH12" => {
                set(&mut self.hour, at.int(2)?.0, key)?;
                self.half_day = true;
            }
            "HH24" => set(&mut self.hour, at.int(2)?.0, key)?,
            "MI" => set(&mut self.minute, at.int(width)?.0, key)?,
            "SS" => set(&mut self.second, at.int(width)?.0, key)?,
            "SSSS" | "SSSSS" => set(&mut self.seconds_of_day, at.int(width)?.0, key)?,
            "MS" => {
                let (v, used) = at.int(3)?;
                set(&mut self.millis, v, key)?;
                // 25 is 0.25, and 025 is 0.025
                self.millis *= 10_i64.pow(3_u32.saturating_sub(used as u32));
            }
            "US" | "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => {
                let digits = key.strip_prefix("FF").and_then(|digits| digits.parse().ok());
                if digits.is_some() {
                    self.precision = digits;
                }
                let (v, used) = at.int(digits.unwrap_or(6) as usize)?;
                set(&mut self.micros, v, key)?;
                self.micros *= 10_i64.pow(6_u32.saturating_sub(used as u32));
            }
            "TZH" => {
                self.zone_sign = match at.rest.as_bytes().first() {
                    Some(b'-') => -1,
                    Some(b'+' | b' ') => 1,
                    _ if minus => -1,
                    _ => 1,
                };
                at.rest = at.rest.strip_prefix(['+', '-', ' ']).unwrap_or(at.rest);
                set(&mut self.zone_hours, at.int(2)?.0, key)?;
            }
            "TZM" => {
                if self.zone_sign == 0 {
                    self.zone_sign = 1;
                }
                set(&mut self.zone_minutes, at.int(2)?.0, key)?;
            }
            "MM" => set(&mut self.month, at.int(width)?.0, key)?,
            "DD" => set(&mut self.day, at.int(width)?.0, key)?,
            "DDD" | "IDDD" => set(&mut self.day_of_year, at.int(3)?.0, key)?,
            "D" => set(&mut self.weekday, at.int(1)?.0, key)?,
            "ID" => {
                let (v, _) = at.int(1)?;
                set(&mut self.weekday, v, key)?;
                self.weekday = if v + 1 > 7 { 1 } else { v + 1 };
            }
            "WW" | "IW" => set(&mut self.week, at.int(width)?.0, key)?,
            "W" => set(&mut self.week_of_month, at.int(width)?.0, key)?,
            "CC" => set(&mut self.century, at.int(width)?.0, key)?,
            "J" => set(&mut self.julian, at.int(width)?.0, key)?,
            // a quarter has no day
            "Q" => {
                at.int(width)?;
            }
            "Y,YYY" => self.take_grouped_year(at)?,
            "YYYY" | "IYYY" => {
                set(&mut self.year, at.int(width)?.0, key)?;
                self.year_width = 4;
            }
            "YYY" | "IYY" | "YY" | "IY" | "Y" | "I" => {
                let (v, used) = at.int(width)?;
                set(&mut self.year, v, key)?;
                if used < 4 {
                    self.year = full_year(v);
                }
                self.year_width = width;
            }
            _ => return self.take_word(at),
        }
        Ok(())
    }

    /// `2,024`
    fn take_grouped_year(&mut self, at: &mut Cursor<'_>) -> Result<()> {
        let bad = || format_error("invalid input string for \"Y,YYY\"".to_owned());
        let (thousands, used) = leading_int(at.rest).ok_or_else(bad)?;
        let behind = at.rest[used..].strip_prefix(',').ok_or_else(bad)?;
        let behind = behind.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let end = (0..=behind.len().min(3)).rev().find(|at| behind.is_char_boundary(*at)).unwrap_or(0);
        let (years, used) = leading_int(&behind[..end]).ok_or_else(bad)?;
        let year = thousands.and_then(|v| v.checked_mul(1_000)?.checked_add(years?));
        let year = year.filter(|v| i32::try_from(*v).is_ok()).ok_or_else(bad)?;
        set(&mut self.year, year, at.key)?;
        self.year_width = 4;
        at.rest = &behind[used..];
        Ok(())
    }

    fn take_word(&mut self, at: &mut Cursor<'_>) -> Result<()> {
        let key = at.key;
        match key {
            "MONTH" | "Month" => set(&mut self.month, at.word(&MONTHS)? + 1, key)?,
            "MON" | "Mon" => set(&mut self.month, at.word(&MONTHS.map(|month| &month[..3]))? + 1, key)?,
            "RM" => set(&mut self.month, at.word(&ROMAN)? + 1, key)?,
            "DAY" | "Day" => {
                let v = at.word(&DAYS)?;
                set(&mut self.weekday, v, key)?;
                self.weekday += 1;
            }
            "DY" | "Dy" => {
                let v = at.word(&DAYS.map(|day| &day[..3]))?;
                set(&mut self.weekday, v, key)?;
                self.weekday += 1;
            }
            "AM" | "PM" => {
                set(&mut self.afternoon, at.word(&["am", "pm"])?, key)?;
                self.half_day = true;
            }
            "A.M." | "P.M." => {
                set(&mut self.afternoon, at.word(&["a.m.", "p.m."])?, key)?;
                self.half_day = true;
            }
            "AD" | "BC" => set(&mut self.before_christ, at.word(&["ad", "bc"])?, key)?,
            "A.D." | "B.C." => set(&mut self.before_christ, at.word(&["a.d.", "b.c."])?, key)?,
            _ => {
                let message = format!("formatting field \"{key}\" is only supported in to_char");
                return Err(SqlError::unsupported(message));
            }
        }
        Ok(())
    }

    /// The year, if one is given: there is a year 0 here, which is 1 BC.
    fn year(&self) -> Option<i64> {
        let before_christ = self.before_christ != 0;
        let century = if before_christ { -self.century } else { self.century };
        if self.year == 0 {
            let first = if century >= 0 { (century - 1) * 100 + 1 } else { century * 100 + 1 };
            return (century != 0).then_some(first);
        }
        if century != 0 && self.year_width <= 2 {
            // the years of a century end with 00
            return Some(match (self.year % 100, century >= 0) {
                (0, true) => century * 100,
                (0, false) => century * 100 + 1,
                (year, true) => year + (century - 1) * 100,
                (year, false) => (century + 1) * 100 - year + 1,
            });
        }
        let year = if before_christ { -self.year } else { self.year };
        Some(if year < 0 { year + 1 } else { year })
    }

    /// The day.
    fn day(&self, text: &str) -> Result<i64> {
        let bad = || error(Bad::Field, text, "timestamp");
        let given = self.year();
        let mut year = given.unwrap_or(0);
        let (mut month, mut day) = (1, 1);
        // what has been given, for what was not is not checked
        let mut has = (given.is_some(), false, false);
        let mut of_year = self.day_of_year;
        let iso = self.mode == Some(Mode::IsoWeek);
        let monday = |year: i64, week: i64| {
            // the first week has the fourth of January
            let fourth = calendar::day_of(year, 1, 4);
            fourth - calendar::iso_weekday(fourth) + 1 + (week - 1) * 7
        };
        if self.julian != 0 {
            (year, month, day) = calendar::civil(self.julian - calendar::POSTGRES_EPOCH_JULIAN);
            has = (true, true, true);
        }
        if self.week != 0 && iso {
            let behind = match self.weekday {
                0 => 0,
                2.. => self.weekday - 2,
                _ => 6,
            };
            (year, month, day) = calendar::civil(monday(year, self.week) + behind);
            has = (true, true, true);
        } else if self.week != 0 {
            of_year = (self.week - 1) * 7 + 1;
        }
        let of_month = if self.week_of_month != 0 { (self.week_of_month - 1) * 7 + 1 } else { self.day };
        if of_month != 0 {
            (day, has.2) = (of_month, true);
        }
        if self.month != 0 {
            (month, has.1) = (self.month, true);
        }
        if of_year != 0 && (month <= 1 || day <= 1) {
            if year == 0 && self.before_christ == 0 {
                return Err(format_error("cannot calculate day of year without year information".to_owned()));
            }
            if iso {
                (year, month, day) = calendar::civil(monday(year, 1) - 1 + of_year);
                has = (true, true, true);
            } else {
                let (mut in_month, mut left) = (1, of_year);
                while in_month <= 12 && left > calendar::days_in_month(year, in_month) {
                    left -= calendar::days_in_month(year, in_month);
                    in_month += 1;
                }
                (month, day) = (if month <= 1 { in_month } else { month }, if day <= 1 { left } else { day });
                (has.1, has.2) = (true, true);
            }
        }
        let bad_month = has.1 && !(1..=12).contains(&month);
        let bad_day = has.2 && !(1..=31).contains(&day);
        if bad_month || bad_day || (has == (true, true, true) && day > calendar::days_in_month(year, month)) {
            return Err(bad());
        }
        // beside a month or year that was not given, the 31st may be a day of the next month
        Ok(calendar::day_of(year, month, 1) + day - 1)
    }

    fn time(&self, text: &str) -> Result<i64> {
        let given = |field: i64, otherwise: i64| if field != 0 { field } else { otherwise };
        let of_day = self.seconds_of_day;
        let mut hour = given(self.hour, of_day / 3_600);
        let minute = given(self.minute, of_day % 3_600 / 60);
        let second = given(self.second, of_day % 60);
        if self.half_day {
            if !(1..=12).contains(&hour) {
                let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
                return Err(
                    format_error(message).hint("Use the 24-hour clock, or give an hour between 1 and 12.")
                );
            }
            hour = hour % 12 + if self.afternoon != 0 { 12 } else { 0 };
        }
        let micros = self.millis * 1_000 + self.micros;
        let fits = |v: i64, end: i64| (0..end).contains(&v);
        if !fits(hour, 24) || !fits(minute, 60) || !fits(second, 60) || !fits(micros, SECOND_MICROS) {
            return Err(error(Bad::Field, text, "timestamp"));
        }
        Ok(hour * HOUR_MICROS + minute * MINUTE_MICROS + second * SECOND_MICROS + micros)
    }

    /// Seconds east of UTC, if a zone is given.
    fn east(&self, text: &str) -> Result<Option<i64>> {
        const MAX_HOURS: i64 = 15;
        if self.zone_sign == 0 {
            return Ok(None);
        }
        if !(0..=MAX_HOURS).contains(&self.zone_hours) || !(0..60).contains(&self.zone_minutes) {
            return Err(error(Bad::Offset, text, "timestamp"));
        }
        Ok(Some(self.zone_sign * (self.zone_hours * 3_600 + self.zone_minutes * 60)))
    }
}

/// Whether what follows a field is no digit: then it takes all digits there are.
fn is_open(node: &Node, next: Option<&Node>) -> bool {
    let ends_itself = matches!(node, Node::Field { fill, ordinal, .. } if *fill || ordinal.is_some());
    ends_itself
        || match next {
            None => true,
            Some(Node::Field { key, .. }) => !is_digits(key),
            Some(Node::Char(c) | Node::Quoted(c)) => !c.is_ascii_digit(),
        }
}

/// Reads a text by a template. A `strict` one is that of SQL/JSON, to which a text must be the same but for its fields.
fn read(text: &str, nodes: &[Node], strict: bool) -> Result<Read> {
    let mut found = Read::default();
    let is_space = |c: char| c.is_ascii_whitespace() || c == '\x0B';
    let is_separator = |c: char| c.is_ascii_punctuation();
    let mut rest = text;
    let mut exact = strict;
    // characters skipped beyond those that the template has
    let mut skipped = 0_i64;
    for (at, node) in nodes.iter().enumerate() {
        if rest.is_empty() {
            if strict {
                return Err(format_error("input string is too short for datetime format".to_owned()));
            }
            break;
        }
        let is_field = matches!(node, Node::Field { .. });
        if !exact && (is_field || at == 0) {
            let behind = rest.trim_start_matches(is_space);
            skipped += (rest.len() - behind.len()) as i64;
            rest = behind;
        }
        let skip = |rest: &mut &str| {
            let mut chars = rest.chars();
            chars.next();
            *rest = chars.as_str();
        };
        match node {
            Node::Char(c) | Node::Quoted(c) if strict => {
                let kind = if matches!(node, Node::Quoted(_)) { "character" } else { "separator" };
                let unmatched = || format_error(format!("unmatched format {kind} \"{c}\""));
                rest = rest.strip_prefix(*c).ok_or_else(unmatched)?;
            }
            Node::Char(c) if is_separator(*c) || is_space(*c) => {
                if exact {
                    skip(&mut rest);
                } else if rest.starts_with(|c| is_space(c) || is_separator(c)) {
                    // it stands for any other
                    rest = &rest[1..];
                } else {
                    skipped -= 1;
                }
            }
            Node::Char(_) | Node::Quoted(_) => {
                if !exact && skipped > 0 {
                    skipped -= 1;
                } else {
                    skip(&mut rest);
                }
            }
            Node::Field { key: "FX", .. } => exact = true,
            Node::Field { key, ordinal, .. } => {
                let minus = skipped > 0 && text[..text.len() - rest.len()].ends_with('-');
                let mut cursor = Cursor { key, open: is_open(node, nodes.get(at + 1)), rest };
                found.take(&mut cursor, minus)?;
                rest = cursor.rest;
                // words have none
                if ordinal.is_some() && is_digits(key) && *key != "TZM" {
                    skip(&mut rest);
                    skip(&mut rest);
                }
                if !exact {
                    let behind = rest.trim_start_matches(is_space);
                    skipped = (rest.len() - behind.len()) as i64;
                    rest = behind;
                }
            }
        }
    }
    if strict && !rest.trim_start_matches(is_space).is_empty() {
        let what = "trailing characters remain in input string after datetime format";
        return Err(format_error(what.to_owned()));
    }
    Ok(found)
}

/// Refuses templates that SQL/JSON does not have: they have few separators.
pub(super) fn check_template(pattern: &str) -> Result<()> {
    let odd = template(pattern).into_iter().find_map(|node| match node {
        Node::Char(c) if !"-./,':; ".contains(c) => Some(c),
        _ => None,
    });
    match odd {
        Some(c) => Err(format_error(format!("invalid datetime format separator: \"{c}\""))),
        None => Ok(()),
    }
}

/// What the fields of a template say of its texts: whether they have dates, times, and zones.
fn kinds(nodes: &[Node]) -> (bool, bool, bool) {
    let (mut dated, mut timed, mut zoned) = (false, false, false);
    for node in nodes {
        match node {
            // a week alone makes no date there
            Node::Field { key: "FX" | "IW", .. } | Node::Char(_) | Node::Quoted(_) => {}
            Node::Field { key: "TZ" | "OF" | "TZH" | "TZM", .. } => zoned = true,
            Node::Field {
                key:
                    "AM" | "PM" | "A.M." | "P.M." | "HH" | "HH12" | "HH24" | "MI" | "SS" | "SSSS" | "SSSSS" | "MS"
                    | "US" | "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6",
                ..
            } => timed = true,
            Node::Field { .. } => dated = true,
        }
    }
    (dated, timed, zoned)
}

/// The date or time that a text is by a template of SQL/JSON, which says which of them it is.
pub(super) fn parse_datetime(text: &str, pattern: &str) -> Result<Datetime> {
    let nodes = template(pattern);
    // without a template there is nothing that the text could differ from
    let found = if pattern.is_empty() { Read::default() } else { read(text, &nodes, true)? };
    let (time, day, east) = (found.time(text)?, found.day(text)?, found.east(text)?);
    let rounded = |micros: i64| match found.precision {
        Some(digits) => Ok(round_micros(micros, Type::TIMESTAMP.with_modifiers(&[digits as i32])?)),
        None => Ok(micros),
    };
    let at = || {
        let local = day.checked_mul(DAY_MICROS).and_then(|day| day.checked_add(time));
        local.ok_or_else(timestamp_out_of_range)
    };
    let checked = |micros: i64| match rounded(micros)? {
        micros if calendar::is_timestamp(micros) => Ok(micros),
        _ => Err(timestamp_out_of_range()),
    };
    Ok(match kinds(&nodes) {
        (true, true, true) => {
            let east = east.unwrap_or(0);
            let utc = at()?.checked_sub(east * SECOND_MICROS).ok_or_else(timestamp_out_of_range)?;
            Datetime::Timestamptz(checked(utc)?, east as i32)
        }
        (true, true, false) => Datetime::Timestamp(checked(at()?)?),
        (true, false, true) => {
            return Err(format_error("datetime format is zoned but not timed".to_owned()));
        }
        (true, false, false) if calendar::is_day(day) => Datetime::Date(day as i32),
        (true, false, false) => {
            let message = format!("date out of range: \"{text}\"");
            return Err(SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, message));
        }
        (false, true, true) => Datetime::Timetz(Timetz::new(rounded(time)?, east.unwrap_or(0) as i32)),
        (false, true, false) => Datetime::Time(rounded(time)?),
        (false, false, _) => {
            return Err(format_error("datetime format is not dated and not timed".to_owned()));
        }
    })
}

fn to_date(text: &str, pattern: &str) -> Result<Date> {
    let found = read(text, &template(pattern), false)?;
    // what is no time is no date either
    found.time(text)?;
    let day = found.day(text)?;
    found.east(text)?;
    if calendar::is_day(day) {
        Ok(Date(day as i32))
    } else {
        let message = format!("date out of range: \"{text}\"");
        Err(SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, message))
    }
}

fn to_timestamp(text: &str, pattern: &str, env: &Env) -> Result<Timestamptz> {
    let found = read(text, &template(pattern), false)?;
    let time = found.time(text)?;
    let day = found.day(text)?;
    let east = found.east(text)?;
    let local = day.checked_mul(DAY_MICROS).and_then(|day| day.checked_add(time));
    let local = local.ok_or_else(timestamp_out_of_range)?;
    let utc = match east {
        Some(east) => local.checked_sub(east * SECOND_MICROS).ok_or_else(timestamp_out_of_range)?,
        None => timestamp_to_timestamptz(local, env)?,
    };
    let utc = match found.precision {
        Some(digits) => round_micros(utc, Type::TIMESTAMPTZ.with_modifiers(&[digits as i32])?),
        None => utc,
    };
    if !calendar::is_timestamp(utc) {
        return Err(timestamp_out_of_range());
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
