//! Dates and times: arithmetic, fields, truncation, construction.

use super::Registry;
use super::args::{Date, Time, Timestamp, Timestamptz, code, mismatch};
use crate::calendar::{self, DAY_MICROS, HOUR_MICROS, MINUTE_MICROS, SECOND_MICROS};
use crate::cast::{
    date_to_timestamp, timestamp_out_of_range, timestamp_to_timestamptz, timestamptz_to_timestamp,
};
use crate::datetime::{Bad, named_zone, parse_offset};
use crate::env::Env;
use crate::error::{Result, SqlError, SqlState};
use crate::interval::{self, Interval};
use crate::value::Value;
use crate::zone::Zone;

#[cold]
fn overflow(message: &'static str) -> SqlError {
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
}

pub(super) fn check(micros: i64) -> Result<i64> {
    if calendar::is_timestamp(micros) { Ok(micros) } else { Err(timestamp_out_of_range()) }
}

/// `timestamp + interval`: months first, then days, then time.
pub(crate) fn add_interval(micros: i64, v: Interval) -> Result<i64> {
    if calendar::is_infinite(micros) {
        return Ok(micros);
    }
    let mut micros = add_months(micros, v.months)?;
    if v.days != 0 {
        // the days alone may be more than there are microseconds for
        let (day, time) = calendar::split(micros);
        let day = (day + i64::from(v.days)).checked_mul(DAY_MICROS);
        micros = day.and_then(|day| day.checked_add(time)).ok_or_else(timestamp_out_of_range)?;
    }
    check(micros.checked_add(v.micros).ok_or_else(timestamp_out_of_range)?)
}

/// The same day of another month, or its last.
fn add_months(micros: i64, months: i32) -> Result<i64> {
    if months == 0 {
        return Ok(micros);
    }
    let (day, time) = calendar::split(micros);
    let (year, month, dom) = calendar::civil(day);
    let total = year * 12 + month - 1 + i64::from(months);
    let (year, month) = (total.div_euclid(12), total.rem_euclid(12) + 1);
    let dom = dom.min(calendar::days_in_month(year, month));
    let day = calendar::day_of(year, month, dom);
    let sum = day.checked_mul(DAY_MICROS).and_then(|v| v.checked_add(time));
    sum.ok_or_else(timestamp_out_of_range)
}

/// `timestamptz + interval`: months and days are those of the session's clocks.
pub(super) fn add_interval_tz(micros: i64, v: Interval, env: &Env) -> Result<i64> {
    if calendar::is_infinite(micros) {
        return Ok(micros);
    }
    let mut micros = micros;
    if v.months != 0 || v.days != 0 {
        let local = timestamptz_to_timestamp(micros, env)?;
        let local = add_interval(local, Interval::new(v.months, v.days, 0))?;
        micros = timestamp_to_timestamptz(local, env)?;
    }
    check(micros.checked_add(v.micros).ok_or_else(timestamp_out_of_range)?)
}

/// The difference of two times, in days and time.
fn difference(a: i64, b: i64) -> Result<Interval> {
    if calendar::is_infinite(a) || calendar::is_infinite(b) {
        return Err(overflow("cannot subtract infinite timestamps"));
    }
    let micros = a.checked_sub(b).ok_or_else(interval::out_of_range)?;
    Ok(Interval::new(0, (micros / DAY_MICROS) as i32, micros % DAY_MICROS))
}

fn add_days(day: i32, days: i32) -> Result<i32> {
    if calendar::is_infinite_date(day) {
        return Ok(day);
    }
    let sum = i64::from(day) + i64::from(days);
    if calendar::is_day(sum) { Ok(sum as i32) } else { Err(overflow("date out of range")) }
}

fn subtract_dates(a: i32, b: i32) -> Result<i32> {
    if calendar::is_infinite_date(a) || calendar::is_infinite_date(b) {
        return Err(overflow("cannot subtract infinite dates"));
    }
    Ok(a - b)
}

