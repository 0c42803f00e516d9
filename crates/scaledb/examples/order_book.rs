//! An order book with price-time priority: two tables, each scanned from its best end.

use scaledb::{Database, KeyColumn, Result, Table, Transaction, Type};

struct Book {
    db: Database,
    /// Dearest first, then oldest.
    bids: Table,
    /// Cheapest first, then oldest.
    asks: Table,
    trades: Table,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    Buy,
    Sell,
}

impl Book {
    fn open() -> Result<Self> {
        let db = Database::in_memory();
        let side = |name: &str, price: KeyColumn| {
            db.create_table(
                Table::build(name)
                    .column("price", Type::Int8)
                    .column("order_id", Type::Int8)
                    .column("quantity", Type::Int8)
                    .primary_key([price, "order_id".into()])
                    .unique_index(&format!("{name}_by_id"), ["order_id"]),
            )
        };
        let bids = side("bids", KeyColumn::desc("price"))?;
        let asks = side("asks", KeyColumn::asc("price"))?;
        // without a primary key: rows are numbered
        let trades = db.create_table(
            Table::build("trades")
                .column("maker", Type::Int8)
                .column("taker", Type::Int8)
                .column("price", Type::Int8)
                .column("quantity", Type::Int8),
        )?;
        Ok(Self { db, bids, asks, trades })
    }

    /// Matches a new order against the other side and rests what is left. One transaction: nobody sees half
    /// of it, and no two orders take the same offer.
    fn place(
        &self,
        txn: &mut Transaction<'_>,
        side: Side,
        id: i64,
        limit: i64,
        quantity: i64,
    ) -> Result<i64> {
        let (own, other) = match side {
            Side::Buy => (&self.bids, &self.asks),
            Side::Sell => (&self.asks, &self.bids),
        };
        let mut left = quantity;
        while left > 0 {
            // up to the limit in the order of the other side: best price first, then the oldest order
            let Some(best) = txn.scan(other).to(limit).first()? else { break };
            let (price, maker): (i64, i64) = (best.get("price")?, best.get("order_id")?);
            let offered: i64 = best.get("quantity")?;
            let traded = left.min(offered);
            if traded == offered {
                txn.delete(other, (price, maker))?;
            } else {
                txn.update(other, (price, maker), |row| row.add("quantity", -traded))?;
            }
            txn.insert(&self.trades, (maker, id, price, traded))?;
            left -= traded;
        }
        if left > 0 {
            txn.insert(own, (limit, id, left))?;
        }
        Ok(quantity - left)
    }
}

fn main() -> Result<()> {
    let book = Book::open()?;
    let ordered = std::thread::scope(|scope| {
        let traders: Vec<_> = (0..4)
            .map(|trader| {
                let book = &book;
                scope.spawn(move || -> Result<i64> {
                    let mut ordered = 0;
                    for n in 0..1_000 {
                        let side = if (n + trader) % 2 == 0 { Side::Buy } else { Side::Sell };
                        let (price, quantity) = (1_000 + (n * 37 + trader * 11) % 21 - 10, 1 + n % 9);
                        let id = n * 4 + trader;
                        book.db.run(|txn| book.place(txn, side, id, price, quantity))?;
                        ordered += quantity;
                    }
                    Ok(ordered)
                })
            })
            .collect();
        traders.into_iter().map(|trader| trader.join().expect("no panic")).sum::<Result<i64>>()
    })?;

    let mut session = book.db.session()?;
    let mut txn = session.begin_read_only()?;
    let quantity = |txn: &mut Transaction<'_>, table: &Table| {
        let mut sum = 0;
        txn.scan(table).for_each(|row| {
            sum += row.get::<i64>("quantity")?;
            Ok(())
        })?;
        Ok::<i64, scaledb::Error>(sum)
    };
    let traded = quantity(&mut txn, &book.trades)?;
    let (bid, ask) = (quantity(&mut txn, &book.bids)?, quantity(&mut txn, &book.asks)?);
    let best = |row: Option<scaledb::Row>| row.map(|row| row.get::<i64>("price")).transpose();
    let (best_bid, best_ask) = (best(txn.scan(&book.bids).first()?)?, best(txn.scan(&book.asks).first()?)?);
    let worst_bid = best(txn.scan(&book.bids).reverse().first()?)?;
    println!("{} trades of {traded} units", txn.count(&book.trades)?);
    println!(
        "resting: {bid} units bid from {best_bid:?} down to {worst_bid:?}, {ask} units asked from {best_ask:?} on"
    );
    txn.commit()?;
    assert_eq!(ordered, 2 * traded + bid + ask, "each unit is traded, on both sides, or rests");
    assert!(best_bid.zip(best_ask).is_none_or(|(bid, ask)| bid < ask), "the book is crossed");
    Ok(())
}
