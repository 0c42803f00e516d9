//! Dates and times as text: PostgreSQL's lenient input, ISO output.

mod bad;
mod fields;
mod iso;
mod parse;
mod print;
mod token;
mod zone_text;

pub(crate) use bad::{Bad, error};
pub(crate) use parse::{parse_date, parse_time, parse_timestamp, parse_timestamptz, parse_timetz};
pub(crate) use print::{
    Look, write_clock, write_date, write_time, write_timestamp, write_timestamptz, write_timetz,
};
pub(crate) use token::{Field, fraction_micros, split};
pub(crate) use zone_text::{named_zone, parse_offset};
