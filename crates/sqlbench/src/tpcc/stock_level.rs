//! The Stock-Level transaction (clause 2.8): two round trips.

use super::statements::*;
use super::terminal::{Context, End};
use crate::client::{Client, Failure};
use crate::values::Param::Int;
use scaledb_workloads::tpcc::input::StockLevelInput;

/// Orders that are looked at.
const ORDERS: i64 = 20;

/// Runs it to its end.
pub(super) fn execute<C: Client>(
    context: &mut Context<'_, C>,
    input: &StockLevelInput,
) -> Result<End, Failure> {
    let (w, d) = (Int(input.w_id.into()), Int(input.d_id.into()));
    context.ask(BEGIN_READ_ONLY, &[])?;
    let next = context.ask(NEXT_ORDER_NUMBER, &[w, d])?;
    context.answers()?;
    let next = context.one(next, "a district is missing")?.int(0, 0)?;

    let low = context.ask(LOW_STOCK, &[w, d, Int(next - ORDERS), Int(next), Int(input.threshold)])?;
    context.commit()?;
    context.one(low, "a count is missing")?.int(0, 0)?;
    Ok(End::Commit)
}
