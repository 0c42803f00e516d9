//! `to_char` of dates, times and intervals, and the templates that `to_date` shares.

use super::Registry;
use super::args::{Timestamp, Timestamptz, code};
use crate::calendar::{self, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS};
use crate::env::Env;
use crate::error::{Result, SqlError, SqlState};
use crate::interval::Interval;
use crate::zone::Zone;
use std::fmt::Write as _;

/// The words of templates, longer ones before their starts. All but those with small letters in them may be written in
/// small letters, too.
const KEYS: [&str; 58] = [
    "SSSSS", "Y,YYY", "Month", "MONTH", "A.D.", "A.M.", "B.C.", "P.M.", "HH24", "HH12", "IDDD", "IYYY",
    "SSSS", "YYYY", "DAY", "DDD", "Day", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "IYY", "MON", "Mon",
    "TZH", "TZM", "YYY", "AD", "AM", "BC", "CC", "DD", "DY", "Dy", "FX", "HH", "ID", "IW", "IY", "MI", "MM",
    "MS", "OF", "PM", "RM", "SS", "TZ", "US", "WW", "YY", "D", "I", "J", "Q", "W", "Y",
];

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
pub(super) const ROMAN: [&str; 12] =
    ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// A field.
    Field {
        /// The word of the field, in its own letters.
        key: &'static str,
        /// Written in small letters.
        small: bool,
        /// `FM`: no blanks or zeros before it.
        fill: bool,
        /// `TH` behind it; true if in small letters.
        ordinal: Option<bool>,
    },
    /// A character.
    Char(char),
    /// A character in quotes, which no other stands for when a text is read.
    Quoted(char),
}

fn key_at(rest: &str) -> Option<(&'static str, bool)> {
    let starts = |key: &str| rest.as_bytes().get(..key.len()).is_some_and(|text| text == key.as_bytes());
    for key in KEYS {
        if starts(key) {
            return Some((key, false));
        }
        let plain = key.bytes().all(|b| !b.is_ascii_lowercase());
        if plain && starts(&key.to_ascii_lowercase()) {
            return Some((key, true));
        }
    }
    None
}

/// The pieces of a template.
pub(super) fn template(text: &str) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (mut fill, mut translated) = (false, false);
        while let Some(prefix @ ("FM" | "fm" | "TM" | "tm")) = rest.get(..2) {
            fill |= matches!(prefix, "FM" | "fm");
            translated |= matches!(prefix, "TM" | "tm");
            rest = &rest[2..];
        }
        if let Some((key, small)) = key_at(rest) {
            rest = &rest[key.len()..];
            if key == "FX" {
                nodes.push(Node::Field { key, small, fill, ordinal: None });
                continue;
            }
            // names in the user's language are not padded
            fill |= translated && matches!(key, "MONTH" | "Month" | "DAY" | "Day");
            let ordinal = match rest.as_bytes() {
                [b'T', b'H', ..] => Some(false),
                [b't', b'h', ..] => Some(true),
                _ => None,
            };
            if ordinal.is_some() {
                rest = &rest[2..];
            }
            nodes.push(Node::Field { key, small, fill, ordinal });
            continue;
        }
        if fill || translated {
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => {
                while let Some(c) = rest.chars().next() {
                    rest = &rest[c.len_utf8()..];
                    match c {
                        '"' => break,
                        '\\' => {
                            let escaped = rest.chars().next();
                            rest = &rest[escaped.map_or(0, char::len_utf8)..];
                            nodes.extend(escaped.map(Node::Quoted));
                        }
                        c => nodes.push(Node::Quoted(c)),
                    }
                }
            }
            '\\' if rest.starts_with('"') => {
                rest = &rest[1..];
                nodes.push(Node::Char('"'));
            }
            c => nodes.push(Node::Char(c)),
        }
    }
    nodes
}

/// What a template prints of.
struct Moment {
    year: i64,
    month: i64,
    dom: i64,
    /// None of an interval, which has no place in a calendar.
    day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    /// Seconds east of UTC, and the abbreviation.
    zone: Option<(i32, String)>,
}

impl Moment {
    fn of_timestamp(local: i64, zone: Option<(i32, String)>) -> Self {
        let (day, time) = calendar::split(local);
        let (year, month, dom) = calendar::civil(day);
        Self {
            year,
            month,
            dom,
            day: Some(day),
            hour: time / HOUR_MICROS,
            minute: time / MINUTE_MICROS % 60,
            second: time / SECOND_MICROS % 60,
            micros: time % SECOND_MICROS,
            zone,
        }
    }

    fn of_interval(v: Interval) -> Self {
        Self {
            year: i64::from(v.months / 12),
            month: i64::from(v.months % 12),
            dom: v.days.into(),
            day: None,
            hour: v.micros / HOUR_MICROS,
            minute: v.micros / MINUTE_MICROS % 60,
            second: v.micros / SECOND_MICROS % 60,
            micros: v.micros % SECOND_MICROS,
            zone: None,
        }
    }

