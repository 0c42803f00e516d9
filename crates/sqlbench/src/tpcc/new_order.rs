//! The New-Order transaction (clause 2.4): two round trips. The first one reads and takes, the second one inserts what
//! follows from it.

use super::statements::*;
use super::terminal::{Context, End};
use crate::client::{Client, Failure};
use crate::values::Param::{Cents, Int, Text, Time};
use scaledb_workloads::tpcc::input::NewOrderInput;
use scaledb_workloads::tpcc::random::is_original;
use scaledb_workloads::tpcc::scale::MAX_LINES;
use smallvec::SmallVec;

/// What is known of a line when its item and stock are.
struct Line {
    amount: i64,
    dist_info: SmallVec<[u8; 24]>,
}

/// Runs it to its end.
pub(super) fn execute<C: Client>(
    context: &mut Context<'_, C>,
    input: &NewOrderInput,
) -> Result<End, Failure> {
    let (w, d, c) = (Int(input.w_id.into()), Int(input.d_id.into()), Int(input.c_id.into()));
    let lines = &input.lines[..input.ol_cnt];
    context.ask(BEGIN, &[])?;
    let warehouse = context.ask(WAREHOUSE_TAX, &[w])?;
    let district = context.ask(TAKE_ORDER_NUMBER, &[w, d])?;
    let customer = context.ask(CUSTOMER_DISCOUNT, &[w, d, c])?;
    let take = TAKE_STOCK[usize::from(input.d_id) - 1];
    let mut asked = SmallVec::<[(usize, usize); MAX_LINES]>::new();
    for line in lines {
        let (i_id, supply) = (Int(line.ol_i_id.into()), Int(line.ol_supply_w_id.into()));
        let quantity = Int(line.ol_quantity.into());
        let remote = Int((line.ol_supply_w_id != input.w_id).into());
        let item = context.ask(ITEM, &[i_id])?;
        asked.push((item, context.ask(take, &[supply, i_id, quantity, quantity, remote])?));
    }
    context.answers()?;
    let w_tax = context.one(warehouse, "a warehouse is missing")?.decimal(0, 0)?;
    let taken = context.one(district, "a district is missing")?;
    let (o_id, d_tax) = (Int(taken.int(0, 0)?), taken.decimal(0, 1)?);
    let c_discount = context.one(customer, "a customer is missing")?.decimal(0, 0)?;
    let mut known = SmallVec::<[Line; MAX_LINES]>::new();
    let mut sum = 0;
    for (line, &(item, stock)) in lines.iter().zip(&asked) {
        let item = context.answer(item);
        // an item that is not there has no stock either: nothing was taken of it (clause 2.4.2.3)
        if item.is_empty() {
            context.roll_back()?;
            return Ok(End::RollBack);
        }
        let stock = context.one(stock, "a stock is missing")?;
        // in cents
        let i_price = item.decimal(0, 0)? / 100;
        // what the terminal shows (clause 2.4.3.3)
        let _original = is_original(item.text(0, 2)?.as_bytes()) && is_original(stock.text(0, 1)?.as_bytes());
        let amount = i_price * i64::from(line.ol_quantity);
        sum += amount;
        known.push(Line { amount, dist_info: SmallVec::from_slice(stock.text(0, 2)?.as_bytes()) });
    }

    let all_local = lines.iter().all(|line| line.ol_supply_w_id == input.w_id);
    let (count, all_local) = (Int(input.ol_cnt as i64), Int(all_local.into()));
    context.ask(INSERT_ORDER, &[w, d, o_id, c, Time(input.o_entry_d), count, all_local])?;
    context.ask(INSERT_NEW_ORDER, &[w, d, o_id])?;
    for (number, (line, Line { amount, dist_info })) in (1..).zip(lines.iter().zip(&known)) {
        let (i_id, supply) = (Int(line.ol_i_id.into()), Int(line.ol_supply_w_id.into()));
        let quantity = Int(line.ol_quantity.into());
        let dist_info = std::str::from_utf8(dist_info).unwrap_or_default();
        let line = [w, d, o_id, Int(number), i_id, supply, quantity, Cents(*amount), Text(dist_info)];
        context.ask(INSERT_LINE, &line)?;
    }
    context.commit()?;
    // the total that the terminal shows, in cents
    let _total =
        i128::from(sum) * i128::from(10_000 - c_discount) * i128::from(10_000 + w_tax + d_tax) / 100_000_000;
    Ok(End::Commit)
}
