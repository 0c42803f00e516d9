//! `scaledb_stat_transactions`: transactions that keep memory from being used again.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_types::{Result, Type, Value};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "scaledb_stat_transactions", oid: 12908, rows,
    columns: &[
        ("pid", Type::INT4), ("usename", Type::NAME), ("application_name", Type::TEXT), ("state", Type::TEXT),
        ("xact_start", Type::TIMESTAMPTZ), ("seconds", Type::FLOAT8), ("query", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (reclamation, sessions) = facts.reclamation();
    let rows = reclamation.transactions.into_iter().map(|held| {
        let row = Row::of(&TABLE).float8("seconds", held.time.as_secs_f64());
        let session = sessions.iter().find(|(id, _)| Some(*id) == held.session);
        let Some((id, session)) = session else { return row };
        let seen = session.activity.look();
        let row = row
            .int4("pid", *id as i32)
            .text("usename", &session.user)
            .text("application_name", &session.application)
            .text("state", seen.state);
        let start = seen.transaction_start.map(Value::Timestamptz);
        let row = start.into_iter().fold(row, |row, start| row.set("xact_start", start));
        let text = facts.statement(seen.statement);
        text.iter().fold(row, |row, text| row.text("query", text))
    });
    Ok(rows.collect())
}
