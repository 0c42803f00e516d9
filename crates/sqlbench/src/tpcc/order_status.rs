//! The Order-Status transaction (clause 2.6).

use super::payment::customer;
use super::statements::*;
use super::terminal::{Context, End};
use crate::client::{Client, Failure};
use crate::values::Param::Int;
use scaledb_workloads::tpcc::input::OrderStatusInput;

/// Runs it up to its end.
pub(super) fn execute<C: Client>(
    context: &mut Context<'_, C>,
    input: &OrderStatusInput,
) -> Result<End, Failure> {
    let (w, d) = (Int(input.w_id.into()), Int(input.d_id.into()));
    let c = Int(customer(context, w, d, input.customer)?);
    context.one(CUSTOMER_BALANCE, &[w, d, c], "a customer is missing")?;
    context.one(LATEST_ORDER, &[w, d, c], "a customer has no order")?;
    let o_id = Int(context.rows.int(0, 0)?);
    match context.run(LINES, &[w, d, o_id])? {
        5..=15 => Ok(End::Commit),
        _ => Err(Failure::Inconsistent("an order has too few or too many lines")),
    }
}
