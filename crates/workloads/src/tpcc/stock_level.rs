//! The Stock-Level transaction (clause 2.8).

use super::input::StockLevelInput;
use super::keys;
use super::schema::{Tables, district, order_line, stock};
use crate::driver::{Abort, Outcome};
use scaledb_engine::{Order, PREFETCH, Range, Worker};
use scaledb_row::Projection;
use std::ops::ControlFlow;

/// Orders that are looked at.
const ORDERS: i32 = 20;

/// A Stock-Level transaction: its input, its output, and memory that is used again.
#[derive(Clone, Debug)]
pub struct StockLevel {
    /// The warehouse.
    pub w_id: i16,
    /// The district.
    pub d_id: u8,
    /// What counts as low.
    pub threshold: i64,
    /// How many items are low in stock.
    pub low_stock: u32,
    /// The keys of the distinct items' stocks.
    stocks: Vec<[u8; 6]>,
    /// One bit per item: whether it was met.
    met: Vec<u64>,
    district_cols: Projection,
    line_cols: Projection,
    stock_cols: Projection,
}

impl StockLevel {
    /// A transaction without input.
    pub fn new(t: &Tables) -> Self {
        Self {
            w_id: 0,
            d_id: 0,
            threshold: 0,
            low_stock: 0,
            stocks: Vec::with_capacity(ORDERS as usize * super::scale::MAX_LINES),
            met: vec![0; t.scale.items as usize / 64 + 1],
            district_cols: t.district.project(&[district::D_NEXT_O_ID]),
            line_cols: t.order_line.project(&[order_line::OL_I_ID]),
            stock_cols: t.stock.project(&[stock::S_QUANTITY]),
        }
    }

    /// Takes the input.
    pub fn enter(&mut self, input: &StockLevelInput) {
        (self.w_id, self.d_id, self.threshold) = (input.w_id, input.d_id, input.threshold);
    }

    /// Runs it up to its commit (clause 2.8.2).
    ///
    /// # Errors
    /// What the engine returns.
    pub fn execute<W: Worker>(&mut self, t: &Tables, worker: &mut W) -> Outcome {
        let (w, d) = (self.w_id, self.d_id);
        let next = worker.get(t.district.id, &keys::district(w, d), &self.district_cols, |_, row| {
            row.i32(district::D_NEXT_O_ID)
        });
        let next = next?.ok_or(Abort::Inconsistent("a district is missing"))?;
        let Self { stocks, met, .. } = self;
        stocks.clear();
        met.fill(0);
        let (from, to) = keys::order_lines(w, d, next - ORDERS, next);
        worker.scan(
            t.order_line.id,
            Range::new(&from, &to),
            Order::Forward,
            &self.line_cols,
            |_, _, row| {
                let item = row.i32(order_line::OL_I_ID);
                let (word, bit) = (item as usize / 64, 1 << (item % 64));
                if met[word] & bit == 0 {
                    met[word] |= bit;
                    stocks.push(keys::stock(w, item));
                }
                ControlFlow::Continue(())
            },
        )?;
        self.low_stock = 0;
        for keys in self.stocks.chunks(PREFETCH) {
            worker.prefetch(keys.iter().map(|key| (t.stock.id, &key[..], &self.stock_cols)));
            for key in keys {
                let quantity =
                    worker.get(t.stock.id, key, &self.stock_cols, |_, row| row.i64(stock::S_QUANTITY));
                let quantity = quantity?.ok_or(Abort::Inconsistent("a stock is missing"))?;
                self.low_stock += u32::from(quantity < self.threshold);
            }
        }
        Ok(())
    }
}
