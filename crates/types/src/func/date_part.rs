//! The fields of dates and times: `extract`, `date_part`, `date_trunc`.

use super::Registry;
use super::args::{Date, Timestamp, Timestamptz, code};
use super::datetime::{check, zone_of};
use crate::calendar::{self, DAY_MICROS, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS};
use crate::cast::{date_to_timestamp, timestamp_out_of_range};
use crate::env::Env;
use crate::error::{Result, SqlError};
use crate::interval::Interval;
use crate::numeric::Numeric;
use crate::value::Value;
use crate::zone::Zone;

/// The names of a field and its forms in PostgreSQL.
fn field_of(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let full = match name.as_str() {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecond" => "microseconds",
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecond" => "milliseconds",
        "s" | "sec" | "secs" | "seconds" => "second",
        "m" | "min" | "mins" | "minutes" => "minute",
        "h" | "hr" | "hrs" | "hours" => "hour",
        "d" | "days" => "day",
        "w" | "weeks" => "week",
        "mon" | "mons" | "months" => "month",
        "qtr" => "quarter",
        "y" | "yr" | "yrs" | "years" => "year",
        "dec" | "decs" | "decades" => "decade",
        "c" | "cent" | "centuries" => "century",
        "mil" | "mils" | "millennia" => "millennium",
        _ => return name,
    };
    full.to_owned()
}

#[cold]
fn unrecognized(field: &str, type_name: &str) -> SqlError {
    SqlError::invalid_parameter(format!("unit \"{field}\" not recognized for type {type_name}"))
}

#[cold]
fn unsupported(field: &str, type_name: &str) -> SqlError {
    SqlError::unsupported(format!("unit \"{field}\" not supported for type {type_name}"))
}

/// Whether a word is a unit at all: then it is unsupported where it has no meaning, else unrecognized.
fn is_unit(field: &str) -> bool {
    matches!(
        field,
        "microseconds"
            | "milliseconds"
            | "second"
            | "minute"
            | "hour"
            | "day"
            | "week"
            | "month"
            | "quarter"
            | "year"
            | "decade"
            | "century"
            | "millennium"
            | "epoch"
            | "dow"
            | "doy"
            | "isodow"
            | "isoyear"
            | "julian"
            | "timezone"
            | "timezone_hour"
            | "timezone_minute"
    )
}

fn refuse(field: &str, type_name: &str) -> SqlError {
    if is_unit(field) { unsupported(field, type_name) } else { unrecognized(field, type_name) }
}

/// A field's value: an integer, or microseconds at a scale.
enum Part {
    Int(i64),
    /// `value / 10^scale`
    Scaled(i128, u16),
    /// Digits that only a division tells.
    Exact(Numeric),
}

impl Part {
    fn numeric(self) -> Numeric {
        match self {
            Self::Int(v) => v.into(),
            Self::Scaled(v, scale) => Numeric::of_i128(v, scale),
            Self::Exact(v) => v,
        }
    }

    fn float(self) -> f64 {
        match self {
            Self::Int(v) => v as f64,
            Self::Scaled(v, scale) => v as f64 / 10_f64.powi(scale.into()),
            Self::Exact(v) => v.approximate(),
        }
    }
}

/// Fields of the time of a day.
fn time_part(field: &str, micros: i64) -> Option<Part> {
    let minute = micros % MINUTE_MICROS;
    Some(match field {
        "microseconds" => Part::Int(minute),
        "milliseconds" => Part::Scaled(minute.into(), 3),
        "second" => Part::Scaled(minute.into(), 6),
        "minute" => Part::Int(micros / MINUTE_MICROS % 60),
        "hour" => Part::Int(micros / HOUR_MICROS),
        _ => return None,
    })
}

/// Years BC count from -1.
fn shown_year(year: i64) -> i64 {
    if year > 0 { year } else { year - 1 }
}

