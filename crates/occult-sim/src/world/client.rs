//! A client: what it does, what it is in the midst of, and what it knows.

use crate::versions::Key;
use scaledb_occult::client::{Change, Commit, Finish, Read, Session, Transaction};
use scaledb_occult::{Slot, Stamp, TxnId};
use std::collections::{HashMap, HashSet};

/// What a client does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Reads keys of one slot.
    Read(Vec<Key>),
    /// Writes a key, or deletes it.
    Write(Key, bool),
    /// Reads keys one after the other, writes some or deletes them, and commits.
    Transaction(Vec<Key>, Vec<(Key, bool)>),
    /// Reads keys in a transaction, and gives it up.
    GiveUp(Vec<Key>),
    /// Goes on in another datacenter, with a token.
    Travel(usize),
}

/// An operation that waits for answers.
#[derive(Debug)]
pub(super) enum Running {
    Read(Read, Vec<Key>),
    Change(Change, Key),
    InTransaction(Read, Vec<Key>),
    Commit(Box<Commit>),
}

/// A transaction that a client is in.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) transaction: Option<Transaction>,
    pub(super) past: Vec<u32>,
    pub(super) reads: Vec<(Key, u32)>,
    pub(super) rest: Vec<Key>,
    pub(super) writes: Vec<(Key, bool)>,
    pub(super) name: TxnId,
    pub(super) attempt: u32,
    pub(super) gives_up: bool,
}

/// A client.
pub(super) struct Client {
    pub(super) datacenter: usize,
    pub(super) session: Session,
    /// What it knows, exactly.
    pub(super) past: Vec<u32>,
    /// What it has read or written itself, by slot, since it was told of a loss there.
    pub(super) direct: HashMap<Slot, Vec<(Key, u32)>>,
    pub(super) open: Option<Open>,
    pub(super) running: Option<Running>,
    /// The number of the operation; events of others are late.
    pub(super) operation: u64,
    pub(super) finishing: HashMap<u64, Finish>,
    pub(super) last: Vec<Stamp>,
    /// The failovers of which the copy knew that has answered last.
    pub(super) failovers: u64,
    /// Slots where it has committed something that a failover had lost before.
    pub(super) phantoms: HashSet<Slot>,
    /// What it has read in transactions, committed or not: it may be told of its loss, and need not.
    pub(super) glimpsed: Vec<(Slot, Key, u32)>,
    pub(super) gone: bool,
}
