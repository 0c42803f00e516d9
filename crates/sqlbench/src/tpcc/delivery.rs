//! The Delivery transaction (clause 2.7): all ten districts in one transaction, three round trips.

use super::statements::*;
use super::terminal::{Context, End};
use crate::client::{Client, Failure};
use crate::values::Param::{Cents, Int, Time};
use scaledb_workloads::tpcc::input::DeliveryInput;
use scaledb_workloads::tpcc::scale::DISTRICTS;
use smallvec::SmallVec;

/// Statements for the order of one district.
const EACH: usize = 3;

/// Runs it to its end.
pub(super) fn execute<C: Client>(
    context: &mut Context<'_, C>,
    input: &DeliveryInput,
) -> Result<End, Failure> {
    let w = Int(input.w_id.into());
    context.ask(BEGIN, &[])?;
    for d in 1..=DISTRICTS {
        context.ask(OLDEST_NEW_ORDER, &[w, Int(d.into())])?;
    }
    context.answers()?;
    // districts without a new order are left out
    let mut orders = SmallVec::<[(i64, i64); DISTRICTS as usize]>::new();
    for d in 1..=usize::from(DISTRICTS) {
        let oldest = context.answer(d);
        if !oldest.is_empty() {
            orders.push((d as i64, oldest.int(0, 0)?));
        }
    }

    let carrier = Int(input.o_carrier_id.into());
    for &(d, o) in &orders {
        let (d, o) = (Int(d), Int(o));
        context.ask(DELETE_NEW_ORDER, &[w, d, o])?;
        context.ask(SET_CARRIER, &[w, d, o, carrier])?;
        context.ask(SET_DELIVERED, &[w, d, o, Time(input.ol_delivery_d)])?;
    }
    context.answers()?;
    let mut credits = SmallVec::<[(i64, i64); DISTRICTS as usize]>::new();
    for first in (0..orders.len()).map(|number| number * EACH) {
        context.one(first, "a new order is missing")?;
        let customer = context.one(first + 1, "an order is missing")?.int(0, 0)?;
        let lines = context.answer(first + 2);
        if lines.is_empty() {
            return Err(Failure::Inconsistent("an order has no lines"));
        }
        let mut amount = 0;
        for line in 0..lines.len() {
            amount += lines.decimal(line, 0)? / 100;
        }
        credits.push((customer, amount));
    }

    for (&(d, _), &(c, amount)) in orders.iter().zip(&credits) {
        context.ask(CREDIT_CUSTOMER, &[w, Int(d), Int(c), Cents(amount)])?;
    }
    context.commit()?;
    for number in 0..credits.len() {
        context.one(number, "a customer is missing")?;
    }
    Ok(End::Commit)
}
