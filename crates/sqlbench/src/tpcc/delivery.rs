//! The Delivery transaction (clause 2.7): all ten districts in one transaction.

use super::statements::*;
use super::terminal::{Context, End};
use crate::client::{Client, Failure};
use crate::values::Param::{Cents, Int, Time};
use scaledb_workloads::tpcc::input::DeliveryInput;
use scaledb_workloads::tpcc::scale::DISTRICTS;

/// Runs it up to its end.
pub(super) fn execute<C: Client>(
    context: &mut Context<'_, C>,
    input: &DeliveryInput,
) -> Result<End, Failure> {
    let w = Int(input.w_id.into());
    for d in (1..=DISTRICTS).map(|d| Int(d.into())) {
        if context.run(OLDEST_NEW_ORDER, &[w, d])? == 0 {
            continue;
        }
        let o = Int(context.rows.int(0, 0)?);
        context.one(DELETE_NEW_ORDER, &[w, d, o], "a new order is missing")?;
        let carrier = Int(input.o_carrier_id.into());
        context.one(SET_CARRIER, &[w, d, o, carrier], "an order is missing")?;
        let c = Int(context.rows.int(0, 0)?);
        context.run(SET_DELIVERED, &[w, d, o, Time(input.ol_delivery_d)])?;
        context.one(ORDER_AMOUNT, &[w, d, o], "an order has no lines")?;
        let amount = Cents(context.rows.decimal(0, 0)? / 100);
        context.one(CREDIT_CUSTOMER, &[w, d, c, amount], "a customer is missing")?;
    }
    Ok(End::Commit)
}
