//! Single statements on single rows, found by their key, each in a transaction of its own: what a statement costs
//! besides its work.

use crate::client::{Client, Failure};
use crate::conflict::{conflict, given_up};
use crate::rows::Rows;
use crate::values::Param::Int;
use scaledb_workloads::driver::{Attempt, ConflictAt, Connected};
use scaledb_workloads::rng::Rng;
use std::fmt::Write;

/// The names of the transactions.
pub const CLASSES: [&str; 2] = ["Point-Select", "Point-Update"];

/// The prepared statements, by the numbers of their classes.
const STATEMENTS: [&str; 2] =
    ["SELECT balance FROM account WHERE id = $1", "UPDATE account SET balance = balance + $2 WHERE id = $1"];
/// Rows of one COPY: a transaction of bounded size.
const ROWS: u32 = 10_000;

/// Which statement is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// One column of a row.
    Select,
    /// One column is added to.
    Update,
}

/// Creates the table, and fills it with rows of about 100 bytes.
///
/// # Errors
/// The database's: 42P07 if there is such a table already.
pub fn create<C: Client>(client: &mut C, records: u32) -> Result<(), Failure> {
    client.script(
        "CREATE TABLE account (id integer PRIMARY KEY, branch integer NOT NULL, balance integer NOT NULL, \
         filler char(84) NOT NULL)",
    )?;
    let mut data = String::new();
    for first in (1..=records).step_by(ROWS as usize) {
        data.clear();
        for id in first..=records.min(first + (ROWS - 1)) {
            // the text cannot fail to grow
            let _ = writeln!(data, "{id}\t{}\t0\t", id % 10);
        }
        client.copy_in("COPY account FROM STDIN", data.as_bytes())?;
    }
    client.script("ANALYZE")
}

/// The sum of all balances: that of all amounts that were added.
///
/// # Errors
/// The database's.
pub fn total<C: Client>(client: &mut C) -> Result<i64, Failure> {
    let mut rows = Rows::default();
    client.query("SELECT sum(balance) FROM account", &mut rows)?;
    rows.answer(0).int(0, 0)
}

/// A client that runs one of the statements again and again.
pub struct Points<C> {
    client: C,
    statement: Statement,
    records: u32,
    rng: Rng,
    rows: Rows,
    id: i64,
    amount: i64,
    brought: i64,
}

impl<C: Client> Points<C> {
    /// Client `number` of those with this seed.
    ///
    /// # Errors
    /// The database's: the table must be there.
    pub fn new(
        mut client: C,
        statement: Statement,
        records: u32,
        seed: u64,
        number: usize,
    ) -> Result<Self, Failure> {
        client.prepare(&STATEMENTS)?;
        let rng = Rng::new(seed, number as u64);
        Ok(Self { client, statement, records, rng, rows: Rows::default(), id: 1, amount: 0, brought: 0 })
    }

    /// The sum of what it has added.
    pub fn brought(&self) -> i64 {
        self.brought
    }

    /// The connection.
    pub fn into_client(self) -> C {
        self.client
    }
}

impl<C: Client> Connected for Points<C> {
    type Error = Failure;

    // a look at the clock takes a noticeable part of a statement
    const LATENCY_SAMPLE: u64 = 64;

    fn prepare(&mut self, _: i64) -> usize {
        self.id = self.rng.below(self.records.into()) as i64 + 1;
        if self.statement == Statement::Update {
            self.amount = self.rng.below(101) as i64 - 50;
        }
        self.statement as usize
    }

    fn attempt(&mut self) -> Result<Attempt, Failure> {
        let params = [Int(self.id), Int(self.amount)];
        let params = if self.statement == Statement::Select { &params[..1] } else { &params };
        match self.client.run(self.statement as usize, params, &mut self.rows) {
            Ok(1) => {
                self.brought += self.amount;
                Ok(Attempt::Committed)
            }
            Ok(_) => Err(Failure::Inconsistent("an account is missing")),
            Err(failure) => conflict(failure).map(Attempt::Conflict),
        }
    }

    fn given_up(conflict: ConflictAt) -> Failure {
        given_up(conflict)
    }
}
