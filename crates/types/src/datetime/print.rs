//! Output of dates and times, in ISO's form and in the others of PostgreSQL.

use super::fields::MONTHS;
use crate::calendar::{self, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS};
use crate::env::{DateOrder, DateStyle, Env};
use crate::timetz::Timetz;
use crate::zone::{Zone, write_offset};

/// Appends a number with at least two digits.
fn two(v: u64, out: &mut Vec<u8>) {
    if v < 10 {
        out.push(b'0');
    }
    out.extend_from_slice(itoa::Buffer::new().format(v).as_bytes());
}

/// What dates look like: the style, and whether the day comes before the month where the style leaves that open.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    style: DateStyle,
    day_first: bool,
}

impl Look {
    /// ISO's form, whatever the session has set.
    pub(crate) const ISO: Self = Self { style: DateStyle::Iso, day_first: false };

    pub(crate) fn of(env: &Env) -> Self {
        Self { style: env.date_style, day_first: env.date_order == DateOrder::Dmy }
    }
}

/// Appends a year with at least four digits.
fn year(shown: i64, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(shown).as_bytes();
    out.resize(out.len() + 4_usize.saturating_sub(digits.len()), b'0');
    out.extend_from_slice(digits);
}

/// The year as it is shown, the month, the day, and whether BC has to follow.
fn parts(day: i64) -> (i64, u64, u64, bool) {
    let (year, month, dom) = calendar::civil(day);
    let before = year <= 0;
    (if before { 1 - year } else { year }, month as u64, dom as u64, before)
}

/// Appends `YYYY-MM-DD`, or the same with the day or the month first, and returns whether BC has to follow.
fn civil(day: i64, look: Look, out: &mut Vec<u8>) -> bool {
    let (shown, month, dom, before) = parts(day);
    let sign = match look.style {
        DateStyle::Iso => {
            year(shown, out);
            out.push(b'-');
            two(month, out);
            out.push(b'-');
            two(dom, out);
            return before;
        }
        DateStyle::Sql => b'/',
        DateStyle::German => b'.',
        DateStyle::Postgres => b'-',
    };
    let day_first = look.day_first || look.style == DateStyle::German;
    let (first, second) = if day_first { (dom, month) } else { (month, dom) };
    two(first, out);
    out.push(sign);
    two(second, out);
    out.push(sign);
    year(shown, out);
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
pub(crate) fn write_date(day: i32, look: Look, out: &mut Vec<u8>) {
    match day {
        calendar::DATE_INFINITY => out.extend_from_slice(b"infinity"),
        calendar::DATE_NEG_INFINITY => out.extend_from_slice(b"-infinity"),
        _ => {
            if civil(day.into(), look, out) {
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

/// Days of the week, from that of 2000-01-01 on.
const DAYS: [&str; 7] = ["Sat", "Sun", "Mon", "Tue", "Wed", "Thu", "Fri"];

/// Appends a timestamp, and what its zone is called.
fn write(micros: i64, look: Look, zone: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    let (day, time) = calendar::split(micros);
    let before = if look.style == DateStyle::Postgres {
        let (shown, month, dom, before) = parts(day);
        let name = &MONTHS[month as usize - 1][..3];
        let mut month = [name.as_bytes()[0].to_ascii_uppercase(); 3];
        month[1..].copy_from_slice(&name.as_bytes()[1..]);
        out.extend_from_slice(DAYS[day.rem_euclid(7) as usize].as_bytes());
        out.push(b' ');
        if look.day_first {
            two(dom, out);
            out.push(b' ');
            out.extend_from_slice(&month);
        } else {
            out.extend_from_slice(&month);
            out.push(b' ');
            two(dom, out);
        }
        out.push(b' ');
        write_clock(time.unsigned_abs(), out);
        out.push(b' ');
        year(shown, out);
        before
    } else {
        let before = civil(day, look, out);
        out.push(b' ');
        write_clock(time.unsigned_abs(), out);
        before
    };
    zone(out);
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
pub(crate) fn write_timestamp(micros: i64, look: Look, out: &mut Vec<u8>) {
    if !infinite(micros, out) {
        write(micros, look, |_| (), out);
    }
}

/// Appends a timestamptz, as clocks of the zone show it.
pub(crate) fn write_timestamptz(micros: i64, zone: &Zone, look: Look, out: &mut Vec<u8>) {
    if infinite(micros, out) {
        return;
    }
    let offset = zone.offset_at(micros);
    let name = |out: &mut Vec<u8>| {
        let mut text = String::new();
        if look.style == DateStyle::Iso {
            write_offset(offset, &mut text);
        } else {
            text.push(' ');
            text.push_str(&zone.abbreviation_at(micros));
        }
        out.extend_from_slice(text.as_bytes());
    };
    write(micros.saturating_add(i64::from(offset) * SECOND_MICROS), look, name, out);
}
