//! A database that survives: durable and asynchronous commits, a checkpoint, and a second life.

use scaledb::{CommitMode, Database, Result, Table, Type};

fn main() -> Result<()> {
    let directory = std::env::temp_dir().join(format!("scaledb-example-{}", std::process::id()));
    let db = Database::open_directory(&directory)?;
    let readings = db.create_table(
        Table::build("readings")
            .column("sensor", Type::Int4)
            .column("at", Type::Int8)
            .column("value", Type::Float8)
            .primary_key(["sensor", "at"]),
    )?;

    // on the disk when `run` returns
    db.run(|txn| txn.insert(&readings, (1, 0, 20.5)))?;

    // many small ones: each returns at once, and one wait covers them all
    let mut session = db.session()?;
    session.set_commit_mode(CommitMode::Asynchronous);
    for at in 1..1_000 {
        session.run(|txn| txn.insert(&readings, (1, at, 20.0 + at as f64 * 0.25)))?;
    }
    session.wait_durable()?;

    // the next opening need not read the log of what came before
    db.checkpoint()?;
    db.run(|txn| txn.delete(&readings, (1, 0)))?;
    drop((session, db)); // or the machine fails

    let db = Database::open_directory(&directory)?;
    let readings = db.table("readings")?;
    let (count, last) = db.run(|txn| {
        let last = txn.scan(&readings).prefix(1).reverse().first()?;
        Ok((txn.count(&readings)?, last.map(|row| row.get::<f64>("value")).transpose()?))
    })?;
    println!("{count} readings survived, the last one {last:?}");
    assert_eq!((count, last), (999, Some(269.75)));
    drop(db);
    std::fs::remove_dir_all(&directory).ok();
    Ok(())
}