    /// The year as it is counted from 1, before Christ too.
    fn shown_year(&self) -> i64 {
        if self.day.is_some() && self.year <= 0 { 1 - self.year } else { self.year }
    }

    fn field(&self, key: &str, small: bool, fill: bool, out: &mut String) {
        let number = |v: i64, width: usize, out: &mut String| {
            // a sign comes on top, but for days
            let signed = v < 0 && key != "DD";
            let width = if fill { 0 } else { width + usize::from(signed) };
            // writing to a string does not fail
            let _ = write!(out, "{v:0width$}");
        };
        let word = |word: &str, out: &mut String| {
            let text = match key {
                "Month" | "Day" | "Mon" | "Dy" => word.to_owned(),
                _ if small => word.to_ascii_lowercase(),
                _ => word.to_ascii_uppercase(),
            };
            out.push_str(&text);
            // full names have the width of the longest
            if matches!(key, "MONTH" | "Month" | "DAY" | "Day") && !fill {
                out.extend(std::iter::repeat_n(' ', 9_usize.saturating_sub(text.len())));
            }
        };
        let (day, month) = (self.day, self.month);
        let name = |index: i64| usize::try_from(index).unwrap_or(0);
        match key {
            "HH" | "HH12" => number(if self.hour % 12 == 0 { 12 } else { self.hour % 12 }, 2, out),
            "HH24" => number(self.hour, 2, out),
            "MI" => number(self.minute, 2, out),
            "SS" => number(self.second, 2, out),
            "MS" => number(self.micros / 1_000, 3, out),
            "US" | "FF6" => number(self.micros, 6, out),
            "FF1" => number(self.micros / 100_000, 1, out),
            "FF2" => number(self.micros / 10_000, 2, out),
            "FF3" => number(self.micros / 1_000, 3, out),
            "FF4" => number(self.micros / 100, 4, out),
            "FF5" => number(self.micros / 10, 5, out),
            "SSSS" | "SSSSS" => number(self.hour * 3_600 + self.minute * 60 + self.second, 0, out),
            "AM" | "PM" => word(if self.hour % 24 >= 12 { "pm" } else { "am" }, out),
            "A.M." | "P.M." => word(if self.hour % 24 >= 12 { "p.m." } else { "a.m." }, out),
            "AD" | "BC" => word(if self.year <= 0 { "bc" } else { "ad" }, out),
            "A.D." | "B.C." => word(if self.year <= 0 { "b.c." } else { "a.d." }, out),
            "Y,YYY" => {
                let year = self.shown_year();
                let _ = write!(out, "{},{:03}", year / 1_000, year % 1_000);
            }
            "YYYY" => number(self.shown_year(), 4, out),
            "YYY" => number(self.shown_year() % 1_000, 3, out),
            "YY" => number(self.shown_year() % 100, 2, out),
            "Y" => number(self.shown_year() % 10, 1, out),
            "MM" => number(month, 2, out),
            "MONTH" | "Month" if month > 0 => word(MONTHS[name(month - 1) % 12], out),
            "MON" | "Mon" if month > 0 => word(&MONTHS[name(month - 1) % 12][..3], out),
            "RM" if month != 0 || self.year != 0 => {
                // the months of an interval are counted back from twelve if they are negative
                let number = match month {
                    0 if self.year < 0 => 0,
                    0 => 11,
                    1.. => month - 1,
                    _ => 12 + month,
                };
                let text = ROMAN[name(number) % 12];
                let text = if small { text.to_ascii_lowercase() } else { text.to_owned() };
                out.push_str(&text);
                if !fill {
                    out.extend(std::iter::repeat_n(' ', 4_usize.saturating_sub(text.len())));
                }
            }
            "Q" if month > 0 => number((month - 1) / 3 + 1, 1, out),
            "DD" => number(self.dom, 2, out),
            "CC" => {
                let century = match self.year {
                    _ if day.is_none() => self.year / 100,
                    year if year > 0 => (year + 99) / 100,
                    year => -((99 - (year - 1)) / 100),
                };
                number(century, 2, out);
            }
            "TZ" => {
                if let Some((_, name)) = &self.zone {
                    out.push_str(&if small { name.to_ascii_lowercase() } else { name.clone() });
                }
            }
            "TZH" | "TZM" | "OF" => {
                let east = self.zone.as_ref().map_or(0, |(east, _)| *east);
                let (hours, minutes) = (east.abs() / 3_600, east.abs() / 60 % 60);
                let sign = if east < 0 { '-' } else { '+' };
                let _ = match key {
                    "TZM" => write!(out, "{minutes:02}"),
                    "OF" if minutes != 0 => write!(out, "{sign}{hours:02}:{minutes:02}"),
                    _ => write!(out, "{sign}{hours:02}"),
                };
            }
            _ => {
                if let Some(day) = day {
                    self.calendar_field(key, day, &number, &word, out);
                }
            }
        }
    }

