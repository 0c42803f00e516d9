//! Threads move money between accounts; the total stays what it was.

use scaledb::{Database, Error, Result, Table, Type};
use std::thread;

const ACCOUNTS: i64 = 100;
const THREADS: i64 = 4;
const TRANSFERS: i64 = 5_000;

/// Moves the money, unless there is not enough.
fn transfer(
    txn: &mut scaledb::Transaction<'_>,
    accounts: &Table,
    from: i64,
    to: i64,
    amount: i64,
) -> Result<()> {
    let left = txn.update(accounts, from, |row| row.add("balance", -amount))?;
    if left.is_none_or(|balance| balance < 0) {
        return Err(Error::RolledBack);
    }
    txn.update(accounts, to, |row| row.add("balance", amount))?;
    Ok(())
}

fn main() -> Result<()> {
    let db = Database::in_memory();
    let accounts = db.create_table(
        Table::build("accounts").column("id", Type::Int8).column("balance", Type::Int8).primary_key(["id"]),
    )?;
    db.run(|txn| (0..ACCOUNTS).try_for_each(|id| txn.insert(&accounts, (id, 100))))?;

    let done: Vec<Result<i64>> = thread::scope(|scope| {
        let worker = |n: i64| {
            let (db, accounts) = (&db, &accounts);
            scope.spawn(move || {
                let mut session = db.session()?;
                let mut done = 0;
                for i in 0..TRANSFERS {
                    let (from, to) = ((i * 7 + n) % ACCOUNTS, (i * 13 + n * 31) % ACCOUNTS);
                    // conflicts are handled by `run`; what remains is a refusal of ours
                    match session.run(|txn| transfer(txn, accounts, from, to, i % 40)) {
                        Ok(()) => done += 1,
                        Err(Error::RolledBack) => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(done)
            })
        };
        let workers: Vec<_> = (0..THREADS).map(worker).collect();
        workers.into_iter().map(|worker| worker.join().expect("no panic")).collect()
    });
    let done: i64 = done.into_iter().sum::<Result<i64>>()?;

    let (mut total, mut least) = (0, i64::MAX);
    let mut session = db.session()?;
    let mut txn = session.begin_read_only()?;
    txn.scan(&accounts).for_each(|row| {
        let balance: i64 = row.get("balance")?;
        (total, least) = (total + balance, least.min(balance));
        Ok(())
    })?;
    txn.commit()?;
    let conflicts: u64 = db.stats().conflicts.iter().sum();
    println!(
        "{done} transfers by {THREADS} threads, {} refused, {conflicts} conflicts",
        THREADS * TRANSFERS - done
    );
    println!("total {total}, smallest balance {least}");
    assert_eq!(total, ACCOUNTS * 100);
    assert!(least >= 0);
    Ok(())
}
