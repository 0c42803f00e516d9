//! `pg_stat_database`: what was done in databases. Transactions are counted of all of them together, in the row of the
//! first one; what is not counted is NULL.

use crate::system::table::{Row, SystemCatalog};
use crate::system::{Facts, databases};
use scaledb_catalog::DATABASE;
use scaledb_types::{Result, Type};

#[rustfmt::skip]
pub(super) const TABLE: SystemCatalog = SystemCatalog {
    schema: "pg_catalog", name: "pg_stat_database", oid: 12048, rows,
    columns: &[
        ("datid", Type::OID), ("datname", Type::NAME), ("numbackends", Type::INT4),
        ("xact_commit", Type::INT8), ("xact_rollback", Type::INT8), ("blks_read", Type::INT8),
        ("blks_hit", Type::INT8), ("tup_returned", Type::INT8), ("tup_fetched", Type::INT8),
        ("tup_inserted", Type::INT8), ("tup_updated", Type::INT8), ("tup_deleted", Type::INT8),
        ("conflicts", Type::INT8), ("temp_files", Type::INT8), ("temp_bytes", Type::INT8),
        ("deadlocks", Type::INT8), ("checksum_failures", Type::INT8),
        ("checksum_last_failure", Type::TIMESTAMPTZ), ("blk_read_time", Type::FLOAT8),
        ("blk_write_time", Type::FLOAT8), ("session_time", Type::FLOAT8), ("active_time", Type::FLOAT8),
        ("idle_in_transaction_time", Type::FLOAT8), ("sessions", Type::INT8),
        ("sessions_abandoned", Type::INT8), ("sessions_fatal", Type::INT8), ("sessions_killed", Type::INT8),
        ("stats_reset", Type::TIMESTAMPTZ),
    ],
};

fn rows(facts: &dyn Facts) -> Result<Vec<Row>> {
    let counters = facts.counters();
    let counter = |name: &str| counters.iter().find(|(known, _)| known == name).map_or(0, |(_, n)| *n);
    let sessions = facts.sessions();
    let rows = databases::all(facts).into_iter().map(|database| {
        let (oid, name) = (database.oid, database.name);
        let own = sessions.iter().filter(|(_, session)| session.database.0 == oid).count();
        let row = Row::empty(&TABLE).oid("datid", oid).text("datname", &name).int4("numbackends", own as i32);
        if oid != DATABASE {
            return row;
        }
        row.int8("xact_commit", counter("transactions committed"))
            .int8("xact_rollback", counter("transactions rolled back"))
            .int8("temp_files", counter("temporary files"))
            .int8("temp_bytes", counter("bytes written to temporary files"))
    });
    Ok(rows.collect())
}
