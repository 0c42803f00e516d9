//! The library on each engine, compiled with this crate.
//!
//! What is generic over the engine is compiled where it is called, so in each program, example and test. Builds with
//! few optimizations share what a library has of a generic function already: with the function that is here, that is
//! most of it. Release builds share nothing, and do without.

use crate::sql::Error;
use crate::{Database, Options, Table, Type};
use scaledb_engines::{Acc, Cicada, Open};

/// Opens a database of each engine, and does what most programs do.
///
/// # Errors
/// Those of opening it.
#[doc(hidden)]
pub fn one_of_each() -> Result<(), Error> {
    of::<Acc>()?;
    of::<Cicada>()
}

fn of<E: Open>() -> Result<(), Error> {
    let db = Database::<E>::with_options(Options::new())?;
    let table = db.create_table(Table::build("t").column("id", Type::Int8).primary_key(["id"]))?;
    db.run(|txn| txn.insert(&table, 1))?;
    db.run(|txn| txn.count(&table))?;
    let sql = db.sql()?;
    sql.batch("SELECT 1")?;
    sql.execute("SELECT $1", 1)?;
    let session = sql.session()?;
    drop(session);
    let prepared = sql.prepare("SELECT 1")?;
    sql.query_one::<i32>(prepared.text(), ())?;
    sql.run(|txn| txn.execute("SELECT 1", ()))?;
    sql.listen(["channel"])?;
    Ok(())
}
