//! A terminal on a connection: chooses transactions, runs them, tells conflicts from errors.

use super::statements::{COMMIT, ROLLBACK, STATEMENTS};
use super::{delivery, new_order, order_status, payment, stock_level};
use crate::client::{Client, Failure};
use crate::conflict::{conflict, given_up};
use crate::rows::{Answer, Rows};
use crate::values::Param;
use scaledb_workloads::driver::{Attempt, ConflictAt, Connected};
use scaledb_workloads::tpcc::input::NewOrderInput;
use scaledb_workloads::tpcc::{Input, Inputs};

/// The names of the transactions, by the numbers of their classes.
pub const CLASSES: [&str; 5] = ["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"];

/// How a transaction ends that meets neither a conflict nor an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Commit,
    RollBack,
}

/// What a transaction runs its statements with: those that do not depend on each other's answers in one batch, with
/// the transaction's begin or end where that stands beside them.
pub(super) struct Context<'a, C> {
    client: &'a mut C,
    rows: &'a mut Rows,
    /// Statements in the batch.
    asked: usize,
}

impl<C: Client> Context<'_, C> {
    /// Adds a prepared statement to the batch; its place there.
    pub(super) fn ask(&mut self, statement: usize, params: &[Param<'_>]) -> Result<usize, Failure> {
        self.client.ask(statement, params)?;
        self.asked += 1;
        Ok(self.asked - 1)
    }

    /// Runs the batch.
    pub(super) fn answers(&mut self) -> Result<(), Failure> {
        self.asked = 0;
        self.client.answers(self.rows)
    }

    /// Runs the batch, and commits.
    pub(super) fn commit(&mut self) -> Result<(), Failure> {
        self.ask(COMMIT, &[])?;
        self.answers()
    }

    /// Rolls back.
    pub(super) fn roll_back(&mut self) -> Result<(), Failure> {
        self.ask(ROLLBACK, &[])?;
        self.answers()
    }

    /// What the statement at this place of the batch has answered.
    pub(super) fn answer(&self, place: usize) -> Answer<'_> {
        self.rows.answer(place)
    }

    /// The same of one that must return or change exactly one row.
    pub(super) fn one(&self, place: usize, otherwise: &'static str) -> Result<Answer<'_>, Failure> {
        let answer = self.answer(place);
        if answer.affected() == 1 { Ok(answer) } else { Err(Failure::Inconsistent(otherwise)) }
    }
}

/// A terminal with its connection.
pub struct Terminal<C> {
    client: C,
    inputs: Inputs,
    input: Input,
    rows: Rows,
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
        Ok(Self { client, inputs, input: Input::NewOrder(nothing), rows: Rows::default() })
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
        let context = &mut Context { client: &mut self.client, rows: &mut self.rows, asked: 0 };
        match &self.input {
            Input::NewOrder(input) => new_order::execute(context, input),
            Input::Payment(input) => payment::execute(context, input),
            Input::OrderStatus(input) => order_status::execute(context, input),
            Input::Delivery(input) => delivery::execute(context, input),
            Input::StockLevel(input) => stock_level::execute(context, input),
        }
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
        // a transaction that reads while others commit may see rows that do not fit together: then it cannot commit;
        // one that has committed is out of a transaction, which the database only warns of
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
