//! `pg_timezone_names` and `pg_timezone_abbrevs`: the time zones that there are, and their offsets now.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::zone::{abbreviations, clock, names};
use scaledb_types::{Interval, Result, Type, Value, Zone};

#[rustfmt::skip]
pub(super) const PG_TIMEZONE_NAMES: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_timezone_names", oid: 12049, rows: named,
    columns: &[
        ("name", Type::TEXT), ("abbrev", Type::TEXT), ("utc_offset", Type::INTERVAL),
        ("is_dst", Type::BOOL),
    ],
};

#[rustfmt::skip]
pub(super) const PG_TIMEZONE_ABBREVS: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_timezone_abbrevs", oid: 12050, rows: abbreviated,
    columns: &[
        ("abbrev", Type::TEXT), ("utc_offset", Type::INTERVAL), ("is_dst", Type::BOOL),
    ],
};

fn offset(seconds: i32) -> Value {
    Value::Interval(Interval { months: 0, days: 0, micros: i64::from(seconds) * 1_000_000 })
}

fn named(_: &dyn Facts) -> Result<Vec<Row>> {
    let now = clock();
    let rows = names().into_iter().filter_map(|name| {
        let zone = Zone::named(&name)?;
        let row = Row::empty(&PG_TIMEZONE_NAMES).text("name", &name);
        let row = row.text("abbrev", &zone.abbreviation_at(now));
        Some(row.set("utc_offset", offset(zone.offset_at(now))).flag("is_dst", zone.is_dst_at(now)))
    });
    Ok(rows.collect())
}

fn abbreviated(_: &dyn Facts) -> Result<Vec<Row>> {
    let rows = abbreviations(clock()).into_iter().map(|(name, seconds, forward)| {
        let row = Row::empty(&PG_TIMEZONE_ABBREVS).text("abbrev", &name.to_uppercase());
        row.set("utc_offset", offset(seconds)).flag("is_dst", forward)
    });
    Ok(rows.collect())
}
