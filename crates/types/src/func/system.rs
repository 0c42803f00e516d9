//! Types by their OIDs, and the clocks of the session.

use super::Registry;
use super::args::{Date, Timestamp, Timestamptz, code};
use crate::cast::{timestamp_to_date, timestamptz_to_timestamp};
use crate::ty::Type;
use crate::value::Value;
use crate::zone::clock;

pub(super) fn register(r: &mut Registry) {
    r.nullable("pg_typeof(any) regtype", |call, _| Ok(Value::Oid(call.args[0].oid())));
    r.stable_nullable("format_type(oid,int4) text", |_, args| {
        let Value::Oid(oid) = args[0] else { return Ok(Value::Null) };
        if oid == 0 {
            return Ok(Value::text("-"));
        }
        let Some(ty) = Type::from_oid(oid) else { return Ok(Value::text("???")) };
        Ok(match args[1].as_i64() {
            Some(typmod) => ty.with_typmod(typmod as i32).to_string(),
            None => ty.sql_name(),
        }
        .into())
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
    r.stable("current_timestamp() timestamptz", |call, _| Ok(Timestamptz(call.env.transaction_time).into()));
}
