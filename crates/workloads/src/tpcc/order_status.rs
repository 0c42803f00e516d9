//! The Order-Status transaction (clause 2.6).

use super::by_name::NameSearch;
use super::input::OrderStatusInput;
use super::keys;
use super::payment::Who;
use super::scale::MAX_LINES;
use super::schema::{Tables, customer, order_line, orders};
use crate::driver::{Abort, Outcome};
use scaledb_engine::{Order, Range, Worker};
use scaledb_row::Projection;
use std::ops::ControlFlow;

/// A line of the order as shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineShown {
    /// The item.
    pub ol_i_id: i32,
    /// The warehouse that supplied it.
    pub ol_supply_w_id: i16,
    /// How many.
    pub ol_quantity: i16,
    /// What they cost, in cents.
    pub ol_amount: i32,
    /// When they were delivered.
    pub ol_delivery_d: Option<i64>,
}

/// What the terminal shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// The customer's number.
    pub c_id: i16,
    /// The customer's balance, in cents.
    pub c_balance: i64,
    /// The customer's first name.
    pub c_first: [u8; 16],
    /// The customer's middle name.
    pub c_middle: [u8; 2],
    /// The customer's last name.
    pub c_last: [u8; 16],
    /// The customer's latest order.
    pub o_id: i32,
    /// When it was entered.
    pub o_entry_d: i64,
    /// The carrier that delivers it.
    pub o_carrier_id: Option<i16>,
    /// How many lines it has.
    pub ol_cnt: usize,
    /// The lines.
    pub lines: [LineShown; MAX_LINES],
}

/// An Order-Status transaction: its input, its output, and memory that is used again.
#[derive(Clone, Debug)]
pub struct OrderStatus {
    /// The warehouse.
    pub w_id: i16,
    /// The district.
    pub d_id: u8,
    /// The customer.
    pub customer: Who,
    /// What came of it.
    pub shown: Shown,
    search: NameSearch,
    customer_cols: Projection,
    orders_cols: Projection,
    line_cols: Projection,
}

impl OrderStatus {
    /// A transaction without input.
    pub fn new(t: &Tables) -> Self {
        let c = {
            use customer::*;
            [C_ID, C_BALANCE, C_FIRST, C_MIDDLE, C_LAST]
        };
        let ol = {
            use order_line::*;
            [OL_I_ID, OL_SUPPLY_W_ID, OL_QUANTITY, OL_AMOUNT, OL_DELIVERY_D]
        };
        Self {
            w_id: 0,
            d_id: 0,
            customer: Who::Id(0),
            shown: Shown::default(),
            search: NameSearch::default(),
            customer_cols: t.customer.project(&c),
            orders_cols: t.orders.project(&[orders::O_ID, orders::O_ENTRY_D, orders::O_CARRIER_ID]),
            line_cols: t.order_line.project(&ol),
        }
    }

    /// Takes the input.
    pub fn enter(&mut self, input: &OrderStatusInput) {
        (self.w_id, self.d_id, self.customer) = (input.w_id, input.d_id, input.customer);
    }

    /// Runs it up to its commit (clause 2.6.2).
    ///
    /// # Errors
    /// What the engine returns.
    pub fn execute<W: Worker>(&mut self, t: &Tables, worker: &mut W) -> Outcome {
        let (w, d) = (self.w_id, self.d_id);
        let key = match self.customer {
            Who::Id(c_id) => keys::customer(w, d, c_id),
            Who::Name(last) => self.search.middle(t, worker, w, d, &last)?,
        };
        let shown = &mut self.shown;
        worker
            .get(t.customer.id, &key, &self.customer_cols, |_, row| {
                use customer::*;
                shown.c_id = row.i16(C_ID);
                shown.c_balance = row.i64(C_BALANCE);
                shown.c_first.copy_from_slice(row.bytes(C_FIRST));
                shown.c_middle.copy_from_slice(row.bytes(C_MIDDLE));
                shown.c_last.copy_from_slice(row.bytes(C_LAST));
            })?
            .ok_or(Abort::Inconsistent("a customer is missing"))?;
        let (from, to) = keys::orders_of(w, d, shown.c_id);
        let range = Range::new(&from, &to);
        shown.o_id = 0;
        worker.scan(t.orders_by_customer.id, range, Order::Backward, &self.orders_cols, |_, _, row| {
            use orders::*;
            shown.o_id = row.i32(O_ID);
            shown.o_entry_d = row.i64(O_ENTRY_D);
            shown.o_carrier_id = (!row.is_null(O_CARRIER_ID)).then(|| row.i16(O_CARRIER_ID));
            ControlFlow::Break(())
        })?;
        if shown.o_id == 0 {
            return Err(Abort::Inconsistent("a customer has no order"));
        }
        let (from, to) = keys::order_lines(w, d, shown.o_id, shown.o_id + 1);
        shown.ol_cnt = 0;
        worker.scan(
            t.order_line.id,
            Range::new(&from, &to),
            Order::Forward,
            &self.line_cols,
            |_, _, row| {
                use order_line::*;
                let Some(line) = shown.lines.get_mut(shown.ol_cnt) else { return ControlFlow::Break(()) };
                *line = LineShown {
                    ol_i_id: row.i32(OL_I_ID),
                    ol_supply_w_id: row.i16(OL_SUPPLY_W_ID),
                    ol_quantity: row.i16(OL_QUANTITY),
                    ol_amount: row.i32(OL_AMOUNT),
                    ol_delivery_d: (!row.is_null(OL_DELIVERY_D)).then(|| row.i64(OL_DELIVERY_D)),
                };
                shown.ol_cnt += 1;
                ControlFlow::Continue(())
            },
        )?;
        Ok(())
    }
}
