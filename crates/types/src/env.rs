//! What a session sets and functions need: the time zone, the clock of the transaction, and styles of output.

use crate::zone::Zone;

/// The order of day and month where a text leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DateOrder {
    /// Day, month, year.
    Dmy,
    /// Month, day, year.
    #[default]
    Mdy,
    /// Year, month, day.
    Ymd,
}

/// How dates and timestamps are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DateStyle {
    /// `2024-02-01 10:11:12+00`
    #[default]
    Iso,
    /// `02/01/2024 10:11:12 UTC`, or `01/02/2024`, as the order says
    Sql,
    /// `01.02.2024 10:11:12 UTC`
    German,
    /// `Thu Feb 01 10:11:12 2024 UTC`, or `Thu 01 Feb`, as the order says
    Postgres,
}

/// How intervals are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IntervalStyle {
    /// `1 year 2 mons -3 days +04:05:06`
    #[default]
    Postgres,
    /// `@ 1 year 2 mons -3 days 4 hours 5 mins 6 secs`
    PostgresVerbose,
    /// `+1-2 -3 +4:05:06`; a sign in front of an interval that is read counts for all of it
    SqlStandard,
    /// `P1Y2M-3DT4H5M6S`
    Iso8601,
}

/// How bytea is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ByteaOutput {
    /// `\x00ff`
    #[default]
    Hex,
    /// `\000\377`
    Escape,
}

/// The settings of a session and the times of its transaction and statement.
#[derive(Clone, Debug)]
pub struct Env {
    /// `TimeZone`.
    pub zone: Zone,
    /// The first word of `DateStyle`.
    pub date_style: DateStyle,
    /// The second word of `DateStyle`.
    pub date_order: DateOrder,
    /// `IntervalStyle`.
    pub interval_style: IntervalStyle,
    /// `bytea_output`.
    pub bytea_output: ByteaOutput,
    /// `extra_float_digits`: 1 to 3 print the shortest text that reads back the same, less cuts digits.
    pub extra_float_digits: i8,
    /// `now()`: microseconds since 2000-01-01 UTC.
    pub transaction_time: i64,
    /// `statement_timestamp()`.
    pub statement_time: i64,
}

impl Default for Env {
    fn default() -> Self {
        Self {
            zone: Zone::utc(),
            date_style: DateStyle::default(),
            date_order: DateOrder::default(),
            interval_style: IntervalStyle::default(),
            bytea_output: ByteaOutput::default(),
            extra_float_digits: 1,
            transaction_time: 0,
            statement_time: 0,
        }
    }
}
