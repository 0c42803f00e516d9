//! Dates and times as text: PostgreSQL's lenient input, ISO output.

mod parse;
mod print;

pub(crate) use parse::{parse_date, parse_time, parse_timestamp, parse_timestamptz};
pub(crate) use print::{write_clock, write_date, write_time, write_timestamp, write_timestamptz};
