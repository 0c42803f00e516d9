//! Output of intervals.

use crate::calendar::{HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS};
use crate::datetime::write_clock;
use crate::env::IntervalStyle;
use crate::interval::Interval;

/// Appends an interval.
pub(crate) fn write(v: &Interval, style: IntervalStyle, out: &mut Vec<u8>) {
    match style {
        IntervalStyle::Postgres => write_postgres(v, out),
        IntervalStyle::PostgresVerbose => write_verbose(v, out),
        IntervalStyle::SqlStandard => write_sql(v, out),
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

/// `@ 1 year 2 mons -3 days 4 hours 5 mins 6.7 secs`; the sign of the first part counts for all that follows.
fn write_verbose(v: &Interval, out: &mut Vec<u8>) {
    out.push(b'@');
    let mut ago = None;
    let mut sign_of = |negative: bool| if *ago.get_or_insert(negative) == negative { "" } else { "-" };
    let parts = [
        (i64::from(v.months / 12), "year"),
        (i64::from(v.months % 12), "mon"),
        (i64::from(v.days), "day"),
        (v.micros / HOUR_MICROS, "hour"),
        (v.micros % HOUR_MICROS / MINUTE_MICROS, "min"),
    ];
    for (value, unit) in parts.into_iter().filter(|(value, _)| *value != 0) {
        let (sign, value) = (sign_of(value < 0), value.unsigned_abs());
        let plural = if value == 1 && sign.is_empty() { "" } else { "s" };
        out.extend_from_slice(format!(" {sign}{value} {unit}{plural}").as_bytes());
    }
    let seconds = v.micros % MINUTE_MICROS;
    if seconds != 0 {
        let sign = sign_of(seconds < 0);
        let plural = if seconds.abs() == SECOND_MICROS { "" } else { "s" };
        out.extend_from_slice(format!(" {sign}{} sec{plural}", decimal(seconds.abs())).as_bytes());
    }
    match ago {
        None => out.extend_from_slice(b" 0"),
        Some(true) => out.extend_from_slice(b" ago"),
        Some(false) => {}
    }
}

/// `1-2`, `3 4:05:06.7`, and with signs what the standard has no form for: `+1-2 -3 +4:05:06.7`.
fn write_sql(v: &Interval, out: &mut Vec<u8>) {
    let parts = [i64::from(v.months), i64::from(v.days), v.micros];
    let negative = parts.iter().any(|part| *part < 0);
    let positive = parts.iter().any(|part| *part > 0);
    let has_time = v.days != 0 || v.micros != 0;
    let months = |all: u32| format!("{}-{}", all / 12, all % 12);
    let clock = |all: u64| {
        let (hours, rest) = (all / HOUR_MICROS as u64, all % HOUR_MICROS as u64);
        let (minutes, seconds) = (rest / MINUTE_MICROS as u64, rest % MINUTE_MICROS as u64);
        let pad = if seconds < 10 * SECOND_MICROS as u64 { "0" } else { "" };
        format!("{hours}:{minutes:02}:{pad}{}", decimal(seconds as i64))
    };
    let (all_months, days) = (v.months.unsigned_abs(), v.days.unsigned_abs());
    let micros = v.micros.unsigned_abs();
    let text = if !negative && !positive {
        "0".to_owned()
    } else if (negative && positive) || (v.months != 0 && has_time) {
        let sign = |part: i64| if part < 0 { '-' } else { '+' };
        let [a, b, c] = parts.map(sign);
        format!("{a}{} {b}{days} {c}{}", months(all_months), clock(micros))
    } else {
        let sign = if negative { "-" } else { "" };
        if v.months != 0 {
            format!("{sign}{}", months(all_months))
        } else if v.days != 0 {
            format!("{sign}{days} {}", clock(micros))
        } else {
            format!("{sign}{}", clock(micros))
        }
    };
    out.extend_from_slice(text.as_bytes());
}

/// Microseconds as seconds, without zeros at the end.
fn decimal(micros: i64) -> String {
    let (whole, part) = (micros / SECOND_MICROS, micros % SECOND_MICROS);
    if part == 0 { whole.to_string() } else { format!("{whole}.{part:06}").trim_end_matches('0').to_owned() }
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
            let sign = if seconds < 0 { "-" } else { "" };
            out.extend_from_slice(format!("{sign}{}S", decimal(seconds.abs())).as_bytes());
        }
    }
}
