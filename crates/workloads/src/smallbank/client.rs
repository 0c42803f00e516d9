//! One thread's transactions.

use super::{Config, CustomerTable, Tables, VALUE, key};
use crate::driver::{Abort, Client, Outcome, Transaction, Workload};
use crate::rng::Rng;
use scaledb_base::Error;
use scaledb_engine::{TxnKind, Worker};
use scaledb_sync::Arc;

/// SmallBank on loaded tables.
#[derive(Clone, Debug)]
pub struct SmallBank {
    /// The parameters.
    pub config: Config,
    /// The tables.
    pub tables: Arc<Tables>,
    /// Where the random numbers start.
    pub seed: u64,
    /// Balance reads a recent snapshot instead of the current state.
    pub snapshot_reads: bool,
}

/// The transactions, and how many of 100 each makes (those of H-Store's implementation).
const SHARES: [(Class, u32); 6] = [
    (Class::Amalgamate, 15),
    (Class::Balance, 15),
    (Class::DepositChecking, 15),
    (Class::SendPayment, 25),
    (Class::TransactSavings, 15),
    (Class::WriteCheck, 15),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Amalgamate,
    Balance,
    DepositChecking,
    SendPayment,
    TransactSavings,
    WriteCheck,
}

impl Workload for SmallBank {
    type Client = Teller;

    fn classes(&self) -> &'static [&'static str] {
        &["Amalgamate", "Balance", "Deposit-Checking", "Send-Payment", "Transact-Savings", "Write-Check"]
    }

    fn client(&self, number: usize, _: usize) -> Teller {
        Teller {
            config: self.config,
            tables: self.tables.clone(),
            rng: Rng::new(self.seed, number as u64),
            reads: if self.snapshot_reads { TxnKind::Snapshot } else { TxnKind::ReadOnly },
            class: Class::Balance,
            customers: [0; 2],
            amount: 0,
            brought: 0,
            pending: 0,
        }
    }

    fn latency_sample(&self) -> u64 {
        4
    }
}

/// One thread's client.
#[derive(Clone, Debug)]
pub struct Teller {
    config: Config,
    tables: Arc<Tables>,
    rng: Rng,
    reads: TxnKind,
    class: Class,
    customers: [u32; 2],
    amount: i64,
    brought: i64,
    pending: i64,
}

impl Teller {
    /// The sum that its committed transactions brought into the bank, in cents.
    pub fn brought(&self) -> i64 {
        self.brought
    }

    /// Two different customers.
    #[inline]
    fn choose(&mut self) {
        let hot = self.rng.percent(self.config.hot_percent);
        let of =
            if hot { self.config.hot_customers.min(self.config.customers) } else { self.config.customers };
        let first = self.rng.below(u64::from(of)) as u32;
        let second = self.rng.below(u64::from(of.max(2) - 1)) as u32;
        self.customers = [first, second + u32::from(second >= first)];
    }

    /// Reads the customer's name: each transaction is given names, and looks the account up.
    #[inline]
    fn look_up<W: Worker>(&self, worker: &mut W, who: usize) -> Outcome<[u8; 4]> {
        let key = key(self.customers[who]);
        let account = &self.tables.account;
        let found = worker.get(account.id, &key, &account.cols, |_, row| row.bytes(VALUE).len())?;
        found.map(|_| key).ok_or(Abort::Inconsistent("an account is missing"))
    }
}

#[inline]
fn balance<W: Worker>(worker: &mut W, table: &CustomerTable, key: &[u8]) -> Outcome<i64> {
    let found = worker.get(table.id, key, &table.cols, |_, row| row.i64(VALUE))?;
    found.ok_or(Abort::Inconsistent("a balance is missing"))
}

/// Changes a balance and returns what it was.
#[inline]
fn change<W: Worker>(
    worker: &mut W,
    table: &CustomerTable,
    key: &[u8],
    to: impl FnOnce(i64) -> i64,
) -> Outcome<i64> {
    let changed = worker.update(table.id, key, &table.cols, |row| {
        let old = row.view().i64(VALUE);
        row.set_i64(VALUE, to(old));
        Ok(old)
    })?;
    changed.ok_or(Abort::Inconsistent("a balance is missing"))
}

impl Client for Teller {
    #[inline]
    fn prepare(&mut self, _: i64) -> Transaction {
        let mut card = self.rng.below(100) as u32;
        self.class = Class::WriteCheck;
        for (class, share) in SHARES {
            if card < share {
                self.class = class;
                break;
            }
            card -= share;
        }
        self.choose();
        // H-Store's amounts: 1.30, 5.00, 20.20, 5.00
        (self.amount, self.pending) = match self.class {
            Class::Amalgamate | Class::Balance => (0, 0),
            Class::DepositChecking => (1_30, 1_30),
            Class::SendPayment => (5_00, 0),
            Class::TransactSavings => (20_20, 20_20),
            Class::WriteCheck => (5_00, 0),
        };
        let kind = if self.class == Class::Balance { self.reads } else { TxnKind::ReadWrite };
        Transaction { class: self.class as usize, kind }
    }

    #[inline]
    fn execute<W: Worker>(&mut self, worker: &mut W) -> Outcome {
        let Tables { savings, checking, .. } = &*self.tables;
        let amount = self.amount;
        let a = self.look_up(worker, 0)?;
        match self.class {
            Class::Amalgamate => {
                let b = self.look_up(worker, 1)?;
                let moved = change(worker, savings, &a, |_| 0)? + change(worker, checking, &a, |_| 0)?;
                change(worker, checking, &b, |old| old + moved)?;
            }
            Class::Balance => {
                balance(worker, savings, &a)?;
                balance(worker, checking, &a)?;
            }
            Class::DepositChecking => {
                change(worker, checking, &a, |old| old + amount)?;
            }
            Class::SendPayment => {
                let b = self.look_up(worker, 1)?;
                if change(worker, checking, &a, |old| old - amount)? < amount {
                    return Err(Error::RolledBack.into());
                }
                change(worker, checking, &b, |old| old + amount)?;
            }
            Class::TransactSavings => {
                if change(worker, savings, &a, |old| old + amount)? + amount < 0 {
                    return Err(Error::RolledBack.into());
                }
            }
            Class::WriteCheck => {
                // an overdraft costs 1.00
                let total = balance(worker, savings, &a)? + balance(worker, checking, &a)?;
                let taken = if total < amount { amount + 1_00 } else { amount };
                change(worker, checking, &a, |old| old - taken)?;
                self.pending = -taken;
            }
        }
        Ok(())
    }

    #[inline]
    fn committed(&mut self) {
        self.brought += self.pending;
    }
}
