//! Time zones: names of the tz database, which is compiled in, and fixed offsets.

use crate::abbreviations;
use crate::calendar::{self, DAY_MICROS};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};
use std::fmt;
use std::fmt::Write as _;
use std::sync::LazyLock;

/// Microseconds of a second.
const SECOND: i64 = 1_000_000;
/// From 1970-01-01 to 2000-01-01.
const EPOCH_SECONDS: i64 = 946_684_800;
/// The Gregorian calendar repeats after so many days, weekdays included.
const CYCLE_MICROS: i64 = 146_097 * DAY_MICROS;
/// Offsets of years beyond these are those of a year in between, which has the same calendar.
const FIRST: i64 = -4_000 * 365 * DAY_MICROS;
const LAST: i64 = 4_000 * 365 * DAY_MICROS;
/// The largest offset that is written out, in hours.
const MAX_OFFSET_HOURS: i32 = 15;

/// A time zone. Clones count a reference.
#[derive(Clone)]
pub struct Zone {
    zone: TimeZone,
    /// As it is shown; a fixed offset that SQL gave has a name like `<+02>-02`.
    name: Name,
}

#[derive(Clone, PartialEq, Eq)]
enum Name {
    /// The tz database knows it.
    Database,
    Fixed,
    /// A zone as POSIX writes it, in upper case.
    Posix(String),
    /// An abbreviation that has meant several offsets, in upper case: the zone says what it meant at a time.
    Changed(String),
}

/// The database of the crate, not that of the machine: answers are the same everywhere.
static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// The names of the tz database.
pub fn names() -> Vec<String> {
    DATABASE.available().map(|name| name.to_string()).collect()
}

/// The abbreviations, in lower case, each with its offset at a time in UTC, and whether it means clocks that are put
/// forward.
pub fn abbreviations(utc_micros: i64) -> Vec<(&'static str, i32, bool)> {
    let fixed = abbreviations::FIXED.into_iter();
    let changed = abbreviations::CHANGED
        .into_iter()
        .map(|(name, _)| (name, Zone::abbreviated(name).map_or(0, |zone| zone.offset_at(utc_micros))));
    let forward = |name: &str| abbreviations::FORWARD.binary_search(&name).is_ok();
    fixed.chain(changed).map(|(name, seconds)| (name, seconds, forward(name))).collect()
}

impl Zone {
    /// UTC.
    pub fn utc() -> Self {
        Self { zone: TimeZone::UTC, name: Name::Database }
    }

    /// The zone of a name in the tz database, in any case; None if there is none.
    pub fn named(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("utc") {
            return Some(Self::utc());
        }
        Some(Self { zone: DATABASE.get(name).ok()?, name: Name::Database })
    }

    /// The zone that an abbreviation such as `CET` or `MSK` means, in any case; None if it is none.
    pub(crate) fn abbreviated(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        if let Ok(at) = abbreviations::FIXED.binary_search_by_key(&name.as_str(), |(known, _)| known) {
            return Self::fixed(abbreviations::FIXED[at].1);
        }
        let changed = &abbreviations::CHANGED;
        let at = changed.binary_search_by_key(&name.as_str(), |(known, _)| known).ok()?;
        Some(Self { zone: Self::named(changed[at].1)?.zone, name: Name::Changed(name.to_ascii_uppercase()) })
    }

    /// What an abbreviation means at a time in UTC: what it did last by then, or else first. If it never did, which is
    /// so of names that the tz database has given up, the zone's own offset.
    fn meaning(&self, abbreviation: &str, utc_micros: i64) -> i32 {
        /// Zones with rules have transitions for ever.
        const MAX_TRANSITIONS: usize = 400;
        let at = instant(utc_micros);
        let now = self.zone.to_offset_info(at);
        if now.abbreviation() == abbreviation {
            return now.offset().seconds();
        }
        let means = |t: &jiff::tz::TimeZoneTransition<'_>| t.abbreviation() == abbreviation;
        let before = self.zone.preceding(at).take(MAX_TRANSITIONS).find(means);
        let known = before.or_else(|| self.zone.following(at).take(MAX_TRANSITIONS).find(means));
        known.map_or(now.offset(), |transition| transition.offset()).seconds()
    }