/// `age`: years, months and days as people count them.
fn age(a: i64, b: i64) -> Result<Interval> {
    if calendar::is_infinite(a) || calendar::is_infinite(b) {
        return difference(a, b);
    }
    let (late, early, sign) = if a >= b { (a, b, 1) } else { (b, a, -1) };
    let ((day1, time1), (day2, time2)) = (calendar::split(late), calendar::split(early));
    let ((y1, m1, d1), (y2, m2, d2)) = (calendar::civil(day1), calendar::civil(day2));
    let mut micros = time1 - time2;
    let mut days = d1 - d2;
    let mut months = (y1 - y2) * 12 + m1 - m2;
    if micros < 0 {
        micros += DAY_MICROS;
        days -= 1;
    }
    while days < 0 {
        // a day is borrowed from the month that the earlier time is in
        days += calendar::days_in_month(y2, m2);
        months -= 1;
    }
    Ok(Interval::new((months * sign) as i32, (days * sign) as i32, micros * sign))
}

/// The zone of a name or an abbreviation, or one as POSIX writes it.
pub(super) fn zone_of(name: &str) -> Result<Zone> {
    named_zone(name).or_else(|| Zone::posix(name)).ok_or_else(|| unknown_zone(name))
}

#[cold]
fn unknown_zone(name: &str) -> SqlError {
    SqlError::invalid_parameter(format!("time zone \"{name}\" not recognized"))
}

/// The zone of an offset, which counts east as it does in a timestamp; or of a name.
fn sane_zone(name: &str) -> Result<Zone> {
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        let what = format!("invalid input syntax for type numeric time zone: \"{name}\"");
        let hint = "Numeric time zones must have \"-\" or \"+\" as first character.";
        return Err(SqlError::invalid_parameter(what).hint(hint));
    }
    match parse_offset(name) {
        Ok(east) => Zone::fixed(east).ok_or_else(|| unknown_zone(name)),
        Err(Bad::Offset) => {
            Err(SqlError::invalid_parameter(format!("numeric time zone \"{name}\" out of range")))
        }
        Err(Bad::Format) => zone_of(name),
        Err(_) => Err(unknown_zone(name)),
    }
}

/// The zone of an interval, which counts east.
pub(super) fn zone_of_interval(v: Interval) -> Result<Zone> {
    let bad = || {
        let shown = Value::Interval(v).to_text(crate::Type::INTERVAL, &Env::default()).unwrap_or_default();
        let what = format!("interval time zone \"{shown}\" must not include months or days");
        SqlError::invalid_parameter(what)
    };
    if v.months != 0 || v.days != 0 {
        return Err(bad());
    }
    Zone::fixed((v.micros / SECOND_MICROS) as i32).ok_or_else(bad)
}

fn at_zone(zone: &Zone, local: i64) -> Result<i64> {
    if calendar::is_infinite(local) {
        return Ok(local);
    }
    zone.to_utc(local).ok_or_else(timestamp_out_of_range)
}

fn in_zone(zone: &Zone, utc: i64) -> Result<i64> {
    if calendar::is_infinite(utc) {
        return Ok(utc);
    }
    zone.to_local(utc).filter(|v| calendar::is_timestamp(*v)).ok_or_else(timestamp_out_of_range)
}

fn make_date(year: i32, month: i32, day: i32) -> Result<i64> {
    let bad = || overflow_text(format!("date field value out of range: {year}-{month:02}-{day:02}"));
    // negative years are BC
    let y = i64::from(if year < 0 { year + 1 } else { year });
    if year == 0
        || !(1..=12).contains(&month)
        || day < 1
        || i64::from(day) > calendar::days_in_month(y, month.into())
    {
        return Err(bad());
    }
    let found = calendar::day_of(y, month.into(), day.into());
    if calendar::is_day(found) {
        Ok(found)
    } else {
        Err(overflow_text(format!("date out of range: {year}-{month:02}-{day:02}")))
    }
}

#[cold]
fn overflow_text(message: String) -> SqlError {
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
}

fn make_time(hour: i32, minute: i32, seconds: f64) -> Result<i64> {
    let fits = (0..=24).contains(&hour)
        && (0..60).contains(&minute)
        && (0.0..=60.0).contains(&seconds)
        && (hour < 24 || (minute == 0 && seconds == 0.0));
    if !fits {
        return Err(overflow_text(format!("time field value out of range: {hour}:{minute:02}:{seconds:02}")));
    }
    let micros = (seconds * 1e6).round_ties_even() as i64;
    Ok(i64::from(hour) * HOUR_MICROS + i64::from(minute) * MINUTE_MICROS + micros)
}

