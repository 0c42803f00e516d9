//! The New-Order transaction (clause 2.4).

use super::statements::*;
use super::terminal::{Context, End};
use crate::client::{Client, Failure};
use crate::values::Param::{Cents, Int, Text, Time};
use scaledb_workloads::tpcc::input::NewOrderInput;
use scaledb_workloads::tpcc::random::is_original;
use scaledb_workloads::tpcc::scale::MAX_LINES;

/// Runs it up to its end.
pub(super) fn execute<C: Client>(
    context: &mut Context<'_, C>,
    input: &NewOrderInput,
    prices: &mut [i64; MAX_LINES],
) -> Result<End, Failure> {
    let (w, d) = (Int(input.w_id.into()), Int(input.d_id.into()));
    context.one(WAREHOUSE_TAX, &[w], "a warehouse is missing")?;
    let w_tax = context.rows.decimal(0, 0)?;
    context.one(TAKE_ORDER_NUMBER, &[w, d], "a district is missing")?;
    let (o_id, d_tax) = (Int(context.rows.int(0, 0)?), context.rows.decimal(0, 1)?);
    context.one(CUSTOMER_DISCOUNT, &[w, d, Int(input.c_id.into())], "a customer is missing")?;
    let c_discount = context.rows.decimal(0, 0)?;

    let lines = &input.lines[..input.ol_cnt];
    let all_local = lines.iter().all(|line| line.ol_supply_w_id == input.w_id);
    let order = [
        w,
        d,
        o_id,
        Int(input.c_id.into()),
        Time(input.o_entry_d),
        Int(input.ol_cnt as i64),
        Int(all_local.into()),
    ];
    context.run(INSERT_ORDER, &order)?;
    context.run(INSERT_NEW_ORDER, &[w, d, o_id])?;

    let mut sum = 0;
    let mut dist_info = String::with_capacity(24);
    for (number, (line, i_price)) in lines.iter().zip(prices).enumerate() {
        let i_id = Int(line.ol_i_id.into());
        if context.run(ITEM, &[i_id])? == 0 {
            return Ok(End::RollBack);
        }
        // in cents
        *i_price = context.rows.decimal(0, 0)? / 100;
        let original_item = is_original(context.rows.text(0, 2)?.as_bytes());
        let quantity = Int(line.ol_quantity.into());
        let remote = Int((line.ol_supply_w_id != input.w_id).into());
        let supply = Int(line.ol_supply_w_id.into());
        let take = TAKE_STOCK[usize::from(input.d_id) - 1];
        context.one(take, &[supply, i_id, quantity, quantity, remote], "a stock is missing")?;
        // what the terminal shows (clause 2.4.3.3)
        let _original = original_item && is_original(context.rows.text(0, 1)?.as_bytes());
        dist_info.clear();
        dist_info.push_str(context.rows.text(0, 2)?);
        let amount = *i_price * i64::from(line.ol_quantity);
        sum += amount;
        let line =
            [w, d, o_id, Int(number as i64 + 1), i_id, supply, quantity, Cents(amount), Text(&dist_info)];
        context.run(INSERT_LINE, &line)?;
    }
    // the total that the terminal shows, in cents
    let _total =
        i128::from(sum) * i128::from(10_000 - c_discount) * i128::from(10_000 + w_tax + d_tax) / 100_000_000;
    Ok(End::Commit)
}