    /// A fixed offset in seconds east of UTC.
    pub fn fixed(seconds: i32) -> Option<Self> {
        let zone = TimeZone::fixed(Offset::from_seconds(seconds).ok()?);
        Some(Self { zone, name: Name::Fixed })
    }

    /// Whether it is a zone of the database whose offset changes.
    pub(crate) fn changes(&self) -> bool {
        matches!(self.name, Name::Database) && self.zone.following(jiff::Timestamp::MIN).next().is_some()
    }

    /// A zone as POSIX writes it: a name, which may be missing, how far west of UTC it lies, and what else it has in
    /// summer. None if it is none.
    pub fn posix(text: &str) -> Option<Self> {
        const MAX_LENGTH: usize = 255;
        if text.len() > MAX_LENGTH {
            return None;
        }
        let text = text.to_ascii_uppercase();
        let rest = match text.strip_prefix('<') {
            Some(quoted) => quoted.split_once('>')?.1,
            None => text.trim_start_matches(|c: char| !(c.is_ascii_digit() || matches!(c, ',' | '-' | '+'))),
        };
        let (west, rest) = posix_offset(rest)?;
        let zone = if rest.is_empty() {
            TimeZone::fixed(Offset::from_seconds(-west).ok()?)
        } else {
            // without a rule, that of the United States is meant
            let rule = if rest.contains(',') { "" } else { ",M3.2.0,M11.1.0" };
            TimeZone::posix(&format!("{text}{rule}")).ok()?
        };
        Some(Self { zone, name: Name::Posix(text) })
    }

    /// Whether clocks are put forward at a time in UTC.
    pub fn is_dst_at(&self, utc_micros: i64) -> bool {
        self.zone.to_offset_info(instant(utc_micros)).dst().is_dst()
    }

    /// The name, as `SHOW TimeZone` prints it.
    pub fn name(&self) -> String {
        match &self.name {
            Name::Database => self.zone.iana_name().unwrap_or("UTC").to_owned(),
            Name::Changed(name) | Name::Posix(name) => name.clone(),
            Name::Fixed => {
                let east = self.zone.to_offset(jiff::Timestamp::UNIX_EPOCH).seconds();
                let mut name = String::from("<");
                write_offset(east, &mut name);
                name.push('>');
                // POSIX counts west
                if east == 0 {
                    name.push_str("-00");
                } else {
                    write_offset(-east, &mut name);
                }
                name
            }
        }
    }

    /// The offset in seconds east of UTC at a time.
    pub fn offset_at(&self, utc_micros: i64) -> i32 {
        match &self.name {
            Name::Changed(name) => self.meaning(name, utc_micros),
            _ => self.zone.to_offset(instant(utc_micros)).seconds(),
        }
    }

