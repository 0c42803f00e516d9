//! Times of day with their distance from UTC.

use super::Registry;
use super::args::{Date, Time, Timestamptz, code};
use super::datetime::{time_plus, zone_of, zone_of_interval};
use crate::calendar::{self, DAY_MICROS};
use crate::cast::date_to_timestamp;
use crate::error::{Result, SqlError, SqlState};
use crate::interval::Interval;
use crate::timetz::Timetz;
use crate::value::Value;

impl From<Timetz> for Value {
    fn from(v: Timetz) -> Self {
        Self::Timetz(v)
    }
}

/// When a clock of a date shows a time.
fn on(day: Date, time: Timetz) -> Result<Timestamptz> {
    let midnight = date_to_timestamp(day.0)?;
    if calendar::is_infinite(midnight) {
        return Ok(Timestamptz(midnight));
    }
    let micros = midnight.saturating_add(time.utc());
    if calendar::is_timestamp(micros) {
        return Ok(Timestamptz(micros));
    }
    Err(SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp"))
}

fn plus(time: Timetz, v: Interval) -> Timetz {
    Timetz { micros: time_plus(time.micros, v), ..time }
}

fn minus(time: Timetz, v: Interval) -> Timetz {
    Timetz { micros: (time.micros - v.micros % DAY_MICROS).rem_euclid(DAY_MICROS), ..time }
}

pub(super) fn register(r: &mut Registry) {
    for signature in ["+(date,timetz) timestamptz", "timestamptz(date,timetz) timestamptz"] {
        r.add(signature, code!(|day: Date, time: Timetz| on(day, time)));
    }
    r.add("+(timetz,date) timestamptz", code!(|time: Timetz, day: Date| on(day, time)));
    r.add("+(timetz,interval) timetz", code!(|time: Timetz, v: Interval| Ok(plus(time, v))));
    r.add("+(interval,timetz) timetz", code!(|v: Interval, time: Timetz| Ok(plus(time, v))));
    r.add("-(timetz,interval) timetz", code!(|time: Timetz, v: Interval| Ok(minus(time, v))));
    // what a zone's offset is now
    r.stable(
        "timezone(text,timetz) timetz",
        code!(|c; zone: &str, time: Timetz| {
            zone_of(zone).and_then(|zone| time.at_offset(zone.offset_at(c.env.transaction_time)))
        }),
    );
    r.add(
        "timezone(interval,timetz) timetz",
        code!(|zone: Interval, time: Timetz| {
            zone_of_interval(zone).and_then(|zone| time.at_offset(zone.offset_at(0)))
        }),
    );
    r.add("time(timetz) time", code!(|time: Timetz| Ok(Time(time.micros))));
    r.stable("timetz(time) timetz", code!(|c; time: Time| Timetz::of_today(time.0, c.env)));
    r.stable("current_time() timetz", |call, _| {
        crate::cast::timestamptz_to_timetz(call.env.transaction_time, call.env)
    });
}
