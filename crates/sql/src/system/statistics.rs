//! The rows of the views that show what was run, how long it took, and what was done with tables.

use super::Facts;
use super::rows::Row;
use scaledb_types::Value;

/// Milliseconds of nanoseconds.
fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

pub(super) fn statements(facts: &dyn Facts) -> Vec<Row> {
    let (statements, _) = facts.collected().statements();
    let rows = statements.into_iter().map(|statement| {
        let runs = statement.runs;
        let calls = runs.calls.max(1) as f64;
        let mean = millis(runs.nanos) / calls;
        // of the whole, as pg_stat_statements has it
        let deviation = (runs.squares / calls - mean * mean).max(0.0).sqrt();
        Row::new("scaledb_stat_statements")
            .set("queryid", Value::Int8(statement.id))
            .text("query", &statement.text)
            .text("kind", statement.kind.name())
            .int8("calls", runs.calls)
            .float8("total_exec_time", millis(runs.nanos))
            .float8("min_exec_time", millis(runs.shortest.unwrap_or(0)))
            .float8("max_exec_time", millis(runs.longest))
            .float8("mean_exec_time", mean)
            .float8("stddev_exec_time", deviation)
            .int8("rows", runs.rows)
            .int8("errors", runs.errors)
            .int8("conflicts", runs.conflicts)
            .int8("retries", runs.retries)
    });
    rows.collect()
}

pub(super) fn statements_info(facts: &dyn Facts) -> Vec<Row> {
    let (_, keeping) = facts.collected().statements();
    let row = Row::new("scaledb_stat_statements_info")
        .int8("statements", keeping.statements as u64)
        .int8("evicted", keeping.evicted)
        .int8("not_counted", keeping.refused)
        .set("stats_reset", Value::Timestamptz(keeping.since));
    vec![row]
}

pub(super) fn latency(facts: &dyn Facts) -> Vec<Row> {
    let mut rows = Vec::new();
    for latency in facts.collected().latencies() {
        let mut sum = 0;
        for bucket in latency.buckets {
            sum += bucket.count;
            rows.push(
                Row::new("scaledb_stat_latency")
                    .text("kind", latency.kind)
                    .float8("up_to_ms", bucket.up_to * 1e3)
                    .int8("calls", bucket.count)
                    .int8("calls_up_to", sum),
            );
        }
    }
    rows
}

pub(super) fn tables(facts: &dyn Facts) -> Vec<Row> {
    let tables = facts.table_numbers().into_iter().map(|table| {
        Row::new("scaledb_stat_tables")
            .oid("relid", table.oid)
            .text("schemaname", &table.schema)
            .text("relname", &table.name)
            .int8("rows", table.rows)
            .int8("bytes", table.bytes)
            .int8("rows_inserted", table.inserted)
            .int8("rows_updated", table.updated)
            .int8("rows_deleted", table.deleted)
            .int8("seq_scans", table.whole_scans)
            .int8("index_scans", table.indexes.iter().map(|index| index.scans).sum())
            .int8("conflicts", table.conflicts)
    });
    tables.collect()
}

pub(super) fn indexes(facts: &dyn Facts) -> Vec<Row> {
    let mut rows = Vec::new();
    for table in facts.table_numbers() {
        for index in &table.indexes {
            let engine = &index.engine;
            rows.push(
                Row::new("scaledb_stat_indexes")
                    .oid("relid", table.oid)
                    .oid("indexrelid", index.oid)
                    .text("schemaname", &table.schema)
                    .text("relname", &table.name)
                    .text("indexrelname", &index.name)
                    .int8("scans", index.scans)
                    .int8("entries", engine.entries)
                    .int8("bytes", index.bytes)
                    .int8("conflicts", index.conflicts)
                    .int8("merges", engine.metric("merges"))
                    .int8("merged_entries", engine.metric("merged"))
                    .int8("pending_entries", engine.metric("pending"))
                    .int8("inserted_at_commit", engine.metric("synchronous"))
                    .int8("repaired_leaves", engine.metric("repairs"))
                    .int8("cleaned", engine.cleaned),
            );
        }
    }
    rows
}

pub(super) fn transactions(facts: &dyn Facts) -> Vec<Row> {
    let (reclamation, sessions) = facts.reclamation();
    let rows = reclamation.transactions.into_iter().map(|held| {
        let row = Row::new("scaledb_stat_transactions").float8("seconds", held.time.as_secs_f64());
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
    rows.collect()
}

pub(super) fn hot_keys(facts: &dyn Facts) -> Vec<Row> {
    let tables = facts.catalog();
    let rows = facts.collected().hot_keys().into_iter().filter_map(|key| {
        let is_there = |index: &scaledb_catalog::IndexDesc| index.oid == key.oid;
        let table =
            tables.tables().find(|table| table.oid == key.oid || table.indexes.iter().any(is_there))?;
        let index = table.indexes.iter().find(|index| is_there(index));
        let row = Row::new("scaledb_stat_hot_keys")
            .oid("relid", table.oid)
            .text("schemaname", &table.schema)
            .text("relname", &table.name)
            .text("key", &format!("({})", key.key))
            .int8("conflicts", key.conflicts)
            .int8("at_least", key.conflicts - key.over);
        Some(index.into_iter().fold(row, |row, index| row.text("indexrelname", &index.name)))
    });
    rows.collect()
}
