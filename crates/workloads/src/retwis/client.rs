//! One thread's transactions.

use super::{Config, Table, WRITES, encoded};
use crate::driver::{Abort, Client, Outcome, Transaction, Workload};
use crate::rng::Rng;
use crate::zipf::{Scramble, Zipf};
use scaledb_engine::{TxnKind, Worker};
use scaledb_sync::Arc;

/// The most keys of a transaction.
const MOST: usize = 10;

/// Retwis on a loaded table.
#[derive(Clone, Debug)]
pub struct Retwis {
    /// The parameters.
    pub config: Config,
    /// The table.
    pub table: Arc<Table>,
    /// The choice of keys.
    pub zipf: Arc<Zipf>,
    /// Where the random numbers start.
    pub seed: u64,
}

impl Retwis {
    /// On a loaded table.
    pub fn new(config: Config, table: Arc<Table>, seed: u64) -> Self {
        Self { config, table, zipf: Arc::new(Zipf::new(config.keys, config.theta)), seed }
    }
}

/// A transaction: how many of 100 it makes, how many keys it reads, and how many it writes; those that are both are
/// the first.
const SHARES: [(u64, usize, usize); 3] = [(5, 1, 3), (15, 2, 2), (30, 3, 5)];

impl Workload for Retwis {
    type Client = User;

    fn classes(&self) -> &'static [&'static str] {
        &["Add-User", "Follow", "Post-Tweet", "Load-Timeline"]
    }

    fn client(&self, number: usize, _: usize) -> User {
        User {
            table: self.table.clone(),
            zipf: self.zipf.clone(),
            scramble: Scramble::new(self.config.keys),
            rng: Rng::new(self.seed ^ 0x7265_7477_6973, number as u64),
            most: MOST.min(self.config.keys as usize),
            keys: Vec::with_capacity(MOST),
            reads: 0,
            writes: 0,
            written: 0,
        }
    }
}

/// One thread's client.
#[derive(Clone, Debug)]
pub struct User {
    table: Arc<Table>,
    zipf: Arc<Zipf>,
    scramble: Scramble,
    rng: Rng,
    most: usize,
    keys: Vec<u64>,
    reads: usize,
    writes: usize,
    written: u64,
}

impl User {
    /// The writes of its committed transactions.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The writes of the transaction at hand.
    pub fn pending(&self) -> u64 {
        self.writes as u64
    }
}

impl Client for User {
    fn prepare(&mut self, _: i64) -> Transaction {
        let mut card = self.rng.below(100);
        let mut class = SHARES.len();
        (self.reads, self.writes) = (1 + self.rng.below(MOST as u64) as usize, 0);
        for (number, (share, reads, writes)) in SHARES.into_iter().enumerate() {
            if card < share {
                (class, self.reads, self.writes) = (number, reads, writes);
                break;
            }
            card -= share;
        }
        self.keys.clear();
        let wanted = self.reads.max(self.writes).min(self.most);
        while self.keys.len() < wanted {
            let key = self.scramble.place(self.zipf.draw(&mut self.rng));
            if !self.keys.contains(&key) {
                self.keys.push(key);
            }
        }
        let kind = if self.writes == 0 { TxnKind::ReadOnly } else { TxnKind::ReadWrite };
        Transaction { class, kind }
    }

    fn execute<W: Worker>(&mut self, worker: &mut W) -> Outcome {
        let Table { id, cols, .. } = &*self.table;
        let keys: Vec<[u8; 8]> = self.keys.iter().map(|&key| encoded(key)).collect();
        worker.prefetch(keys.iter().map(|key| (*id, &key[..], cols)));
        for key in &keys[..self.reads.min(keys.len())] {
            let found = worker.get(*id, key, cols, |_, row| row.i64(WRITES))?;
            found.ok_or(Abort::Inconsistent("a key is missing"))?;
        }
        for key in &keys[..self.writes.min(keys.len())] {
            let changed = worker.update(*id, key, cols, |row| {
                let before = row.view().i64(WRITES);
                row.set_i64(WRITES, before + 1);
                Ok(())
            })?;
            changed.ok_or(Abort::Inconsistent("a key is missing"))?;
        }
        Ok(())
    }

    fn committed(&mut self) {
        self.written += self.writes.min(self.keys.len()) as u64;
    }
}
