//! `pg_stat_activity`: sessions, and what they run.

use crate::system::Facts;
use crate::system::table::{Row, SystemCatalog};
use scaledb_catalog::{OWNER, READ_ALL_STATS};
use scaledb_types::{Result, Type, Value};

// since when a session is idle is not told: every statement would look at the clock once more for it
#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stat_activity", oid: 12009, rows,
    columns: &[
        ("datid", Type::OID), ("datname", Type::NAME), ("pid", Type::INT4), ("leader_pid", Type::INT4),
        ("usesysid", Type::OID), ("usename", Type::NAME), ("application_name", Type::TEXT),
        ("client_addr", Type::INET), ("client_hostname", Type::TEXT), ("client_port", Type::INT4),
        ("backend_start", Type::TIMESTAMPTZ), ("xact_start", Type::TIMESTAMPTZ),
        ("query_start", Type::TIMESTAMPTZ), ("state_change", Type::TIMESTAMPTZ),
        ("wait_event_type", Type::TEXT), ("wait_event", Type::TEXT), ("state", Type::TEXT),
        ("backend_xid", Type::XID), ("backend_xmin", Type::XID), ("query_id", Type::INT8),
        ("query", Type::TEXT), ("backend_type", Type::TEXT),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let (catalog, current) = (facts.catalog(), facts.identity().current());
    let sees_all = catalog.has_rights_of(current, READ_ALL_STATS);
    Ok(facts
        .sessions()
        .into_iter()
        .map(|(id, session)| {
            let role = facts.identity().role_named(facts.catalog(), &session.user).unwrap_or(OWNER);
            let seen = session.activity.look();
            let mut row = Row::empty(&TABLE)
                .oid("datid", session.database.0)
                .text("datname", &session.database.1)
                .int4("pid", id as i32)
                .oid("usesysid", role)
                .text("usename", &session.user)
                .text("application_name", &session.application)
                .set("backend_start", Value::Timestamptz(session.begun))
                .text("state", seen.state)
                .text("backend_type", "client backend");
            let times = [
                ("query_start", seen.statement_start),
                ("xact_start", seen.transaction_start),
                ("state_change", seen.statement_start.filter(|_| seen.state == "active")),
            ];
            for (column, time) in times {
                row = time.into_iter().fold(row, |row, time| row.set(column, Value::Timestamptz(time)));
            }
            if !sees_all && !facts.catalog().has_rights_of(facts.identity().current(), role) {
                return row.text("query", "<insufficient privilege>");
            }
            let text = facts.statement(seen.statement);
            text.iter().fold(row, |row, text| row.text("query", text))
        })
        .collect())
}
