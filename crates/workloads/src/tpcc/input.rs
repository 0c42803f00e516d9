//! What terminals enter: which transaction comes next, and its input. The same for every interface to the database.

use super::mix::{Class, Mix};
use super::new_order::Line;
use super::payment::Who;
use super::random::{Constants, Draw};
use super::scale::{MAX_LINES, Scale};
use crate::rng::Rng;

/// The input of New-Order (clause 2.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrderInput {
    /// The terminal's warehouse.
    pub w_id: i16,
    /// The district.
    pub d_id: u8,
    /// The customer.
    pub c_id: i16,
    /// When the order was entered, in microseconds since 2000.
    pub o_entry_d: i64,
    /// How many lines it has.
    pub ol_cnt: usize,
    /// The lines.
    pub lines: [Line; MAX_LINES],
}

impl NewOrderInput {
    /// Draws it for a terminal of this warehouse.
    pub fn draw(draw: &mut Draw, w_id: i16, now: i64) -> Self {
        let (d_id, c_id) = (draw.district(), draw.customer());
        let ol_cnt = draw.rng.within(5, MAX_LINES as u32) as usize;
        let rollback = draw.rng.percent(1);
        let mut lines = [Line::default(); MAX_LINES];
        for line in &mut lines[..ol_cnt] {
            line.ol_i_id = draw.item();
            line.ol_supply_w_id = if draw.rng.percent(1) { draw.other_warehouse(w_id) } else { w_id };
            line.ol_quantity = draw.rng.within(1, 10) as i16;
        }
        if rollback {
            lines[ol_cnt - 1].ol_i_id = draw.unused_item();
        }
        Self { w_id, d_id, c_id, o_entry_d: now, ol_cnt, lines }
    }
}

/// The input of Payment (clause 2.5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaymentInput {
    /// The terminal's warehouse.
    pub w_id: i16,
    /// The district.
    pub d_id: u8,
    /// The customer's warehouse.
    pub c_w_id: i16,
    /// The customer's district.
    pub c_d_id: u8,
    /// The customer.
    pub customer: Who,
    /// What is paid, in cents.
    pub h_amount: i32,
    /// When, in microseconds since 2000.
    pub h_date: i64,
}

impl PaymentInput {
    /// Draws it for a terminal of this warehouse.
    pub fn draw(draw: &mut Draw, w_id: i16, now: i64) -> Self {
        let d_id = draw.district();
        let (mut c_w_id, mut c_d_id) = (w_id, d_id);
        if draw.rng.percent(15) && draw.has_remote() {
            (c_w_id, c_d_id) = (draw.other_warehouse(w_id), draw.district());
        }
        let customer = Who::draw(draw);
        let h_amount = draw.rng.within(1_00, 5_000_00) as i32;
        Self { w_id, d_id, c_w_id, c_d_id, customer, h_amount, h_date: now }
    }
}

/// The input of Order-Status (clause 2.6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStatusInput {
    /// The warehouse.
    pub w_id: i16,
    /// The district.
    pub d_id: u8,
    /// The customer.
    pub customer: Who,
}

/// The input of Delivery (clause 2.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryInput {
    /// The warehouse.
    pub w_id: i16,
    /// The carrier.
    pub o_carrier_id: i16,
    /// When, in microseconds since 2000.
    pub ol_delivery_d: i64,
}

/// The input of Stock-Level (clause 2.8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockLevelInput {
    /// The warehouse.
    pub w_id: i16,
    /// The district.
    pub d_id: u8,
    /// What counts as low.
    pub threshold: i64,
}

/// A transaction and its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "one lives at a time, on the stack")]
pub enum Input {
    /// Clause 2.4.
    NewOrder(NewOrderInput),
    /// Clause 2.5.
    Payment(PaymentInput),
    /// Clause 2.6.
    OrderStatus(OrderStatusInput),
    /// Clause 2.7.
    Delivery(DeliveryInput),
    /// Clause 2.8.
    StockLevel(StockLevelInput),
}

impl Input {
    /// Which transaction it is for.
    #[inline]
    pub fn class(&self) -> Class {
        match self {
            Self::NewOrder(_) => Class::NewOrder,
            Self::Payment(_) => Class::Payment,
            Self::OrderStatus(_) => Class::OrderStatus,
            Self::Delivery(_) => Class::Delivery,
            Self::StockLevel(_) => Class::StockLevel,
        }
    }
}

/// The source of a terminal's inputs.
#[derive(Clone, Debug)]
pub struct Inputs {
    draw: Draw,
    deck: Vec<Class>,
    /// Cards of the deck that are used up; it is shuffled when all are.
    dealt: usize,
    homes: Vec<i16>,
}

impl Inputs {
    /// Terminal `number` of `of` works for the warehouses `number + 1`, `number + 1 + of`, ...: each has its own if
    /// there are enough.
    pub fn new(scale: Scale, mix: Mix, seed: u64, number: usize, of: usize) -> Self {
        let warehouses = usize::from(scale.warehouses);
        let first = number % warehouses;
        let step = of.min(warehouses);
        // a stream that no other run of this seed used: the terminals of two runs must not agree
        let rng = Rng::new(seed ^ 0x7465_726D_696E_616C, number as u64);
        Self {
            draw: Draw::new(rng, Constants::run(seed), scale),
            deck: mix.deck(),
            dealt: 0,
            homes: (first..warehouses).step_by(step).map(|w| w as i16 + 1).collect(),
        }
    }

    /// The warehouses that the terminal works for.
    pub fn homes(&self) -> &[i16] {
        &self.homes
    }

    /// The next transaction. `now` is the time in microseconds since 2000.
    #[inline]
    pub fn next(&mut self, now: i64) -> Input {
        let class = self.deal();
        let w_id = match *self.homes {
            [w] => w,
            ref homes => homes[self.draw.rng.below(homes.len() as u64) as usize],
        };
        let draw = &mut self.draw;
        match class {
            Class::NewOrder => Input::NewOrder(NewOrderInput::draw(draw, w_id, now)),
            Class::Payment => Input::Payment(PaymentInput::draw(draw, w_id, now)),
            Class::OrderStatus => {
                let d_id = draw.district();
                Input::OrderStatus(OrderStatusInput { w_id, d_id, customer: Who::draw(draw) })
            }
            Class::Delivery => {
                let o_carrier_id = draw.rng.within(1, 10) as i16;
                Input::Delivery(DeliveryInput { w_id, o_carrier_id, ol_delivery_d: now })
            }
            Class::StockLevel => {
                let d_id = draw.district();
                let threshold = i64::from(draw.rng.within(10, 20));
                Input::StockLevel(StockLevelInput { w_id, d_id, threshold })
            }
        }
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
