//! The order of items.

use super::evaluate::Fail;
use super::item::{Datetime, Item, View};
use crate::calendar::{DAY_MICROS, SECOND_MICROS};
use crate::env::Env;
use crate::error::SqlError;
use crate::jsonpath::Compare;
use std::cmp::Ordering;

/// A comparison of two items; None if there is none of these kinds.
pub(super) fn compare(
    operator: Compare,
    a: &Item<'_>,
    b: &Item<'_>,
    zoned: bool,
    env: &Env,
) -> Result<Option<bool>, Fail> {
    let order = match (a.view(), b.view()) {
        (View::Null, View::Null) => Ordering::Equal,
        // null differs from all else, and is neither before nor behind it
        (View::Null, _) | (_, View::Null) => return Ok(Some(operator == Compare::NotEqual)),
        (View::Bool(a), View::Bool(b)) => a.cmp(&b),
        (View::Number(a), View::Number(b)) => a.cmp(b),
        (View::String(a), View::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (View::Datetime(a), View::Datetime(b)) => match datetimes(a, b, zoned, env)? {
            Some(order) => order,
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some(match operator {
        Compare::Equal => order.is_eq(),
        Compare::NotEqual => order.is_ne(),
        Compare::Less => order.is_lt(),
        Compare::Greater => order.is_gt(),
        Compare::LessOrEqual => order.is_le(),
        Compare::GreaterOrEqual => order.is_ge(),
    }))
}

/// The order of two times; None if one has a date and the other has none.
fn datetimes(a: &Datetime, b: &Datetime, zoned: bool, env: &Env) -> Result<Option<Ordering>, Fail> {
    use Datetime::{Date, Time, Timestamp, Timestamptz, Timetz};
    let today = |micros: i64| {
        needs_zone(zoned, "time", "timetz")?;
        crate::timetz::Timetz::of_today(micros, env).map_err(Fail::Hard)
    };
    let utc = |what: &str, local: i128| {
        needs_zone(zoned, what, "timestamptz")?;
        Ok::<i128, Fail>(in_utc(local, env))
    };
    Ok(Some(match (*a, *b) {
        (Date(a), Date(b)) => a.cmp(&b),
        (Time(a), Time(b)) => a.cmp(&b),
        (Timetz(a), Timetz(b)) => a.cmp(&b),
        (Time(a), Timetz(b)) => today(a)?.cmp(&b),
        (Timetz(a), Time(b)) => a.cmp(&today(b)?),
        (Timestamp(a), Timestamp(b)) | (Timestamptz(a, _), Timestamptz(b, _)) => a.cmp(&b),
        (Date(a), Timestamp(b)) => midnight(a).cmp(&b.into()),
        (Timestamp(a), Date(b)) => i128::from(a).cmp(&midnight(b)),
        (Date(a), Timestamptz(b, _)) => utc("date", midnight(a))?.cmp(&b.into()),
        (Timestamptz(a, _), Date(b)) => i128::from(a).cmp(&utc("date", midnight(b))?),
        (Timestamp(a), Timestamptz(b, _)) => utc("timestamp", a.into())?.cmp(&b.into()),
        (Timestamptz(a, _), Timestamp(b)) => i128::from(a).cmp(&utc("timestamp", b.into())?),
        (Date(_) | Timestamp(_) | Timestamptz(..), Time(_) | Timetz(_))
        | (Time(_) | Timetz(_), Date(_) | Timestamp(_) | Timestamptz(..)) => return Ok(None),
    }))
}

/// Microseconds of a day's begin, which may be out of the range of timestamps.
fn midnight(day: i32) -> i128 {
    i128::from(day) * i128::from(DAY_MICROS)
}

/// What clocks of the session show, in UTC.
fn in_utc(local: i128, env: &Env) -> i128 {
    // out of range, zones change no more
    let near = i64::try_from(local).unwrap_or(if local < 0 { i64::MIN } else { i64::MAX });
    let bounded = near.clamp(crate::calendar::MIN_TIMESTAMP, crate::calendar::END_TIMESTAMP - 1);
    local - i128::from(env.zone.offset_of_local(bounded)) * i128::from(SECOND_MICROS)
}

fn needs_zone(zoned: bool, from: &str, to: &str) -> Result<(), Fail> {
    if zoned {
        return Ok(());
    }
    let what = format!("cannot convert value from {from} to {to} without time zone usage");
    Err(Fail::Hard(SqlError::unsupported(what).hint("Use *_tz() function for time zone support.")))
}