/// Fields of a date.
fn date_part(field: &str, day: i64) -> Option<Part> {
    let (year, month, dom) = calendar::civil(day);
    // 1 to 100 are the first century, 1 BC to 100 BC the first before
    let counted = |length: i64| {
        if year > 0 { (year + length - 1) / length } else { -((length - 1 - (year - 1)) / length) }
    };
    Some(Part::Int(match field {
        "day" => dom,
        "week" => calendar::iso_week(day).1,
        "month" => month,
        "quarter" => (month - 1) / 3 + 1,
        "year" => shown_year(year),
        "decade" => year.div_euclid(10),
        "century" => counted(100),
        "millennium" => counted(1_000),
        "dow" => calendar::weekday(day),
        "isodow" => calendar::iso_weekday(day),
        "doy" => day - calendar::day_of(year, 1, 1) + 1,
        "isoyear" => shown_year(calendar::iso_week(day).0),
        "julian" => day + calendar::POSTGRES_EPOCH_JULIAN,
        _ => return None,
    }))
}

/// What an infinite time has: infinity where time runs on, nothing where it goes in circles.
fn infinite_part(field: &str, positive: bool, type_name: &str) -> Result<Option<f64>> {
    match field {
        "year" | "decade" | "century" | "millennium" | "julian" | "isoyear" | "epoch" => {
            Ok(Some(if positive { f64::INFINITY } else { f64::NEG_INFINITY }))
        }
        _ if is_unit(field) => Ok(None),
        _ => Err(unrecognized(field, type_name)),
    }
}

/// The field of a local time; for a timestamptz the moment and its offset too.
fn timestamp_part(field: &str, local: i64, utc: Option<(i64, i32)>) -> Result<Part> {
    let type_name = if utc.is_some() { "timestamp with time zone" } else { "timestamp without time zone" };
    let (day, time) = calendar::split(local);
    let offset = utc.map(|(_, offset)| i64::from(offset));
    let part = match (field, offset) {
        ("epoch", _) => {
            let unix = i128::from(utc.map_or(local, |(utc, _)| utc))
                + i128::from(calendar::UNIX_EPOCH_DAYS) * i128::from(DAY_MICROS);
            Some(Part::Scaled(unix, 6))
        }
        // with a time the Julian day has a fraction
        ("julian", _) => {
            let julian = Numeric::from(day + calendar::POSTGRES_EPOCH_JULIAN);
            Some(Part::Exact(julian.add(&Numeric::from(time).div(&DAY_MICROS.into())?)?))
        }
        ("timezone", Some(offset)) => Some(Part::Int(offset)),
        ("timezone_hour", Some(offset)) => Some(Part::Int(offset / 3_600)),
        ("timezone_minute", Some(offset)) => Some(Part::Int(offset / 60 % 60)),
        _ => date_part(field, day).or_else(|| time_part(field, time)),
    };
    part.ok_or_else(|| refuse(field, type_name))
}

fn interval_part(field: &str, v: Interval) -> Result<Part> {
    let year = i64::from(v.months / 12);
    let part = match field {
        "day" => Part::Int(v.days.into()),
        "month" => Part::Int((v.months % 12).into()),
        "quarter" => Part::Int(i64::from(v.months % 12) / 3 + 1),
        "year" => Part::Int(year),
        "decade" => Part::Int(year / 10),
        "century" => Part::Int(year / 100),
        "millennium" => Part::Int(year / 1_000),
        "epoch" => {
            // a year has 365.25 days here, a month 30
            let days = i128::from(v.months / 12) * 36_525
                + (i128::from(v.months % 12) * 30 + i128::from(v.days)) * 100;
            Part::Scaled(days * i128::from(DAY_MICROS / 100) + i128::from(v.micros), 6)
        }
        _ => return time_part(field, v.micros).ok_or_else(|| refuse(field, "interval")),
    };
    Ok(part)
}

