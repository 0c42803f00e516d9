//! Terminals: which transaction comes next, and who runs it.
//!
//! A terminal keys and thinks in no time (the benchmark's pauses are left out, as usual for engines in
//! memory), draws the district for each transaction (where the specification ties a terminal to one for
//! Stock-Level), and runs Delivery at once instead of queueing it.

use super::delivery::Delivery;
use super::new_order::NewOrder;
use super::order_status::OrderStatus;
use super::payment::Payment;
use super::random::{Constants, Draw};
use super::schema::Tables;
use super::stock_level::StockLevel;
use crate::driver::{Client, Outcome, Transaction, Workload};
use crate::rng::Rng;
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

    /// Terminal `number` works for the warehouses `number + 1`, `number + 1 + of`, ...: each thread has its
    /// own if there are enough.
    fn client(&self, number: usize, of: usize) -> Terminal {
        let t = &*self.tables;
        let warehouses = usize::from(t.scale.warehouses);
        let first = number % warehouses;
        let step = of.min(warehouses);
        // a stream that no other run of this seed used: the terminals of two runs must not agree
        let rng = Rng::new(self.seed ^ 0x7465_726D_696E_616C, number as u64);
        Terminal {
            draw: Draw::new(rng, Constants::run(self.seed), t.scale),
            deck: self.mix.deck(),
            dealt: 0,
            homes: (first..warehouses).step_by(step).map(|w| w as i16 + 1).collect(),
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
    draw: Draw,
    deck: Vec<Class>,
    /// Cards of the deck that are used up; it is shuffled when all are.
    dealt: usize,
    homes: Vec<i16>,
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
        &self.homes
    }

    #[inline]
    fn deal(&mut self) -> Class {
        if self.dealt == 0 {
            self.draw.rng.shuffle(&mut self.deck);
        }
        let card = self.deck[self.dealt];
        self.dealt = (self.dealt + 1) % self.deck.len();
        card
    }
}

impl Client for Terminal {
    #[inline]
    fn prepare(&mut self, now: i64) -> Transaction {
        self.class = self.deal();
        let w = match *self.homes {
            [w] => w,
            ref homes => homes[self.draw.rng.below(homes.len() as u64) as usize],
        };
        let draw = &mut self.draw;
        let kind = match self.class {
            Class::NewOrder => {
                self.new_order.prepare(draw, w, now);
                TxnKind::ReadWrite
            }
            Class::Payment => {
                self.payment.prepare(draw, w, now);
                TxnKind::ReadWrite
            }
            Class::OrderStatus => {
                self.order_status.prepare(draw, w);
                self.reads
            }
            Class::Delivery => {
                self.delivery.prepare(draw, w, now);
                TxnKind::ReadWrite
            }
            Class::StockLevel => {
                self.stock_level.prepare(draw, w);
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
