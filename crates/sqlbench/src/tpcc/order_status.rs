//! The Order-Status transaction (clause 2.6): two round trips, and one more to find a customer by name.

use super::payment::{ask_names, middle};
use super::statements::*;
use super::terminal::{Context, End};
use crate::client::{Client, Failure};
use crate::values::Param::Int;
use scaledb_workloads::tpcc::input::OrderStatusInput;
use scaledb_workloads::tpcc::payment::Who;

/// Runs it to its end.
pub(super) fn execute<C: Client>(
    context: &mut Context<'_, C>,
    input: &OrderStatusInput,
) -> Result<End, Failure> {
    let (w, d) = (Int(input.w_id.into()), Int(input.d_id.into()));
    context.ask(BEGIN_READ_ONLY, &[])?;
    let c_id = match input.customer {
        Who::Id(c_id) => c_id.into(),
        Who::Name(name) => {
            let names = ask_names(context, w, d, &name)?;
            context.answers()?;
            middle(context.answer(names))?.0
        }
    };
    let balance = context.ask(CUSTOMER_BALANCE, &[w, d, Int(c_id)])?;
    let latest = context.ask(LATEST_ORDER, &[w, d, Int(c_id)])?;
    context.answers()?;
    context.one(balance, "a customer is missing")?;
    let o_id = context.one(latest, "a customer has no order")?.int(0, 0)?;

    let lines = context.ask(LINES, &[w, d, Int(o_id)])?;
    context.commit()?;
    match context.answer(lines).len() {
        5..=15 => Ok(End::Commit),
        _ => Err(Failure::Inconsistent("an order has too few or too many lines")),
    }
}
