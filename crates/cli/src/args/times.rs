//! The command line: times, in the unit that an option's help names, or in one that stands behind the number: `500ms`.

use scaledb_base::timeouts::{Unit, parse};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The parser of an option that takes a time within a range of so many units.
pub(super) fn within(
    unit: Unit,
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<Duration, String> + Clone + Send + Sync + 'static {
    move |text| {
        let (name, least, most) = (unit.name(), *range.start(), *range.end());
        let time = parse(text, unit).ok_or_else(|| format!("a number of {name} is expected"))?;
        let fits = unit.of(least).is_some_and(|least| time >= least)
            && unit.of(most).is_none_or(|most| time <= most);
        if fits { Ok(time) } else { Err(format!("{least} to {most} {name} are possible")) }
    }
}

/// The parser of an option that takes seconds, a day of them at most.
pub(super) fn seconds() -> impl Fn(&str) -> Result<Duration, String> + Clone + Send + Sync + 'static {
    within(Unit::Seconds, 0..=86_400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_outside_of_the_range_is_refused_in_either_unit() {
        let silence = within(Unit::Milliseconds, 100..=600_000);
        assert_eq!(silence("1000"), Ok(Duration::from_secs(1)));
        assert_eq!(silence("2s"), Ok(Duration::from_secs(2)));
        for text in ["99", "600001", "11min"] {
            assert_eq!(silence(text).unwrap_err(), "100 to 600000 milliseconds are possible");
        }
        assert_eq!(silence("soon").unwrap_err(), "a number of milliseconds is expected");
        assert_eq!(seconds()("0.25"), Ok(Duration::from_millis(250)));
        assert!(seconds()("86401").is_err());
    }
}