fn make_timestamp(year: i32, month: i32, day: i32, hour: i32, minute: i32, seconds: f64) -> Result<i64> {
    let day = make_date(year, month, day)?;
    let time = make_time(hour, minute, seconds)?;
    let micros = day.checked_mul(DAY_MICROS).and_then(|v| v.checked_add(time));
    check(micros.ok_or_else(timestamp_out_of_range)?)
}

fn make_interval(parts: [i32; 6], seconds: f64) -> Result<Interval> {
    let [years, months, weeks, days, hours, minutes] = parts;
    if !seconds.is_finite() {
        return Err(interval::out_of_range());
    }
    let months = i64::from(years) * 12 + i64::from(months);
    let days = i64::from(weeks) * 7 + i64::from(days);
    let clock = i128::from(hours) * i128::from(HOUR_MICROS) + i128::from(minutes) * i128::from(MINUTE_MICROS);
    // the cast of a large float saturates
    let micros = ((seconds * 1e6).round_ties_even() as i128).saturating_add(clock);
    match (i32::try_from(months), i32::try_from(days), i64::try_from(micros)) {
        (Ok(months), Ok(days), Ok(micros)) => Ok(Interval::new(months, days, micros)),
        _ => Err(interval::out_of_range()),
    }
}

fn to_timestamp(seconds: f64) -> Result<i64> {
    let bad = || {
        // six digits, as C's %g
        let mut text = Vec::new();
        crate::float::write_f64(seconds, -9, &mut text);
        overflow_text(format!("timestamp out of range: \"{}\"", String::from_utf8_lossy(&text)))
    };
    if seconds.is_nan() {
        return Err(overflow("timestamp cannot be NaN"));
    }
    if seconds.is_infinite() {
        return Ok(if seconds > 0.0 {
            calendar::TIMESTAMP_INFINITY
        } else {
            calendar::TIMESTAMP_NEG_INFINITY
        });
    }
    let micros = (seconds - calendar::UNIX_EPOCH_DAYS as f64 * 86_400.0) * 1e6;
    // far outside, so that the cast does not saturate into the range
    if micros.abs() > 9.3e18 {
        return Err(bad());
    }
    check(micros.round_ties_even() as i64).map_err(|_| bad())
}

fn justify_hours(v: Interval) -> Result<Interval> {
    let whole = i32::try_from(v.micros / DAY_MICROS).map_err(|_| interval::out_of_range())?;
    let mut days = v.days.checked_add(whole).ok_or_else(interval::out_of_range)?;
    let mut micros = v.micros % DAY_MICROS;
    if days > 0 && micros < 0 {
        (days, micros) = (days - 1, micros + DAY_MICROS);
    } else if days < 0 && micros > 0 {
        (days, micros) = (days + 1, micros - DAY_MICROS);
    }
    Ok(Interval::new(v.months, days, micros))
}

fn justify_days(v: Interval) -> Result<Interval> {
    let mut months = v.months.checked_add(v.days / 30).ok_or_else(interval::out_of_range)?;
    let mut days = v.days % 30;
    if months > 0 && days < 0 {
        (months, days) = (months - 1, days + 30);
    } else if months < 0 && days > 0 {
        (months, days) = (months + 1, days - 30);
    }
    Ok(Interval::new(months, days, v.micros))
}

