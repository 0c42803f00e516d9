//! Why a text is no date, time or interval.

use super::fields::is_keyword;
use super::token::{Field, split};
use crate::error::{SqlError, SqlState};

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

/// What is read of a text.
pub(super) type Parsed<T> = std::result::Result<T, Bad>;