    /// Fields that need a place in the calendar.
    fn calendar_field(
        &self,
        key: &str,
        day: i64,
        number: &dyn Fn(i64, usize, &mut String),
        word: &dyn Fn(&str, &mut String),
        out: &mut String,
    ) {
        let of_year = day - calendar::day_of(self.year, 1, 1) + 1;
        let (iso_year, iso_week) = calendar::iso_week(day);
        // as that of the calendar: there is no year 0, and BC says on which side it lies
        let iso_year = if iso_year <= 0 { 1 - iso_year } else { iso_year };
        let weekday = calendar::weekday(day);
        match key {
            "DAY" | "Day" => word(DAYS[weekday as usize], out),
            "DY" | "Dy" => word(&DAYS[weekday as usize][..3], out),
            "DDD" => number(of_year, 3, out),
            "IDDD" => number((iso_week - 1) * 7 + calendar::iso_weekday(day), 3, out),
            "D" => number(weekday + 1, 1, out),
            "ID" => number(calendar::iso_weekday(day), 1, out),
            "W" => number((self.dom - 1) / 7 + 1, 1, out),
            "WW" => number((of_year - 1) / 7 + 1, 2, out),
            "IW" => number(iso_week, 2, out),
            "J" => number(day + calendar::POSTGRES_EPOCH_JULIAN, 0, out),
            "IYYY" => number(iso_year, 4, out),
            "IYY" => number(iso_year % 1_000, 3, out),
            "IY" => number(iso_year % 100, 2, out),
            "I" => number(iso_year % 10, 1, out),
            _ => {}
        }
    }

    fn print(&self, text: &str) -> String {
        let mut out = String::new();
        for node in template(text) {
            match node {
                Node::Char(c) | Node::Quoted(c) => out.push(c),
                Node::Field { key, small, fill, ordinal } => {
                    let at = out.len();
                    self.field(key, small, fill, &mut out);
                    let written = &out[at..];
                    if let Some(small) = ordinal
                        && written.ends_with(|c: char| c.is_ascii_digit())
                    {
                        let suffix = ordinal_of(written);
                        out.push_str(&if small { suffix.to_owned() } else { suffix.to_ascii_uppercase() });
                    }
                }
            }
        }
        out
    }
}

/// `st`, `nd`, `rd` or `th`.
pub(super) fn ordinal_of(digits: &str) -> &'static str {
    let bytes = digits.as_bytes();
    let teen = bytes.len() > 1 && bytes[bytes.len() - 2] == b'1';
    match bytes.last() {
        Some(b'1') if !teen => "st",
        Some(b'2') if !teen => "nd",
        Some(b'3') if !teen => "rd",
        _ => "th",
    }
}

/// None of an empty template and of an infinite time, as PostgreSQL has it.
fn print(local: i64, zone: Option<(i32, String)>, text: &str) -> Option<String> {
    let nothing = text.is_empty() || calendar::is_infinite(local);
    (!nothing).then(|| Moment::of_timestamp(local, zone).print(text))
}

fn print_tz(utc: i64, zone: &Zone, text: &str) -> Option<String> {
    if calendar::is_infinite(utc) {
        return None;
    }
    let offset = zone.offset_at(utc);
    let local = utc.saturating_add(i64::from(offset) * SECOND_MICROS);
    print(local, Some((offset, zone.abbreviation_at(utc))), text)
}

/// An interval by a template, which must not ask for a place in the calendar.
fn print_interval(v: Interval, text: &str) -> Result<Option<String>> {
    let of_calendar = |node: &Node| {
        const KEYS: [&str; 18] = [
            "AD", "A.D.", "BC", "B.C.", "MONTH", "Month", "MON", "Mon", "DAY", "Day", "DY", "Dy", "D", "ID",
            "TZ", "TZH", "TZM", "OF",
        ];
        matches!(node, Node::Field { key, .. } if KEYS.contains(key))
    };
    if template(text).iter().any(of_calendar) {
        let message = "invalid format specification for an interval value";
        let error = SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message);
        return Err(error.hint("Intervals are not tied to specific calendar dates."));
    }
    Ok((!text.is_empty()).then(|| Moment::of_interval(v).print(text)))
}

pub(super) fn to_char_tz(v: Timestamptz, text: &str, env: &Env) -> Result<Option<String>> {
    Ok(print_tz(v.0, &env.zone, text))
}

pub(super) fn register(r: &mut Registry) {
    r.stable("to_char(timestamp,text) text", code!(|v: Timestamp, t: &str| Ok(print(v.0, None, t))));
    r.stable("to_char(timestamptz,text) text", code!(|c; v: Timestamptz, t: &str| to_char_tz(v, t, c.env)));
    r.stable("to_char(interval,text) text", code!(|v: Interval, t: &str| print_interval(v, t)));
}