fn justify_interval(v: Interval) -> Result<Interval> {
    let (mut months, mut days, mut micros) = (v.months, v.days, v.micros);
    let into_months =
        |months: i32, days: i32| months.checked_add(days / 30).ok_or_else(interval::out_of_range);
    // days of the same sign as the time become months first, so that their sum does not overflow
    if days > 0 && micros > 0 || days < 0 && micros < 0 {
        (months, days) = (into_months(months, days)?, days % 30);
    }
    // a time has less days than this type holds, and those of other sign do not overflow
    days = days.saturating_add((micros / DAY_MICROS) as i32);
    micros %= DAY_MICROS;
    (months, days) = (into_months(months, days)?, days % 30);
    // all parts get the sign of the largest; a borrowed part is small, so that nothing overflows
    if months > 0 && (days < 0 || (days == 0 && micros < 0)) {
        (months, days) = (months - 1, days + 30);
    } else if months < 0 && (days > 0 || (days == 0 && micros > 0)) {
        (months, days) = (months + 1, days - 30);
    }
    if days > 0 && micros < 0 {
        (days, micros) = (days - 1, micros + DAY_MICROS);
    } else if days < 0 && micros > 0 {
        (days, micros) = (days + 1, micros - DAY_MICROS);
    }
    Ok(Interval::new(months, days, micros))
}

/// The start of the stride that a time is in, counted from an origin.
fn bin(stride: Interval, micros: i64, origin: i64) -> Result<i64> {
    if calendar::is_infinite(micros) {
        return Ok(micros);
    }
    if stride.months != 0 {
        return Err(SqlError::unsupported(
            "timestamps cannot be binned into intervals containing months or years",
        ));
    }
    if calendar::is_infinite(origin) {
        return Err(overflow("origin out of range"));
    }
    let width = i64::from(stride.days).checked_mul(DAY_MICROS).and_then(|v| v.checked_add(stride.micros));
    let width = width.ok_or_else(interval::out_of_range)?;
    if width <= 0 {
        return Err(overflow("stride must be greater than zero"));
    }
    let from = micros.checked_sub(origin).ok_or_else(interval::out_of_range)?;
    let start = from.div_euclid(width).checked_mul(width).and_then(|v| v.checked_add(origin));
    check(start.ok_or_else(timestamp_out_of_range)?)
}

pub(super) fn time_plus(time: i64, v: Interval) -> i64 {
    (time + v.micros % DAY_MICROS).rem_euclid(DAY_MICROS)
}

/// Midnight of the day of the transaction.
fn today(env: &Env) -> Result<i64> {
    let local = timestamptz_to_timestamp(env.transaction_time, env)?;
    Ok(calendar::split(local).0 * DAY_MICROS)
}

