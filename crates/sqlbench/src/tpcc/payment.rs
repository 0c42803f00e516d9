//! The Payment transaction (clause 2.5): two round trips. And the search for a customer by name.

use super::statements::*;
use super::terminal::{Context, End};
use crate::client::{Client, Failure};
use crate::rows::Answer;
use crate::values::Param::{self, Cents, Int, Text, Time};
use scaledb_workloads::tpcc::input::PaymentInput;
use scaledb_workloads::tpcc::payment::Who;
use scaledb_workloads::tpcc::random::trimmed;

/// Runs it to its end.
pub(super) fn execute<C: Client>(context: &mut Context<'_, C>, input: &PaymentInput) -> Result<End, Failure> {
    let (w, d) = (Int(input.w_id.into()), Int(input.d_id.into()));
    let (c_w, c_d) = (Int(input.c_w_id.into()), Int(input.c_d_id.into()));
    let amount = Cents(input.h_amount.into());
    context.ask(BEGIN, &[])?;
    let warehouse = context.ask(PAY_WAREHOUSE, &[w, amount])?;
    let district = context.ask(PAY_DISTRICT, &[w, d, amount])?;
    let customer = match &input.customer {
        Who::Id(c_id) => context.ask(PAY_CUSTOMER, &[c_w, c_d, Int((*c_id).into()), amount])?,
        Who::Name(name) => ask_names(context, c_w, c_d, name)?,
    };
    context.answers()?;
    let mut h_data = context.one(warehouse, "a warehouse is missing")?.text(0, 0)?.to_owned();
    h_data += "    ";
    h_data += context.one(district, "a district is missing")?.text(0, 0)?;
    let (c_id, bad) = match input.customer {
        Who::Id(c_id) => {
            (c_id.into(), context.one(customer, "a customer is missing")?.text(0, CREDIT)? == BAD)
        }
        Who::Name(_) => middle(context.answer(customer))?,
    };

    let c = Int(c_id);
    let mut paid = None;
    if let Who::Name(_) = input.customer {
        paid = Some(context.ask(PAY_CUSTOMER, &[c_w, c_d, c, amount])?);
    }
    let mut noted = None;
    if bad {
        let (cents, whole) = (input.h_amount % 100, input.h_amount / 100);
        let PaymentInput { w_id, d_id, c_w_id, c_d_id, .. } = input;
        let note = format!("{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {whole}.{cents:02} ");
        noted = Some(context.ask(NOTE_BAD_CREDIT, &[c_w, c_d, c, Text(&note)])?);
    }
    context.ask(INSERT_HISTORY, &[c, c_d, c_w, d, w, Time(input.h_date), amount, Text(&h_data)])?;
    context.commit()?;
    for statement in [paid, noted].into_iter().flatten() {
        context.one(statement, "a customer is missing")?;
    }
    Ok(End::Commit)
}

/// The column of [`PAY_CUSTOMER`] that says whether a customer's credit is good.
const CREDIT: usize = 10;
const BAD: &str = "BC";

/// Asks for the customers with a last name.
pub(super) fn ask_names<C: Client>(
    context: &mut Context<'_, C>,
    w: Param<'_>,
    d: Param<'_>,
    name: &[u8],
) -> Result<usize, Failure> {
    let name = std::str::from_utf8(trimmed(name)).unwrap_or_default();
    context.ask(CUSTOMERS_BY_NAME, &[w, d, Text(name)])
}

/// Of those with a last name, the middle one by first name (clauses 2.5.2.2, 2.6.2.2): the number, and whether the
/// credit is bad.
pub(super) fn middle(found: Answer<'_>) -> Result<(i64, bool), Failure> {
    if found.is_empty() {
        return Err(Failure::Inconsistent("no customer has this name"));
    }
    let row = found.len().div_ceil(2) - 1;
    Ok((found.int(row, 0)?, found.text(row, 1)? == BAD))
}
