//! The Payment transaction (clause 2.5), and the search for a customer by name.

use super::statements::*;
use super::terminal::{Context, End};
use crate::client::{Client, Failure};
use crate::values::Param::{self, Cents, Int, Text, Time};
use scaledb_workloads::tpcc::input::PaymentInput;
use scaledb_workloads::tpcc::payment::Who;
use scaledb_workloads::tpcc::random::trimmed;

/// Runs it up to its end.
pub(super) fn execute<C: Client>(context: &mut Context<'_, C>, input: &PaymentInput) -> Result<End, Failure> {
    let (w, d) = (Int(input.w_id.into()), Int(input.d_id.into()));
    let amount = Cents(input.h_amount.into());
    context.one(PAY_WAREHOUSE, &[w, amount], "a warehouse is missing")?;
    let mut h_data = context.rows.text(0, 0)?.to_owned();
    context.one(PAY_DISTRICT, &[w, d, amount], "a district is missing")?;
    h_data += "    ";
    h_data += context.rows.text(0, 0)?;

    let (c_w, c_d) = (Int(input.c_w_id.into()), Int(input.c_d_id.into()));
    let c_id = customer(context, c_w, c_d, input.customer)?;
    let c = Int(c_id);
    context.one(PAY_CUSTOMER, &[c_w, c_d, c, amount], "a customer is missing")?;
    if context.rows.text(0, 10)? == "BC" {
        let (cents, whole) = (input.h_amount % 100, input.h_amount / 100);
        let PaymentInput { w_id, d_id, c_w_id, c_d_id, .. } = input;
        let note = format!("{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {whole}.{cents:02} ");
        context.one(NOTE_BAD_CREDIT, &[c_w, c_d, c, Text(&note)], "a customer is missing")?;
    }
    context.run(INSERT_HISTORY, &[c, c_d, c_w, d, w, Time(input.h_date), amount, Text(&h_data)])?;
    Ok(End::Commit)
}

/// The number of a customer: of those with a last name, the middle one by first name (clauses 2.5.2.2, 2.6.2.2).
pub(super) fn customer<C: Client>(
    context: &mut Context<'_, C>,
    w: Param<'_>,
    d: Param<'_>,
    who: Who,
) -> Result<i64, Failure> {
    match who {
        Who::Id(c_id) => Ok(c_id.into()),
        Who::Name(name) => {
            let name = std::str::from_utf8(trimmed(&name)).unwrap_or_default();
            match context.run(CUSTOMERS_BY_NAME, &[w, d, Text(name)])? {
                0 => Err(Failure::Inconsistent("no customer has this name")),
                found => context.rows.int((found as usize).div_ceil(2) - 1, 0),
            }
        }
    }
}