/// The field of a value of any of the types, or the float that stands for it of an infinite one.
fn part_of(field: &str, value: &Value, env: &Env) -> Result<std::result::Result<Part, Option<f64>>> {
    let field = field_of(field);
    Ok(Ok(match value {
        Value::Date(day) if calendar::is_infinite_date(*day) => {
            return infinite_part(&field, *day > 0, "date").map(Err);
        }
        Value::Date(day) => {
            let day = i64::from(*day);
            match field.as_str() {
                "epoch" => Part::Int((day + calendar::UNIX_EPOCH_DAYS) * 86_400),
                name => date_part(name, day).ok_or_else(|| refuse(name, "date"))?,
            }
        }
        Value::Time(v) => match field.as_str() {
            "epoch" => Part::Scaled((*v).into(), 6),
            name => time_part(name, *v).ok_or_else(|| refuse(name, "time without time zone"))?,
        },
        Value::Timetz(v) => {
            let offset = i64::from(v.east());
            match field.as_str() {
                "epoch" => Part::Scaled(v.utc().into(), 6),
                "timezone" => Part::Int(offset),
                "timezone_hour" => Part::Int(offset / 3_600),
                "timezone_minute" => Part::Int(offset / 60 % 60),
                name => time_part(name, v.micros).ok_or_else(|| refuse(name, "time with time zone"))?,
            }
        }
        Value::Timestamp(v) | Value::Timestamptz(v) if calendar::is_infinite(*v) => {
            let zoned = matches!(value, Value::Timestamptz(_));
            let name = if zoned { "timestamp with time zone" } else { "timestamp without time zone" };
            return infinite_part(&field, *v > 0, name).map(Err);
        }
        Value::Timestamp(v) => timestamp_part(&field, *v, None)?,
        Value::Timestamptz(v) => {
            let offset = env.zone.offset_at(*v);
            timestamp_part(&field, v.saturating_add(i64::from(offset) * SECOND_MICROS), Some((*v, offset)))?
        }
        Value::Interval(v) => interval_part(&field, *v)?,
        other => return Err(super::args::mismatch(other)),
    }))
}

fn extract(field: &str, value: &Value, env: &Env) -> Result<Value> {
    Ok(match part_of(field, value, env)? {
        Ok(part) => Value::Numeric(part.numeric()),
        Err(Some(v)) => Value::Numeric(Numeric::from_f64(v)),
        Err(None) => Value::Null,
    })
}

fn date_part_float(field: &str, value: &Value, env: &Env) -> Result<Value> {
    // PostgreSQL adds floats here
    if let Value::Timetz(v) = value
        && field_of(field) == "epoch"
    {
        return Ok(Value::Float8(v.micros as f64 / 1e6 + f64::from(v.west)));
    }
    Ok(match part_of(field, value, env)? {
        Ok(part) => Value::Float8(part.float()),
        Err(Some(v)) => Value::Float8(v),
        Err(None) => Value::Null,
    })
}

/// The start of the unit that a local time is in.
fn truncate(field: &str, micros: i64, type_name: &str) -> Result<i64> {
    let field = field_of(field);
    if calendar::is_infinite(micros) {
        return if is_unit(&field) { Ok(micros) } else { Err(unrecognized(&field, type_name)) };
    }
    let (day, time) = calendar::split(micros);
    let (year, month, _) = calendar::civil(day);
    let start = |year: i64, month: i64| calendar::day_of(year, month, 1) * DAY_MICROS;
    let cut = |unit: i64| day * DAY_MICROS + time / unit * unit;
    // centuries and millennia start with a year 1, whatever the sign
    let first = |length: i64| {
        if year > 0 {
            (year - 1) / length * length + 1
        } else {
            -((length - 1 - (year - 1)) / length) * length + 1
        }
    };
    check(match field.as_str() {
        "microseconds" => micros,
        "milliseconds" => cut(1_000),
        "second" => cut(SECOND_MICROS),
        "minute" => cut(MINUTE_MICROS),
        "hour" => cut(HOUR_MICROS),
        "day" => day * DAY_MICROS,
        "week" => (day + 1 - calendar::iso_weekday(day)) * DAY_MICROS,
        "month" => start(year, month),
        "quarter" => start(year, (month - 1) / 3 * 3 + 1),
        "year" => start(year, 1),
        "decade" => start(year.div_euclid(10) * 10, 1),
        "century" => start(first(100), 1),
        "millennium" => start(first(1_000), 1),
        name => return Err(refuse(name, type_name)),
    })
}

