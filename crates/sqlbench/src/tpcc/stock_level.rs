//! The Stock-Level transaction (clause 2.8).

use super::statements::*;
use super::terminal::{Context, End};
use crate::client::{Client, Failure};
use crate::values::Param::Int;
use scaledb_workloads::tpcc::input::StockLevelInput;

/// Orders that are looked at.
const ORDERS: i64 = 20;

/// Runs it up to its end.
pub(super) fn execute<C: Client>(
    context: &mut Context<'_, C>,
    input: &StockLevelInput,
) -> Result<End, Failure> {
    let (w, d) = (Int(input.w_id.into()), Int(input.d_id.into()));
    context.one(NEXT_ORDER_NUMBER, &[w, d], "a district is missing")?;
    let next = context.rows.int(0, 0)?;
    let params = [w, d, Int(next - ORDERS), Int(next), Int(input.threshold)];
    context.one(LOW_STOCK, &params, "a count is missing")?;
    context.rows.int(0, 0)?;
    Ok(End::Commit)
}
