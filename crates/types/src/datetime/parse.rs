//! Input of dates and times: the forms that PostgreSQL reads, by its rules of what a number means where.

use super::bad::{Bad, error};
use super::fields::{Found, Special, Where, is_keyword};
use super::iso::{iso_date, iso_time, iso_timestamp};
use super::token::{Field, split};
use crate::binary::round_micros;
use crate::calendar::{self, DAY_MICROS, SECOND_MICROS};
use crate::env::Env;
use crate::error::{Result, SqlError, SqlState};
use crate::timetz::Timetz;
use crate::ty::Type;
use crate::value::Value;

fn found(text: &str, env: &Env, type_name: &str) -> Result<Found> {
    let fields = split(text, is_keyword).filter(|fields| !fields.is_empty());
    let found = fields.ok_or(Bad::Format).and_then(|fields| Found::read(&fields, env));
    found.map_err(|bad| error(bad, text, type_name))
}

#[cold]
fn out_of_range(what: &str, text: &str) -> SqlError {
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("{what} out of range: \"{text}\""))
}

/// Reads a date.
pub(crate) fn parse_date(text: &str, env: &Env) -> Result<Value> {
    const NAME: &str = "date";
    if let Some((day, "")) = iso_date(text) {
        return Ok(Value::Date(day as i32));
    }
    let found = found(text, env, NAME)?;
    let bad = |bad| error(bad, text, NAME);
    let day = match found.special {
        Some(Special::Infinity) => return Ok(Value::Date(calendar::DATE_INFINITY)),
        Some(Special::NegInfinity) => return Ok(Value::Date(calendar::DATE_NEG_INFINITY)),
        Some(Special::Epoch) => -calendar::UNIX_EPOCH_DAYS,
        Some(Special::Now) => calendar::split(env.zone.to_local(env.transaction_time).unwrap_or(0)).0,
        None => {
            found.micros().map_err(bad)?;
            found.day().map_err(bad)?.ok_or_else(|| bad(Bad::Format))?
        }
    };
    if !calendar::is_day(day) {
        return Err(out_of_range("date", text));
    }
    Ok(Value::Date(day as i32))
}

/// Reads a time; a date or an offset beside it does not matter.
pub(crate) fn parse_time(text: &str, ty: Type, env: &Env) -> Result<Value> {
    if let Some((micros, "")) = iso_time(text) {
        return Ok(Value::Time(round_micros(micros, ty)));
    }
    let (micros, _) = time_of_day(text, "time", env)?;
    Ok(Value::Time(round_micros(micros, ty)))
}

/// Reads a time with a distance from UTC. Without one it is that of the session's zone: at the date, if there is one,
/// and today otherwise.
pub(crate) fn parse_timetz(text: &str, ty: Type, env: &Env) -> Result<Value> {
    const NAME: &str = "time with time zone";
    let (micros, found) = time_of_day(text, NAME, env)?;
    let bad = |bad| error(bad, text, NAME);
    let local = |day: i64| day.saturating_mul(DAY_MICROS).saturating_add(micros);
    let read = match (&found.place, found.day().map_err(bad)?) {
        (Some(Where::Offset(east)), _) => Timetz::new(micros, *east),
        (Some(Where::Zone(zone)), Some(day)) => Timetz::new(micros, zone.offset_of_local(local(day))),
        (None, Some(day)) => Timetz::new(micros, env.zone.offset_of_local(local(day))),
        (None, None) => Timetz::of_today(micros, env)?,
        (Some(Where::Zone(zone)), None) => {
            Timetz::of_today(micros, &Env { zone: zone.clone(), ..env.clone() })?
        }
    };
    Ok(Value::Timetz(Timetz { micros: round_micros(micros, ty), ..read.checked()? }))
}

