//! The type of a value, and the clocks of the session.

use super::Registry;
use super::args::{Date, Time, Timestamp, Timestamptz, code};
use super::tochar::to_char_tz;
use crate::calendar;
use crate::cast::{timestamp_to_date, timestamptz_to_timestamp};
use crate::value::Value;
use crate::zone::clock;

pub(super) fn register(r: &mut Registry) {
    r.nullable("pg_typeof(any) regtype", |call, _| Ok(Value::Oid(call.args[0].oid())));
    for signature in ["now() timestamptz", "transaction_timestamp() timestamptz"] {
        r.stable(signature, |call, _| Ok(Value::Timestamptz(call.env.transaction_time)));
    }
    r.stable("statement_timestamp() timestamptz", |call, _| Ok(Value::Timestamptz(call.env.statement_time)));
    r.volatile("clock_timestamp() timestamptz", |_, _| Ok(Value::Timestamptz(clock())));
    r.volatile(
        "timeofday() text",
        code!(|call;| {
            let now = Timestamptz(clock());
            to_char_tz(now, "Dy Mon DD HH24:MI:SS.US YYYY TZ", call.env)
        }),
    );
    // what CURRENT_DATE, LOCALTIME and LOCALTIMESTAMP mean
    r.stable(
        "current_date() date",
        code!(|call;| timestamptz_to_timestamp(call.env.transaction_time, call.env)
            .map(|local| Date(timestamp_to_date(local)))),
    );
    r.stable(
        "localtimestamp() timestamp",
        code!(|call;| timestamptz_to_timestamp(call.env.transaction_time, call.env).map(Timestamp)),
    );
    r.stable(
        "localtime() time",
        code!(|call;| timestamptz_to_timestamp(call.env.transaction_time, call.env)
            .map(|local| Time(calendar::split(local).1))),
    );
    r.stable("current_timestamp() timestamptz", |call, _| Ok(Timestamptz(call.env.transaction_time).into()));
}
