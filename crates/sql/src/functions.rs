//! Functions as plans hold them: those of values, of the session, aggregates, and those that return sets.

mod aggregate;
mod assignment;
mod random;
mod scalar;
mod session;
mod set;

pub(crate) use aggregate::{Accumulator, AggregateFn, is_aggregate};
pub(crate) use assignment::Assignment;
pub(crate) use random::Seeded;
pub(crate) use scalar::{Integers, RowForm, ScalarFn};
pub(crate) use session::SessionFn;
pub(crate) use set::{SetFn, of_records, of_session, returns_set};
