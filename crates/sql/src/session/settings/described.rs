//! What pg_settings tells of a setting besides its value.

use super::{Settings, Takes, find};
use crate::told::DescribedSetting;

impl Settings {
    /// What there is to tell of a setting; nothing of one of a client's own.
    pub(crate) fn described(&self, name: &str) -> Option<DescribedSetting> {
        let name = name.to_lowercase();
        let known = find(&name)?;
        let reset = self.initial.get(&name).map_or(known.default, String::as_str);
        let whole = |min: i64, max: i64| Some((min.to_string(), max.to_string()));
        // PostgreSQL counts both in an int
        const MOST: i64 = i32::MAX as i64;
        let (kind, bounds, choices): (_, _, &'static [&'static str]) = match known.takes {
            Takes::Bool => ("bool", None, &[]),
            Takes::Integer(min, max) => ("integer", whole(min, max), &[]),
            Takes::Real(min, max) => ("real", Some((min.to_string(), max.to_string())), &[]),
            Takes::Milliseconds | Takes::Kilobytes => ("integer", whole(0, MOST), &[]),
            Takes::MillisecondsOrNever | Takes::KilobytesOrAny => ("integer", whole(-1, MOST), &[]),
            Takes::OneOf(words) => ("enum", None, words),
            Takes::Nothing if matches!(known.default, "on" | "off") => ("bool", None, &[]),
            Takes::Nothing if known.default.parse::<i64>().is_ok() => ("integer", None, &[]),
            Takes::Anything | Takes::Nothing => ("string", None, &[]),
        };
        let is_fixed = known.takes == Takes::Nothing;
        Some(DescribedSetting {
            kind,
            bounds,
            choices,
            default: known.default,
            reset: reset.to_owned(),
            is_fixed,
        })
    }
}