fn truncate_tz(field: &str, micros: i64, zone: &Zone) -> Result<i64> {
    const NAME: &str = "timestamp with time zone";
    if calendar::is_infinite(micros) {
        return truncate(field, micros, NAME);
    }
    let offset = zone.offset_at(micros);
    let local = micros.saturating_add(i64::from(offset) * SECOND_MICROS);
    let cut = truncate(field, local, NAME)?;
    // within a day the offset stays, so that an hour that comes twice is cut to itself
    if matches!(field_of(field).as_str(), "microseconds" | "milliseconds" | "second" | "minute" | "hour") {
        return check(cut - i64::from(offset) * SECOND_MICROS);
    }
    zone.to_utc(cut).ok_or_else(timestamp_out_of_range)
}

fn truncate_interval(field: &str, v: Interval) -> Result<Interval> {
    let field = field_of(field);
    let years = |unit: i32| Interval::new(v.months / 12 / unit * unit * 12, 0, 0);
    let cut = |unit: i64| Interval::new(v.months, v.days, v.micros / unit * unit);
    Ok(match field.as_str() {
        "microseconds" => v,
        "milliseconds" => cut(1_000),
        "second" => cut(SECOND_MICROS),
        "minute" => cut(MINUTE_MICROS),
        "hour" => cut(HOUR_MICROS),
        "day" => Interval::new(v.months, v.days, 0),
        "month" => Interval::new(v.months, 0, 0),
        "quarter" => Interval::new(v.months / 3 * 3, 0, 0),
        "year" => years(1),
        "decade" => years(10),
        "century" => years(100),
        "millennium" => years(1_000),
        name => return Err(refuse(name, "interval")),
    })
}

pub(super) fn register(r: &mut Registry) {
    r.add("extract(text,date) numeric", code!(|c; f: &str, v: &Value| extract(f, v, c.env)));
    r.add("extract(text,time) numeric", code!(|c; f: &str, v: &Value| extract(f, v, c.env)));
    r.add("extract(text,timetz) numeric", code!(|c; f: &str, v: &Value| extract(f, v, c.env)));
    r.add("extract(text,timestamp) numeric", code!(|c; f: &str, v: &Value| extract(f, v, c.env)));
    r.stable("extract(text,timestamptz) numeric", code!(|c; f: &str, v: &Value| extract(f, v, c.env)));
    r.add("extract(text,interval) numeric", code!(|c; f: &str, v: &Value| extract(f, v, c.env)));
    // of a date it is that of its midnight, so that it has an hour
    r.add(
        "date_part(text,date) float8",
        code!(|c; f: &str, v: Date| date_part_float(f, &Value::Timestamp(date_to_timestamp(v.0)?), c.env)),
    );
    r.add("date_part(text,time) float8", code!(|c; f: &str, v: &Value| date_part_float(f, v, c.env)));
    r.add("date_part(text,timetz) float8", code!(|c; f: &str, v: &Value| date_part_float(f, v, c.env)));
    r.add("date_part(text,timestamp) float8", code!(|c; f: &str, v: &Value| date_part_float(f, v, c.env)));
    r.stable(
        "date_part(text,timestamptz) float8",
        code!(|c; f: &str, v: &Value| date_part_float(f, v, c.env)),
    );
    r.add("date_part(text,interval) float8", code!(|c; f: &str, v: &Value| date_part_float(f, v, c.env)));
    r.add(
        "date_trunc(text,timestamp) timestamp",
        code!(|f: &str, v: Timestamp| truncate(f, v.0, "timestamp without time zone").map(Timestamp)),
    );
    r.stable(
        "date_trunc(text,timestamptz) timestamptz",
        code!(|c; f: &str, v: Timestamptz| truncate_tz(f, v.0, &c.env.zone).map(Timestamptz)),
    );
    r.stable(
        "date_trunc(text,timestamptz,text) timestamptz",
        code!(|f: &str, v: Timestamptz, zone: &str| truncate_tz(f, v.0, &zone_of(zone)?).map(Timestamptz)),
    );
    r.add("date_trunc(text,interval) interval", code!(|f: &str, v: Interval| truncate_interval(f, v)));
}
