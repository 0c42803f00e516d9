//! SQL in the process: typed parameters and rows, transactions that are run again after conflicts, streaming, and
//! errors as types.

use scaledb::Database;
use scaledb::sql::{Error, Kind, Result};
use std::ops::ControlFlow;
use std::thread;

const THREADS: i32 = 4;
const ORDERS: i32 = 100;

struct Article {
    id: i32,
    name: String,
    stock: i64,
    note: Option<String>,
}
scaledb::from_row!(Article { id, name, stock, note });

fn main() -> Result<()> {
    let sql = Database::in_memory().sql()?;
    sql.batch(
        "create table articles (
             id int primary key, name text not null unique, stock bigint not null check (stock >= 0), note text);
         create table orders (
             id bigint generated always as identity primary key, article int references articles, quantity int);",
    )?;
    let insert = sql.prepare("insert into articles values ($1, $2, $3, $4)")?;
    sql.execute(&insert, (1, "bolts", 500, None::<&str>))?;
    sql.execute(&insert, (2, "nuts", 300, Some("by the dozen")))?;

    // four threads order the same two articles: each order is a transaction, run again if another one is faster
    let orders: Vec<Result<i32>> = thread::scope(|scope| {
        let customer = |n: i32| {
            let sql = &sql;
            scope.spawn(move || {
                let mut session = sql.session()?;
                let mut served = 0;
                for order in 0..ORDERS {
                    let article = 1 + (n + order) % 2;
                    let done = session.run(|txn| {
                        txn.execute("update articles set stock = stock - $2 where id = $1", (article, 3))?;
                        txn.execute("insert into orders (article, quantity) values ($1, $2)", (article, 3))
                    });
                    match done {
                        Ok(_) => served += 1,
                        Err(error) if error.kind() == Kind::CheckViolation => {} // out of stock
                        Err(error) => return Err(error),
                    }
                }
                Ok(served)
            })
        };
        let threads: Vec<_> = (0..THREADS).map(customer).collect();
        threads.into_iter().map(|thread| thread.join().expect("no customer panics")).collect()
    });
    let served: i32 = orders.into_iter().sum::<Result<i32>>()?;

    for Article { id, name, stock, note } in sql.query("select * from articles order by id", ())? {
        println!(
            "article {id}: {name}, {stock} left{}",
            note.map_or(String::new(), |note| format!(" ({note})"))
        );
    }
    let (count, sold): (i64, i64) = sql.query_one("select count(*), sum(quantity) from orders", ())?;
    assert_eq!((count, sold), (served.into(), i64::from(served) * 3));
    let left: i64 = sql.query_one("select sum(stock)::bigint from articles", ())?;
    assert_eq!(left + sold, 800, "no bolt is lost");

    // rows one by one, without a list of all
    let mut shown = 0;
    sql.query_each("select id, article from orders order by id desc", (), |(id, article): (i64, i32)| {
        println!("order {id} of article {article}");
        shown += 1;
        if shown == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;

    // errors have types, an SQLSTATE and a sentence
    let error: Error = sql.execute(&insert, (3, "nuts", 1, None::<&str>)).unwrap_err();
    assert_eq!(error.kind(), Kind::UniqueViolation);
    println!("{}: {error}", error.sqlstate());
    Ok(())
}
