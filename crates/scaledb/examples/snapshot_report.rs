//! A long report reads one snapshot while writers go on: it is never aborted, and its total is right.

use scaledb::{Database, Result, Table, TxnKind, Type};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const ITEMS: i64 = 20_000;

fn main() -> Result<()> {
    let db = Database::in_memory();
    let stock = &db.create_table(
        Table::build("stock")
            .column("warehouse", Type::Int4)
            .column("item", Type::Int8)
            .column("quantity", Type::Int8)
            .primary_key(["warehouse", "item"]),
    )?;
    db.run(|txn| {
        for item in 0..ITEMS {
            txn.insert(stock, (item % 2, item / 2, 50))?;
        }
        Ok(())
    })?;

    let (done, moves) = (&AtomicBool::new(false), &AtomicU64::new(0));
    let (db, mut reports, start) = (&db, 0, Instant::now());
    thread::scope(|scope| -> Result<()> {
        for n in 0..2 {
            scope.spawn(move || {
                let mut session = db.session().expect("a free session");
                let mut item = n;
                while !done.load(Ordering::Relaxed) {
                    item = (item + 7_919) % (ITEMS / 2);
                    // from one warehouse to the other
                    let moved = session.run(|txn| {
                        txn.update(stock, (n, item), |row| row.add("quantity", -1))?;
                        txn.update(stock, (1 - n, item), |row| row.add("quantity", 1))
                    });
                    moved.expect("conflicts are run again");
                    moves.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut report = || -> Result<()> {
            let mut session = db.session()?;
            while start.elapsed() < Duration::from_millis(500) {
                let kind = if reports % 2 == 0 { TxnKind::Snapshot } else { TxnKind::Deferrable };
                let mut txn = session.begin_as(kind)?;
                let mut total = 0;
                txn.scan(stock).for_each(|row| {
                    total += row.get::<i64>(2)?;
                    Ok(())
                })?;
                txn.commit()?;
                assert_eq!(total, ITEMS * 50, "report {reports}");
                reports += 1;
            }
            Ok(())
        };
        let result = report();
        done.store(true, Ordering::Relaxed);
        result
    })?;
    println!(
        "{reports} reports over {ITEMS} rows during {} moves: always {} units",
        moves.load(Ordering::Relaxed),
        ITEMS * 50
    );
    Ok(())
}
