//! ISO output of dates and times.

use crate::calendar::{self, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS};
use crate::timetz::Timetz;
use crate::zone::{Zone, write_offset};

/// Appends a number with at least two digits.
fn two(v: u64, out: &mut Vec<u8>) {
    if v < 10 {
        out.push(b'0');
    }
    out.extend_from_slice(itoa::Buffer::new().format(v).as_bytes());
}

/// Appends `YYYY-MM-DD`, and returns whether BC has to follow.
fn civil(day: i64, out: &mut Vec<u8>) -> bool {
    let (year, month, dom) = calendar::civil(day);
    let before = year <= 0;
    let shown = if before { 1 - year } else { year };
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(shown).as_bytes();
    out.resize(out.len() + 4_usize.saturating_sub(digits.len()), b'0');
    out.extend_from_slice(digits);
    out.push(b'-');
    two(month as u64, out);
    out.push(b'-');
    two(dom as u64, out);
    before
}

/// Appends `HH:MM:SS.ffffff` without zeros at its end; the hours may have more digits.
pub(crate) fn write_clock(micros: u64, out: &mut Vec<u8>) {
    two(micros / HOUR_MICROS as u64, out);
    out.push(b':');
    two(micros / MINUTE_MICROS as u64 % 60, out);
    out.push(b':');
    two(micros / SECOND_MICROS as u64 % 60, out);
    let mut fraction = micros % SECOND_MICROS as u64;
    if fraction != 0 {
        let mut digits = [b'0'; 7];
        digits[0] = b'.';
        for at in (1..7).rev() {
            digits[at] = b'0' + (fraction % 10) as u8;
            fraction /= 10;
        }
        let end = digits.iter().rposition(|b| *b != b'0').map_or(0, |at| at + 1);
        out.extend_from_slice(&digits[..end]);
    }
}

/// Appends a date.
pub(crate) fn write_date(day: i32, out: &mut Vec<u8>) {
    match day {
        calendar::DATE_INFINITY => out.extend_from_slice(b"infinity"),
        calendar::DATE_NEG_INFINITY => out.extend_from_slice(b"-infinity"),
        _ => {
            if civil(day.into(), out) {
                out.extend_from_slice(b" BC");
            }
        }
    }
}

/// Appends a time of day.
pub(crate) fn write_time(micros: i64, out: &mut Vec<u8>) {
    write_clock(micros.unsigned_abs(), out);
}

/// Appends a time of day, and how far it is from UTC.
pub(crate) fn write_timetz(v: Timetz, out: &mut Vec<u8>) {
    write_time(v.micros, out);
    let mut offset = String::new();
    write_offset(v.east(), &mut offset);
    out.extend_from_slice(offset.as_bytes());
}

/// Appends a timestamp, and an offset behind the time.
fn write(micros: i64, offset: Option<i32>, out: &mut Vec<u8>) {
    let (day, time) = calendar::split(micros);
    let before = civil(day, out);
    out.push(b' ');
    write_clock(time.unsigned_abs(), out);
    if let Some(offset) = offset {
        let mut text = String::new();
        write_offset(offset, &mut text);
        out.extend_from_slice(text.as_bytes());
    }
    if before {
        out.extend_from_slice(b" BC");
    }
}

fn infinite(micros: i64, out: &mut Vec<u8>) -> bool {
    match micros {
        calendar::TIMESTAMP_INFINITY => out.extend_from_slice(b"infinity"),
        calendar::TIMESTAMP_NEG_INFINITY => out.extend_from_slice(b"-infinity"),
        _ => return false,
    }
    true
}

/// Appends a timestamp.
pub(crate) fn write_timestamp(micros: i64, out: &mut Vec<u8>) {
    if !infinite(micros, out) {
        write(micros, None, out);
    }
}

/// Appends a timestamptz, as clocks of the zone show it.
pub(crate) fn write_timestamptz(micros: i64, zone: &Zone, out: &mut Vec<u8>) {
    if !infinite(micros, out) {
        let offset = zone.offset_at(micros);
        write(micros.saturating_add(i64::from(offset) * SECOND_MICROS), Some(offset), out);
    }
}
