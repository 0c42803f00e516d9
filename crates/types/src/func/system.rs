//! The type of a value, sizes, and the clocks of the session.

use super::Registry;
use super::args::{Date, Time, Timestamp, Timestamptz, code};
use crate::calendar;
use crate::cast::{timestamp_to_date, timestamptz_to_timestamp};
use crate::value::Value;
use crate::zone::clock;

pub(super) fn register(r: &mut Registry) {
    r.nullable("pg_typeof(any) regtype", |call, _| Ok(Value::Oid(call.args[0].oid())));
    r.add("pg_size_pretty(int8) text", |_, args| {
        Ok(args[0].as_i64().map_or(Value::Null, |size| Value::from(size_pretty(size))))
    });
    for signature in ["now() timestamptz", "transaction_timestamp() timestamptz"] {
        r.stable(signature, |call, _| Ok(Value::Timestamptz(call.env.transaction_time)));
    }
    r.stable("statement_timestamp() timestamptz", |call, _| Ok(Value::Timestamptz(call.env.statement_time)));
    r.volatile("clock_timestamp() timestamptz", |_, _| Ok(Value::Timestamptz(clock())));
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

/// A number of bytes in the unit that leaves at most five digits, rounded.
fn size_pretty(bytes: i64) -> String {
    const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    // one more bit than the unit, for rounding
    let mut doubled = i128::from(bytes) * 2;
    for (at, unit) in UNITS.iter().enumerate() {
        let limit = if at == 0 { 10 * 1_024 * 2 } else { 20 * 1_024 - 1 };
        if doubled.abs() < limit || at + 1 == UNITS.len() {
            let rounded = if at == 0 { doubled / 2 } else { (doubled + doubled.signum()) / 2 };
            return format!("{rounded} {unit}");
        }
        doubled /= 1_024;
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::size_pretty;

    #[test]
    fn sizes_are_as_postgresql_prints_them() {
        for (bytes, wanted) in [
            (0, "0 bytes"),
            (10_239, "10239 bytes"),
            (10_240, "10 kB"),
            (10_485_247, "10239 kB"),
            (10_485_248, "10 MB"),
            (-20_000, "-20 kB"),
            (1 << 40, "1024 GB"),
            (i64::MAX, "8192 PB"),
        ] {
            assert_eq!(size_pretty(bytes), wanted, "{bytes}");
        }
    }
}