pub(super) fn register(r: &mut Registry) {
    register_arithmetic(r);
    super::date_part::register(r);
    r.add(
        "date_bin(interval,timestamp,timestamp) timestamp",
        code!(|by: Interval, v: Timestamp, from: Timestamp| bin(by, v.0, from.0).map(Timestamp)),
    );
    r.add(
        "date_bin(interval,timestamptz,timestamptz) timestamptz",
        code!(|by: Interval, v: Timestamptz, from: Timestamptz| bin(by, v.0, from.0).map(Timestamptz)),
    );
    r.add("age(timestamp,timestamp) interval", code!(|a: Timestamp, b: Timestamp| age(a.0, b.0)));
    r.stable(
        "age(timestamptz,timestamptz) interval",
        code!(|c; a: Timestamptz, b: Timestamptz| age(
            timestamptz_to_timestamp(a.0, c.env)?,
            timestamptz_to_timestamp(b.0, c.env)?
        )),
    );
    r.stable("age(timestamp) interval", code!(|c; v: Timestamp| age(today(c.env)?, v.0)));
    r.stable(
        "age(timestamptz) interval",
        code!(|c; v: Timestamptz| age(today(c.env)?, timestamptz_to_timestamp(v.0, c.env)?)),
    );
    r.add(
        "timezone(text,timestamp) timestamptz",
        code!(|zone: &str, v: Timestamp| at_zone(&zone_of(zone)?, v.0).map(Timestamptz)),
    );
    r.add(
        "timezone(text,timestamptz) timestamp",
        code!(|zone: &str, v: Timestamptz| in_zone(&zone_of(zone)?, v.0).map(Timestamp)),
    );
    r.add(
        "timezone(interval,timestamp) timestamptz",
        code!(|zone: Interval, v: Timestamp| at_zone(&zone_of_interval(zone)?, v.0).map(Timestamptz)),
    );
    r.add(
        "timezone(interval,timestamptz) timestamp",
        code!(|zone: Interval, v: Timestamptz| in_zone(&zone_of_interval(zone)?, v.0).map(Timestamp)),
    );
    r.add(
        "make_date(int4,int4,int4) date",
        code!(|y: i32, m: i32, d: i32| make_date(y, m, d).map(|day| Date(day as i32))),
    );
    r.add("make_time(int4,int4,float8) time", code!(|h: i32, m: i32, s: f64| make_time(h, m, s).map(Time)));
    r.add(
        "make_timestamp(int4,int4,int4,int4,int4,float8) timestamp",
        code!(|y: i32, mo: i32, d: i32, h: i32, m: i32, s: f64| make_timestamp(y, mo, d, h, m, s)
            .map(Timestamp)),
    );
    r.stable(
        "make_timestamptz(int4,int4,int4,int4,int4,float8) timestamptz",
        code!(|c; y: i32, mo: i32, d: i32, h: i32, m: i32, s: f64| make_timestamp(y, mo, d, h, m, s)
            .and_then(|v| timestamp_to_timestamptz(v, c.env))
            .map(Timestamptz)),
    );
    r.stable(
        "make_timestamptz(int4,int4,int4,int4,int4,float8,text) timestamptz",
        code!(|y: i32, mo: i32, d: i32, h: i32, m: i32, s: f64, zone: &str| {
            let local = make_timestamp(y, mo, d, h, m, s)?;
            at_zone(&sane_zone(zone)?, local).map(Timestamptz)
        }),
    );
    // what is not given is zero
    for signature in [
        "make_interval() interval",
        "make_interval(int4) interval",
        "make_interval(int4,int4) interval",
        "make_interval(int4,int4,int4) interval",
        "make_interval(int4,int4,int4,int4) interval",
        "make_interval(int4,int4,int4,int4,int4) interval",
        "make_interval(int4,int4,int4,int4,int4,int4) interval",
        "make_interval(int4,int4,int4,int4,int4,int4,float8) interval",
    ] {
        r.add(signature, |_, args| {
            let mut parts = [0; 6];
            let mut seconds = 0.0;
            for (at, arg) in args.iter().enumerate() {
                match (arg, parts.get_mut(at)) {
                    (Value::Int4(v), Some(part)) => *part = *v,
                    (Value::Float8(v), None) => seconds = *v,
                    (other, _) => return Err(mismatch(other)),
                }
            }
            make_interval(parts, seconds).map(Value::Interval)
        });
    }
    r.add("to_timestamp(float8) timestamptz", code!(|v: f64| to_timestamp(v).map(Timestamptz)));
    r.add("justify_hours(interval) interval", code!(|v: Interval| justify_hours(v)));
    r.add("justify_days(interval) interval", code!(|v: Interval| justify_days(v)));
    r.add("justify_interval(interval) interval", code!(|v: Interval| justify_interval(v)));
    r.add("isfinite(date) bool", code!(|v: Date| Ok(!calendar::is_infinite_date(v.0))));
    r.add("isfinite(timestamp) bool", code!(|v: Timestamp| Ok(!calendar::is_infinite(v.0))));
    r.add("isfinite(timestamptz) bool", code!(|v: Timestamptz| Ok(!calendar::is_infinite(v.0))));
    r.add("isfinite(interval) bool", |_, _| Ok(Value::Bool(true)));
    for signature in ["timestamp(date,time) timestamp", "datetime_pl(date,time) timestamp"] {
        r.add(signature, code!(|a: Date, t: Time| date_and_time(a, t)));
    }
    r.stable(
        "timestamptz(date,time) timestamptz",
        code!(|c; a: Date, t: Time| {
            date_and_time(a, t).and_then(|v| timestamp_to_timestamptz(v.0, c.env)).map(Timestamptz)
        }),
    );
    // casts that are written as functions
    r.add("date(timestamp) date", code!(|v: Timestamp| Ok(Date(crate::cast::timestamp_to_date(v.0)))));
    r.stable(
        "date(timestamptz) date",
        code!(|c; v: Timestamptz| timestamptz_to_timestamp(v.0, c.env)
            .map(|v| Date(crate::cast::timestamp_to_date(v)))),
    );
}

