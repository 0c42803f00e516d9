//! Statements and what PostgreSQL 15 answers to them: files in the manner of sqllogictest, made by
//! `slt/generate.py`.

use crate::common::{run, session};
use scaledb_engine::Engine;
use scaledb_sql::{Database, Session};

/// One statement of a file, and what is expected of it.
fn check<E: Engine>(name: &str, block: &str, s: &mut Session<E>) -> Result<(), String> {
    let (head, body) = block.split_once('\n').expect("a statement");
    if head == "query" {
        let (sql, wanted) = body.split_once("\n----").expect("an answer");
        let wanted = wanted.trim_start_matches('\n').trim_end_matches('\n');
        let rows = run(s, sql).map_err(|error| format!("{name}: {sql}\n  failed: {error:?}"))?.rows;
        let lines = rows.iter().map(|row| {
            let values = row.iter().map(|value| value.as_deref().unwrap_or("NULL"));
            values.collect::<Vec<_>>().join("|")
        });
        let got = lines.collect::<Vec<_>>().join("\n");
        if got != wanted {
            return Err(format!("{name}: {sql}\n  wanted:\n{wanted}\n  got:\n{got}"));
        }
        return Ok(());
    }
    let sql = body.trim_end_matches('\n');
    let code =
        run(s, sql).map(|_| ()).map_err(|error| (error.code().as_str().to_owned(), format!("{error:?}")));
    match (head.strip_prefix("statement error "), code) {
        (None, Ok(())) => Ok(()),
        (None, Err((_, error))) => Err(format!("{name}: {sql}\n  failed: {error}")),
        (Some(wanted), Err((code, _))) if wanted == code => Ok(()),
        (Some(wanted), got) => Err(format!("{name}: {sql}\n  wanted {wanted}, got {got:?}")),
    }
}

#[test]
fn answers_are_those_of_postgresql() {
    answers(crate::common::acc);
}

#[test]
fn answers_are_those_of_postgresql_on_cicada_too() {
    answers(crate::common::cicada);
}

fn answers<E: Engine>(database: fn() -> Database<E>) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let mut failed = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the folder is there").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "slt") {
            continue;
        }
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("readable");
        let db = database();
        let s = &mut session(&db);
        let mut block = String::new();
        for line in text.lines().chain([""]) {
            let starts = line == "query" || line.starts_with("statement ");
            if (starts || line.is_empty()) && block.contains('\n') && (starts || !block.starts_with("query"))
            {
                count += 1;
                failed.extend(check(&name, &block, s).err());
                block.clear();
            }
            if !(line.is_empty() && block.is_empty()) {
                block.push_str(line);
                block.push('\n');
            }
        }
        if block.contains('\n') {
            count += 1;
            failed.extend(check(&name, &block, s).err());
        }
    }
    assert!(failed.is_empty(), "{} of {count} differ:\n{}", failed.len(), failed.join("\n"));
}
