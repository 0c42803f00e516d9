//! A terminal on a connection: chooses transactions, runs them, tells conflicts from errors.

use super::statements::{BEGIN, BEGIN_READ_ONLY, COMMIT, ROLLBACK, STATEMENTS};
use super::{delivery, new_order, order_status, payment, stock_level};
use crate::client::{Client, Failure};
use crate::conflict::{conflict, given_up};
use crate::rows::Rows;
use crate::values::Param;
use scaledb_workloads::driver::{Attempt, ConflictAt, Connected};
use scaledb_workloads::tpcc::input::NewOrderInput;
use scaledb_workloads::tpcc::scale::MAX_LINES;
use scaledb_workloads::tpcc::{Input, Inputs};

/// The names of the transactions, by the numbers of their classes.
pub const CLASSES: [&str; 5] = ["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"];

/// How a transaction ends that meets neither a conflict nor an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Commit,
    RollBack,
}

/// What a transaction runs its statements with.
pub(super) struct Context<'a, C> {
    pub(super) client: &'a mut C,
    pub(super) rows: &'a mut Rows,
}

impl<C: Client> Context<'_, C> {
    /// Runs a prepared statement; how many rows it returned or changed.
    pub(super) fn run(&mut self, statement: usize, params: &[Param<'_>]) -> Result<u64, Failure> {
        self.client.run(statement, params, self.rows)
    }

    /// Runs one that must return or change exactly one row.
    pub(super) fn one(
        &mut self,
        statement: usize,
        params: &[Param<'_>],
        otherwise: &'static str,
    ) -> Result<(), Failure> {
        if self.run(statement, params)? == 1 { Ok(()) } else { Err(Failure::Inconsistent(otherwise)) }
    }
}

/// A terminal with its connection.
pub struct Terminal<C> {
    client: C,
    inputs: Inputs,
    input: Input,
    rows: Rows,
    /// What New-Order keeps of its lines' items.
    prices: [i64; MAX_LINES],
}

impl<C: Client> Terminal<C> {
    /// A terminal whose statements are prepared on `client`.
    ///
    /// # Errors
    /// The database's: the tables must be there.
    pub fn new(mut client: C, inputs: Inputs) -> Result<Self, Failure> {
        client.prepare(STATEMENTS)?;
        let nothing =
            NewOrderInput { w_id: 0, d_id: 0, c_id: 0, o_entry_d: 0, ol_cnt: 0, lines: Default::default() };
        Ok(Self {
            client,
            inputs,
            input: Input::NewOrder(nothing),
            rows: Rows::default(),
            prices: [0; MAX_LINES],
        })
    }

    /// The connection.
    pub fn into_client(self) -> C {
        self.client
    }

    /// Runs the transaction that was entered.
    ///
    /// # Errors
    /// Those of its statements, conflicts among them. The connection may be in a transaction then.
    fn transact(&mut self) -> Result<End, Failure> {
        let begin = match self.input {
            Input::OrderStatus(_) | Input::StockLevel(_) => BEGIN_READ_ONLY,
            Input::NewOrder(_) | Input::Payment(_) | Input::Delivery(_) => BEGIN,
        };
        let mut context = Context { client: &mut self.client, rows: &mut self.rows };
        context.run(begin, &[])?;
        let end = match &self.input {
            Input::NewOrder(input) => new_order::execute(&mut context, input, &mut self.prices)?,
            Input::Payment(input) => payment::execute(&mut context, input)?,
            Input::OrderStatus(input) => order_status::execute(&mut context, input)?,
            Input::Delivery(input) => delivery::execute(&mut context, input)?,
            Input::StockLevel(input) => stock_level::execute(&mut context, input)?,
        };
        context.run(if end == End::Commit { COMMIT } else { ROLLBACK }, &[])?;
        Ok(end)
    }
}

impl<C: Client> Connected for Terminal<C> {
    type Error = Failure;

    fn prepare(&mut self, now: i64) -> usize {
        self.input = self.inputs.next(now);
        self.input.class() as usize
    }

    fn attempt(&mut self) -> Result<Attempt, Failure> {
        let failure = match self.transact() {
            Ok(End::Commit) => return Ok(Attempt::Committed),
            Ok(End::RollBack) => return Ok(Attempt::RolledBack),
            Err(failure) => failure,
        };
        // a transaction that reads while others commit may see rows that do not fit together: then it cannot commit
        if matches!(failure, Failure::Inconsistent(_)) {
            return match self.client.run(COMMIT, &[], &mut self.rows) {
                Err(refused) => conflict(refused).map(Attempt::Conflict),
                Ok(_) => Err(failure),
            };
        }
        let conflict = conflict(failure)?;
        // a commit that failed has ended the transaction already; that is no error, only a warning
        self.client.run(ROLLBACK, &[], &mut self.rows)?;
        Ok(Attempt::Conflict(conflict))
    }

    fn given_up(conflict: ConflictAt) -> Failure {
        given_up(conflict)
    }
}
