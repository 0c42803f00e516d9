//! The Payment transaction (clause 2.5): one round trip, two if the customer is searched by name. And that search.

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
    let (amount, date) = (Cents(input.h_amount.into()), Time(input.h_date));
    context.ask(BEGIN, &[])?;
    let (c_id, bad) = match &input.customer {
        Who::Id(c_id) => ((*c_id).into(), None),
        Who::Name(name) => {
            let names = ask_names(context, c_w, c_d, name)?;
            context.answers()?;
            let (c_id, bad) = middle(context.answer(names))?;
            (c_id, Some(bad))
        }
    };
    let c = Int(c_id);
    let warehouse = context.ask(PAY_WAREHOUSE, &[w, amount])?;
    let district = context.ask(PAY_DISTRICT, &[w, d, amount])?;
    let customer = context.ask(PAY_CUSTOMER, &[c_w, c_d, c, amount])?;
    if bad.unwrap_or(true) {
        let (cents, whole) = (input.h_amount % 100, input.h_amount / 100);
        let PaymentInput { w_id, d_id, c_w_id, c_d_id, .. } = input;
        let note = format!("{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {whole}.{cents:02} ");
        context.ask(NOTE_BAD_CREDIT, &[c_w, c_d, c, Text(&note)])?;
    }
    let history = context.ask(INSERT_HISTORY, &[c, c_d, c_w, d, w, date, amount])?;
    context.commit()?;
    let parts = [
        (warehouse, "a warehouse is missing"),
        (district, "a district is missing"),
        (customer, "a customer is missing"),
        (history, "a payment has no history"),
    ];
    for (statement, what) in parts {
        context.one(statement, what)?;
    }
    Ok(End::Commit)
}

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