/// The time of day that a text says, and what else.
fn time_of_day(text: &str, type_name: &str, env: &Env) -> Result<(i64, Found)> {
    let bad = |bad| error(bad, text, type_name);
    let fields =
        split(text, is_keyword).filter(|fields| !fields.is_empty()).ok_or_else(|| bad(Bad::Format))?;
    // ISO 8601 has a T before a time
    let fields = match &fields[..] {
        [Field::Word(word), rest @ ..] if word == "t" && !rest.is_empty() => rest,
        fields => fields,
    };
    let found = match fields {
        // without a date, digits are a time
        [Field::Number(digits), rest @ ..]
            if matches!(digits.split('.').next().map_or(0, str::len), 4 | 6) =>
        {
            let mut found = Found::read(rest, env).map_err(bad)?;
            let date = found.julian.replace(0);
            found.run_together(digits).map_err(bad)?;
            found.julian = date;
            found
        }
        // `040506-08` is no date where none is asked for
        [Field::Date(text), rest @ ..]
            if text.starts_with(|c: char| c.is_ascii_digit())
                && !matches!(rest.first(), Some(Field::Time(_)))
                && !matches!(rest.last(), Some(Field::Date(_)))
                && let Some((digits, offset)) = text.split_once('-') =>
        {
            let mut found = Found::read(rest, env).map_err(bad)?;
            found.offset(&format!("-{offset}")).map_err(bad)?;
            let date = found.julian.replace(0);
            found.run_together(digits).map_err(bad)?;
            found.julian = date;
            found
        }
        fields => Found::read(fields, env).map_err(bad)?,
    };
    let micros = match found.special {
        Some(Special::Now) => calendar::split(env.zone.to_local(env.transaction_time).unwrap_or(0)).1,
        Some(_) => return Err(bad(Bad::Format)),
        None if found.time.is_none() => return Err(bad(Bad::Format)),
        None => found.micros().map_err(bad)?,
    };
    if matches!(found.place, Some(Where::Zone(ref zone)) if zone.changes()) && !found.has_date() {
        return Err(bad(Bad::Format));
    }
    Ok((micros, found))
}

/// Local microseconds and the place of a text; or what is the same everywhere.
enum Instant {
    Fixed(i64),
    Local(i64, Option<Where>),
}

/// `margin` is how many days the local time may lie out of range, as that in UTC does not.
fn instant(text: &str, env: &Env, type_name: &str, margin: i64) -> Result<Instant> {
    let found = found(text, env, type_name)?;
    let bad = |bad| error(bad, text, type_name);
    Ok(match found.special {
        Some(Special::Infinity) => Instant::Fixed(calendar::TIMESTAMP_INFINITY),
        Some(Special::NegInfinity) => Instant::Fixed(calendar::TIMESTAMP_NEG_INFINITY),
        Some(Special::Epoch) => Instant::Fixed(-calendar::UNIX_EPOCH_DAYS * DAY_MICROS),
        Some(Special::Now) => Instant::Fixed(env.transaction_time),
        None => {
            let day = found.day().map_err(bad)?.ok_or_else(|| bad(Bad::Format))?;
            let micros = found.micros().map_err(bad)?;
            let local = day.checked_mul(DAY_MICROS).and_then(|day| day.checked_add(micros));
            let is_near = (-margin..=margin).any(|by| calendar::is_day(day.saturating_add(by)));
            let local = local.filter(|_| is_near).ok_or_else(|| out_of_range("timestamp", text))?;
            Instant::Local(local, found.place)
        }
    })
}

fn checked(micros: i64, ty: Type, text: &str) -> Result<i64> {
    let rounded = round_micros(micros, ty);
    if calendar::is_timestamp(rounded) { Ok(rounded) } else { Err(out_of_range("timestamp", text)) }
}

/// Reads a timestamp; an offset behind it does not matter.
pub(crate) fn parse_timestamp(text: &str, ty: Type, env: &Env) -> Result<Value> {
    if let Some((micros, "")) = iso_timestamp(text) {
        return Ok(Value::Timestamp(round_micros(micros, ty)));
    }
    Ok(Value::Timestamp(match instant(text, env, "timestamp", 0)? {
        Instant::Fixed(v) if calendar::is_infinite(v) => v,
        Instant::Fixed(v) if v == env.transaction_time => round_micros(env.zone.to_local(v).unwrap_or(v), ty),
        Instant::Fixed(v) => v,
        Instant::Local(v, _) => checked(v, ty, text)?,
    }))
}

/// Reads a timestamptz; without an offset it is a time of the session's zone.
pub(crate) fn parse_timestamptz(text: &str, ty: Type, env: &Env) -> Result<Value> {
    const NAME: &str = "timestamp with time zone";
    let (local, place) = match iso_timestamp(text) {
        Some((local, "")) => (local, None),
        Some((local, "Z" | "+00" | "+00:00")) => (local, Some(Where::Offset(0))),
        _ => match instant(text, env, NAME, 1)? {
            Instant::Fixed(v) if calendar::is_infinite(v) => return Ok(Value::Timestamptz(v)),
            Instant::Fixed(v) => return Ok(Value::Timestamptz(round_micros(v, ty))),
            Instant::Local(local, place) => (local, place),
        },
    };
    let utc = match place {
        None => env.zone.to_utc(local),
        Some(Where::Offset(east)) => local.checked_sub(i64::from(east) * SECOND_MICROS),
        Some(Where::Zone(zone)) => zone.to_utc(local),
    };
    let utc = utc.ok_or_else(|| out_of_range("timestamp", text))?;
    Ok(Value::Timestamptz(checked(utc, ty, text)?))
}