fn register_arithmetic(r: &mut Registry) {
    r.add("+(date,int4) date", code!(|a: Date, n: i32| add_days(a.0, n).map(Date)));
    r.add("+(int4,date) date", code!(|n: i32, a: Date| add_days(a.0, n).map(Date)));
    r.add(
        "-(date,int4) date",
        code!(|a: Date, n: i32| match n.checked_neg() {
            Some(n) => add_days(a.0, n).map(Date),
            None => Err(overflow("date out of range")),
        }),
    );
    r.add("-(date,date) int4", code!(|a: Date, b: Date| subtract_dates(a.0, b.0)));
    r.add(
        "+(date,interval) timestamp",
        code!(|a: Date, v: Interval| add_interval(date_to_timestamp(a.0)?, v).map(Timestamp)),
    );
    r.add(
        "+(interval,date) timestamp",
        code!(|v: Interval, a: Date| add_interval(date_to_timestamp(a.0)?, v).map(Timestamp)),
    );
    r.add(
        "-(date,interval) timestamp",
        code!(|a: Date, v: Interval| add_interval(date_to_timestamp(a.0)?, v.negated()?).map(Timestamp)),
    );
    r.add("+(date,time) timestamp", code!(|a: Date, t: Time| date_and_time(a, t)));
    r.add("+(time,date) timestamp", code!(|t: Time, a: Date| date_and_time(a, t)));
    r.add(
        "+(timestamp,interval) timestamp",
        code!(|a: Timestamp, v: Interval| add_interval(a.0, v).map(Timestamp)),
    );
    r.add(
        "+(interval,timestamp) timestamp",
        code!(|v: Interval, a: Timestamp| add_interval(a.0, v).map(Timestamp)),
    );
    r.add(
        "-(timestamp,interval) timestamp",
        code!(|a: Timestamp, v: Interval| add_interval(a.0, v.negated()?).map(Timestamp)),
    );
    r.add("-(timestamp,timestamp) interval", code!(|a: Timestamp, b: Timestamp| difference(a.0, b.0)));
    r.stable(
        "+(timestamptz,interval) timestamptz",
        code!(|c; a: Timestamptz, v: Interval| add_interval_tz(a.0, v, c.env).map(Timestamptz)),
    );
    r.stable(
        "+(interval,timestamptz) timestamptz",
        code!(|c; v: Interval, a: Timestamptz| add_interval_tz(a.0, v, c.env).map(Timestamptz)),
    );
    r.stable(
        "-(timestamptz,interval) timestamptz",
        code!(|c; a: Timestamptz, v: Interval| add_interval_tz(a.0, v.negated()?, c.env).map(Timestamptz)),
    );
    r.add(
        "-(timestamptz,timestamptz) interval",
        code!(|a: Timestamptz, b: Timestamptz| difference(a.0, b.0)),
    );
    r.add("+(time,interval) time", code!(|t: Time, v: Interval| Ok(Time(time_plus(t.0, v)))));
    r.add("+(interval,time) time", code!(|v: Interval, t: Time| Ok(Time(time_plus(t.0, v)))));
    r.add(
        "-(time,interval) time",
        code!(|t: Time, v: Interval| Ok(Time((t.0 - v.micros % DAY_MICROS).rem_euclid(DAY_MICROS)))),
    );
    r.add("-(time,time) interval", code!(|a: Time, b: Time| Ok(Interval::new(0, 0, a.0 - b.0))));
    r.add("+(interval,interval) interval", code!(|a: Interval, b: Interval| a.plus(b)));
    r.add("-(interval,interval) interval", code!(|a: Interval, b: Interval| a.minus(b)));
    r.add("-(interval) interval", code!(|a: Interval| a.negated()));
    r.add("*(interval,float8) interval", code!(|a: Interval, f: f64| a.times(f)));
    r.add("*(float8,interval) interval", code!(|f: f64, a: Interval| a.times(f)));
    r.add("/(interval,float8) interval", code!(|a: Interval, f: f64| a.divided_by(f)));
}

fn date_and_time(day: Date, time: Time) -> Result<Timestamp> {
    let midnight = date_to_timestamp(day.0)?;
    if calendar::is_infinite(midnight) {
        Ok(Timestamp(midnight))
    } else {
        check(midnight + time.0).map(Timestamp)
    }
}
