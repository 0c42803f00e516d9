//! The times that users set: what they are called, their units, and the one parser of them.
//!
//! A time is a number with a unit only where a user writes it: in a setting of a session, in the configuration of a
//! server, in an option of a command. Everywhere else it is a [`Duration`].
//!
//! | in a session (milliseconds) | in the configuration (seconds) | what it limits |
//! |---|---|---|
//! | [`STATEMENT_TIMEOUT`] | `statement_timeout` | a statement |
//! | [`LOCK_TIMEOUT`] | | the wait for a lock |
//! | [`IDLE_IN_TRANSACTION_TIMEOUT`] | `idle_in_transaction_timeout` | an open transaction without a statement |

use std::time::Duration;

/// The setting that limits a statement.
pub const STATEMENT_TIMEOUT: &str = "statement_timeout";
/// The setting that limits the wait for a lock.
pub const LOCK_TIMEOUT: &str = "lock_timeout";
/// The setting that limits how long a transaction is left open between statements.
pub const IDLE_IN_TRANSACTION_TIMEOUT: &str = "idle_in_transaction_session_timeout";

/// A unit that times are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// `ns`
    Nanoseconds,
    /// `us`
    Microseconds,
    /// `ms`
    Milliseconds,
    /// `s`
    Seconds,
    /// `min`
    Minutes,
    /// `h`
    Hours,
    /// `d`
    Days,
}

impl Unit {
    /// All of them, the shortest first.
    pub const ALL: [Self; 7] = [
        Self::Nanoseconds,
        Self::Microseconds,
        Self::Milliseconds,
        Self::Seconds,
        Self::Minutes,
        Self::Hours,
        Self::Days,
    ];

    /// What stands behind a number of it, as in PostgreSQL.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Minutes => "min",
            Self::Hours => "h",
            Self::Days => "d",
        }
    }

    /// Its name in the plural.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "nanoseconds",
            Self::Microseconds => "microseconds",
            Self::Milliseconds => "milliseconds",
            Self::Seconds => "seconds",
            Self::Minutes => "minutes",
            Self::Hours => "hours",
            Self::Days => "days",
        }
    }

    const fn nanos(self) -> u128 {
        match self {
            Self::Nanoseconds => 1,
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
            Self::Seconds => 1_000_000_000,
            Self::Minutes => 60 * 1_000_000_000,
            Self::Hours => 3_600 * 1_000_000_000,
            Self::Days => 86_400 * 1_000_000_000,
        }
    }

    /// So many of the unit; `None` if that is more than a [`Duration`] holds.
    pub fn of(self, count: u64) -> Option<Duration> {
        duration(u128::from(count) * self.nanos())
    }
}

/// Parses a time: digits, perhaps with a fraction, and a unit; in `unit` if there is none behind the number. `None` for
/// anything else, and for a time whose milliseconds no 64-bit number holds.
///
/// ```
/// use scaledb_base::timeouts::{Unit, parse};
/// use std::time::Duration;
///
/// assert_eq!(parse("250", Unit::Milliseconds), Some(Duration::from_millis(250)));
/// assert_eq!(parse("2 min", Unit::Milliseconds), Some(Duration::from_secs(120)));
/// assert_eq!(parse("0.5", Unit::Seconds), Some(Duration::from_millis(500)));
/// assert_eq!(parse("1 fortnight", Unit::Seconds), None);
/// ```
pub fn parse(text: &str, unit: Unit) -> Option<Duration> {
    /// Digits of a fraction that count.
    const FRACTION: usize = 9;
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, symbol) = (&text[..end], text[end..].trim());
    let unit = match symbol {
        "" => unit,
        symbol => Unit::ALL.into_iter().find(|unit| unit.symbol().eq_ignore_ascii_case(symbol))?,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let whole: u64 = whole.parse().ok()?;
    if fraction.is_empty() || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let fraction = &fraction[..fraction.len().min(FRACTION)];
    let scale = 10_u128.pow(fraction.len() as u32);
    let part = fraction.parse::<u128>().ok()? * unit.nanos() / scale;
    duration(u128::from(whole).checked_mul(unit.nanos())?.checked_add(part)?)
}

fn duration(nanos: u128) -> Option<Duration> {
    let nanos_of_millis = Unit::Milliseconds.nanos();
    u64::try_from(nanos / nanos_of_millis).ok()?;
    let seconds = u64::try_from(nanos / Unit::Seconds.nanos()).ok()?;
    let rest = u32::try_from(nanos % Unit::Seconds.nanos()).ok()?;
    Some(Duration::new(seconds, rest))
}

/// Whole milliseconds of a time, the most that there are if it is longer.
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The limits of a session's times. Zero is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// See [`STATEMENT_TIMEOUT`].
    pub statement: Duration,
    /// See [`IDLE_IN_TRANSACTION_TIMEOUT`].
    pub idle_in_transaction: Duration,
}

impl Timeouts {
    /// The limits whose settings are looked up by name.
    pub fn of(mut setting: impl FnMut(&'static str) -> Option<Duration>) -> Self {
        let mut get = |name| setting(name).unwrap_or_default();
        Self { statement: get(STATEMENT_TIMEOUT), idle_in_transaction: get(IDLE_IN_TRANSACTION_TIMEOUT) }
    }

    /// The settings that say the same: names and values.
    pub fn settings(&self) -> [(&'static str, String); 2] {
        let value = |time| format!("{}{}", millis(time), Unit::Milliseconds.symbol());
        [
            (STATEMENT_TIMEOUT, value(self.statement)),
            (IDLE_IN_TRANSACTION_TIMEOUT, value(self.idle_in_transaction)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let cases =
            [("0", 0), ("250", 250), ("2min", 120_000), ("1 s", 1_000), (" 1H ", 3_600_000), ("1.5s", 1_500)];
        for (text, milliseconds) in cases {
            assert_eq!(parse(text, Unit::Milliseconds), Some(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in [
            "",
            "s",
            "1 fortnight",
            "99999999999999999999",
            "99999999999999d",
            "-1",
            "1kB",
            "1.",
            "1.2.3",
            ".",
        ] {
            assert_eq!(parse(text, Unit::Milliseconds), None, "{text}");
        }
        for unit in Unit::ALL {
            assert_eq!(parse(&format!("7{}", unit.symbol()), Unit::Seconds), unit.of(7));
            assert_eq!(parse("7", unit), unit.of(7));
        }
    }

    #[test]
    fn the_settings_of_limits_say_the_limits() {
        let limits =
            Timeouts { statement: Duration::from_millis(1_500), idle_in_transaction: Duration::ZERO };
        let settings = limits.settings();
        let found = Timeouts::of(|name| {
            let (_, value) = settings.iter().find(|(known, _)| *known == name)?;
            parse(value, Unit::Milliseconds)
        });
        assert_eq!(found, limits);
    }
}