    /// The abbreviation at a time, such as `CEST`.
    pub fn abbreviation_at(&self, utc_micros: i64) -> String {
        match &self.name {
            Name::Changed(name) => name.clone(),
            Name::Fixed => {
                let mut name = String::new();
                write_offset(self.offset_at(utc_micros), &mut name);
                name
            }
            Name::Posix(name) if self.zone.to_fixed_offset().is_ok() => {
                let end = |c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | '+');
                let quoted = name.strip_prefix('<').and_then(|quoted| quoted.split_once('>'));
                quoted.map_or_else(|| name.split(end).next().unwrap_or(""), |(name, _)| name).to_owned()
            }
            Name::Database | Name::Posix(_) => {
                self.zone.to_offset_info(instant(utc_micros)).abbreviation().to_owned()
            }
        }
    }

    /// The time in UTC that clocks of the zone show as this one. Of a time that a clock skips, the offset before
    /// counts; of one that it shows twice, the later. None if it is out of range.
    pub fn to_utc(&self, local_micros: i64) -> Option<i64> {
        let offset = self.offset_of_local(local_micros);
        let utc = local_micros.checked_sub(i64::from(offset) * SECOND)?;
        calendar::is_timestamp(utc).then_some(utc)
    }

    /// The offset in seconds east of UTC that belongs to a local time.
    pub(crate) fn offset_of_local(&self, local_micros: i64) -> i32 {
        let (day, time) = calendar::split(fold(local_micros));
        let (year, month, dom) = calendar::civil(day);
        let seconds = time / SECOND;
        let civil = jiff::civil::DateTime::new(
            year as i16,
            month as i8,
            dom as i8,
            (seconds / 3_600) as i8,
            (seconds / 60 % 60) as i8,
            (seconds % 60) as i8,
            0,
        );
        let Ok(civil) = civil else { return 0 };
        let offset = match self.zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } => before,
            AmbiguousOffset::Fold { after, .. } => after,
        };
        match &self.name {
            Name::Changed(name) => {
                self.meaning(name, local_micros.saturating_sub(i64::from(offset.seconds()) * SECOND))
            }
            _ => offset.seconds(),
        }
    }

    /// The local time at a time in UTC. None if it is out of range.
    pub fn to_local(&self, utc_micros: i64) -> Option<i64> {
        utc_micros.checked_add(i64::from(self.offset_at(utc_micros)) * SECOND)
    }
}

/// A time of the same place in the calendar, in the years that the tz library knows.
fn fold(micros: i64) -> i64 {
    if micros < FIRST {
        micros + (FIRST - micros).div_euclid(CYCLE_MICROS) * CYCLE_MICROS + CYCLE_MICROS
    } else if micros > LAST {
        micros - (micros - LAST).div_euclid(CYCLE_MICROS) * CYCLE_MICROS - CYCLE_MICROS
    } else {
        micros
    }
}

fn instant(utc_micros: i64) -> jiff::Timestamp {
    let seconds = fold(utc_micros).div_euclid(SECOND) + EPOCH_SECONDS;
    jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// Now, in microseconds since 2000-01-01 UTC.
pub fn clock() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    since.as_micros() as i64 - EPOCH_SECONDS * SECOND
}

/// `+02`, `-03:30`, `+00:19:32`.
pub(crate) fn write_offset(east: i32, out: &mut String) {
    let abs = east.unsigned_abs();
    let (hours, minutes, seconds) = (abs / 3_600, abs / 60 % 60, abs % 60);
    let sign = if east < 0 { '-' } else { '+' };
    // writing to a string does not fail
    let _ = write!(out, "{sign}{hours:02}");
    if minutes != 0 || seconds != 0 {
        let _ = write!(out, ":{minutes:02}");
    }
    if seconds != 0 {
        let _ = write!(out, ":{seconds:02}");
    }
}

/// `8`, `-4:15` or `+05:30:15` at the start of a text, in seconds, and what follows it.
fn posix_offset(text: &str) -> Option<(i32, &str)> {
    /// A week, as it is bounded in rules of the tz database.
    const MAX_HOURS: i32 = 167;
    let (sign, mut rest) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let mut seconds = 0;
    for (unit, max) in [(3_600, MAX_HOURS), (60, 59), (1, 60)] {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let v: i32 = rest[..digits].parse().ok().filter(|v| *v <= max)?;
        seconds += v * unit;
        rest = &rest[digits..];
        match rest.strip_prefix(':') {
            Some(behind) if unit > 1 => rest = behind,
            _ => break,
        }
    }
    Some((sign * seconds, rest))
}

/// Whether an offset may be written: less than 16 hours.
pub(crate) fn is_offset(seconds: i32) -> bool {
    seconds.unsigned_abs() < (MAX_OFFSET_HOURS as u32 + 1) * 3_600
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.zone == other.zone && self.name == other.name
    }
}
