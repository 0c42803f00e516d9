//! The customer that a last name stands for (clauses 2.5.2.2 and 2.6.2.2).

use super::keys;
use super::schema::Tables;
use crate::driver::{Abort, Outcome};
use scaledb_engine::{Order, Range, Worker};
use scaledb_row::Projection;
use std::ops::ControlFlow;

/// A search, and memory that is used again.
#[derive(Clone, Debug)]
pub struct NameSearch {
    found: Vec<[u8; 5]>,
    /// The keys say everything.
    cols: Projection,
}

impl Default for NameSearch {
    fn default() -> Self {
        Self { found: Vec::with_capacity(64), cols: Projection::existence() }
    }
}

impl NameSearch {
    /// The key of the customer at position n/2 (rounded up) of the n that bear the name, by first name.
    ///
    /// # Errors
    /// What the engine returns.
    pub fn middle<W: Worker>(
        &mut self,
        t: &Tables,
        worker: &mut W,
        w: i16,
        d: u8,
        last: &[u8; 16],
    ) -> Outcome<[u8; 5]> {
        let Self { found, cols } = self;
        found.clear();
        let (from, to) = keys::customers_by_name(w, d, last);
        worker.scan(t.customer_by_name.id, Range::new(&from, &to), Order::Forward, cols, |_, key, _| {
            found.push(keys::customer_of(key));
            ControlFlow::Continue(())
        })?;
        match found.len() {
            0 => Err(Abort::Inconsistent("nobody bears a last name")),
            n => Ok(found[n.div_ceil(2) - 1]),
        }
    }
}
