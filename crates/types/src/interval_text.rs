//! Output of intervals.

use crate::calendar::{HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS};
use crate::datetime::write_clock;
use crate::env::IntervalStyle;
use crate::interval::Interval;

/// Appends an interval.
pub(crate) fn write(v: &Interval, style: IntervalStyle, out: &mut Vec<u8>) {
    match style {
        IntervalStyle::Postgres => write_postgres(v, out),
        IntervalStyle::Iso8601 => write_iso(v, out),
    }
}

/// `1 year 2 mons -3 days +04:05:06`
fn write_postgres(v: &Interval, out: &mut Vec<u8>) {
    let start = out.len();
    // what follows a negative part shows its sign
    let mut negative = false;
    for (value, unit) in [(v.months / 12, "year"), (v.months % 12, "mon"), (v.days, "day")] {
        if value == 0 {
            continue;
        }
        let space = if out.len() > start { " " } else { "" };
        let sign = if negative && value > 0 { "+" } else { "" };
        let plural = if value == 1 { "" } else { "s" };
        out.extend_from_slice(format!("{space}{sign}{value} {unit}{plural}").as_bytes());
        negative = value < 0;
    }
    if v.micros != 0 || out.len() == start {
        if out.len() > start {
            out.push(b' ');
        }
        if v.micros < 0 {
            out.push(b'-');
        } else if negative {
            out.push(b'+');
        }
        write_clock(v.micros.unsigned_abs(), out);
    }
}

/// `P1Y2M-3DT4H5M6.7S`
fn write_iso(v: &Interval, out: &mut Vec<u8>) {
    if v.months == 0 && v.days == 0 && v.micros == 0 {
        out.extend_from_slice(b"PT0S");
        return;
    }
    out.push(b'P');
    let mut put = |value: i64, unit: char| {
        if value != 0 {
            out.extend_from_slice(format!("{value}{unit}").as_bytes());
        }
    };
    put((v.months / 12).into(), 'Y');
    put((v.months % 12).into(), 'M');
    put(v.days.into(), 'D');
    if v.micros != 0 {
        out.push(b'T');
        let mut put = |value: i64, unit: char| {
            if value != 0 {
                out.extend_from_slice(format!("{value}{unit}").as_bytes());
            }
        };
        put(v.micros / HOUR_MICROS, 'H');
        put(v.micros % HOUR_MICROS / MINUTE_MICROS, 'M');
        let seconds = v.micros % MINUTE_MICROS;
        if seconds != 0 {
            let (whole, part) = (seconds / SECOND_MICROS, seconds % SECOND_MICROS);
            let sign = if seconds < 0 { "-" } else { "" };
            let fraction = if part == 0 { String::new() } else { format!(".{:06}", part.abs()) };
            let fraction = fraction.trim_end_matches('0');
            out.extend_from_slice(format!("{sign}{}{fraction}S", whole.abs()).as_bytes());
        }
    }
}
