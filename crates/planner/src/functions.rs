//! Functions as plans hold them: those of values, of the session, aggregates, and those that return sets.

mod aggregate;
mod assignment;
mod keywords;
mod random;
mod scalar;
mod session;
mod set;

pub use aggregate::{Accumulated, Accumulator, AggregateFn, is_aggregate, is_hypothetical};
pub use assignment::Assignment;
pub use random::Seeded;
pub use scalar::{Integers, RowForm, ScalarFn};
pub use session::SessionFn;
pub use set::{SetFn, of_records, of_session, returns_set};
