//! Dates and times as text: PostgreSQL's lenient input, ISO output.

mod parse;
mod print;
mod token;

pub(crate) use parse::{
    Bad, error, named_zone, parse_date, parse_offset, parse_time, parse_timestamp, parse_timestamptz,
};
pub(crate) use print::{write_clock, write_date, write_time, write_timestamp, write_timestamptz};
pub(crate) use token::{Field, split};
