//! Terminals: which transaction comes next, and its run.
//!
//! A terminal keys and thinks in no time (the benchmark's pauses are left out, as usual for engines in
//! memory), draws the district for each transaction (where the specification ties a terminal to one for
//! Stock-Level), and runs Delivery at once instead of queueing it.

use super::delivery::Delivery;
use super::input::{Input, Inputs};
use super::new_order::NewOrder;
use super::order_status::OrderStatus;
use super::payment::Payment;
use super::schema::Tables;
use super::stock_level::StockLevel;
use crate::driver::{Client, Outcome, Transaction, Workload};
use scaledb_engine::{TxnKind, Worker};
use scaledb_sync::Arc;

/// The transactions, in the order of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Clause 2.4.
    NewOrder,
    /// Clause 2.5.
    Payment,
    /// Clause 2.6.
    OrderStatus,
    /// Clause 2.7.
    Delivery,
    /// Clause 2.8.
    StockLevel,
}

/// How often each transaction comes: its cards in the deck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mix {
    /// 45 New-Order, 43 Payment, 4 of each other.
    #[default]
    Full,
    /// Half New-Order, half Payment.
    NewOrderPayment,
    /// Half New-Order, half Delivery.
    NewOrderDelivery,
}

impl Mix {
    /// A deck of 100 cards, or a smaller one with the same proportions.
    pub fn deck(self) -> Vec<Class> {
        use Class::*;
        let cards: &[(Class, usize)] = match self {
            Self::Full => &[(NewOrder, 45), (Payment, 43), (OrderStatus, 4), (Delivery, 4), (StockLevel, 4)],
            Self::NewOrderPayment => &[(NewOrder, 10), (Payment, 10)],
            Self::NewOrderDelivery => &[(NewOrder, 10), (Delivery, 10)],
        };
        cards.iter().flat_map(|&(class, n)| std::iter::repeat_n(class, n)).collect()
    }
}

/// TPC-C on loaded tables.
#[derive(Clone, Debug)]
pub struct Tpcc {
    /// The tables.
    pub tables: Arc<Tables>,
    /// Which transactions.
    pub mix: Mix,
    /// The seed that the tables were loaded with.
    pub seed: u64,
    /// Order-Status and Stock-Level read a recent snapshot instead of the current state.
    pub snapshot_reads: bool,
}

impl Workload for Tpcc {
    type Client = Terminal;

    fn classes(&self) -> &'static [&'static str] {
        &["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"]
    }

    fn client(&self, number: usize, of: usize) -> Terminal {
        let t = &*self.tables;
        Terminal {
            inputs: Inputs::new(t.scale, self.mix, self.seed, number, of),
            reads: if self.snapshot_reads { TxnKind::Snapshot } else { TxnKind::ReadOnly },
            class: Class::NewOrder,
            new_order: NewOrder::new(t),
            payment: Payment::new(t),
            order_status: OrderStatus::new(t),
            delivery: Delivery::new(t),
            stock_level: StockLevel::new(t),
            tables: self.tables.clone(),
        }
    }
}

/// A terminal: one thread's client.
#[derive(Clone, Debug)]
pub struct Terminal {
    tables: Arc<Tables>,
    inputs: Inputs,
    reads: TxnKind,
    class: Class,
    new_order: NewOrder,
    payment: Payment,
    order_status: OrderStatus,
    delivery: Delivery,
    stock_level: StockLevel,
}

impl Terminal {
    /// The warehouses that it works for.
    pub fn homes(&self) -> &[i16] {
        self.inputs.homes()
    }
}

impl Client for Terminal {
    #[inline]
    fn prepare(&mut self, now: i64) -> Transaction {
        let input = self.inputs.next(now);
        self.class = input.class();
        let kind = match &input {
            Input::NewOrder(input) => {
                self.new_order.enter(input);
                TxnKind::ReadWrite
            }
            Input::Payment(input) => {
                self.payment.enter(input);
                TxnKind::ReadWrite
            }
            Input::OrderStatus(input) => {
                self.order_status.enter(input);
                self.reads
            }
            Input::Delivery(input) => {
                self.delivery.enter(input);
                TxnKind::ReadWrite
            }
            Input::StockLevel(input) => {
                self.stock_level.enter(input);
                self.reads
            }
        };
        Transaction { class: self.class as usize, kind }
    }

    #[inline]
    fn execute<W: Worker>(&mut self, worker: &mut W) -> Outcome {
        let t = &*self.tables;
        match self.class {
            Class::NewOrder => self.new_order.execute(t, worker),
            Class::Payment => self.payment.execute(t, worker),
            Class::OrderStatus => self.order_status.execute(t, worker),
            Class::Delivery => self.delivery.execute(t, worker),
            Class::StockLevel => self.stock_level.execute(t, worker),
        }
    }
}
