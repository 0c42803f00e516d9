//! Sessions: what a client knows from one operation to the next.

use std::collections::HashMap;

use super::{Change, Commit, Config, Conflict, Error, Metrics, Read, ReadResult, Transaction, View};
use crate::wire::Known;
use crate::{BadToken, Datacenter, Incarnation, Rule, Shape, Slot, Stamp, Timestamp, TxnId, Value};

/// How many random bytes a transaction needs for its name.
pub const BEGIN_ENTROPY: usize = 16;

/// What a session has made or read itself at a shard.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The newest write; none after it was reported as lost.
    stamp: Option<Stamp>,
    /// The life of the shard that is known to have it.
    verified: Incarnation,
    /// Up to here losses have been reported.
    reported: Stamp,
}

/// What a session remembers besides its timestamp.
#[derive(Clone, Debug)]
pub struct Memory {
    seen: HashMap<Slot, Seen>,
    /// Where stamps of slots come from, as servers have said. It does not change before all of a slot is lost.
    datacenters: HashMap<Slot, Datacenter>,
    /// What it has counted.
    pub metrics: Metrics,
    random: u64,
}

impl Memory {
    /// A number for a pause (xorshift; nothing depends on its quality).
    pub(super) fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// The session has seen a write of a shard, in an answer of that life.
    pub(super) fn see(
        &mut self,
        slot: Slot,
        datacenter: Option<Datacenter>,
        stamp: Stamp,
        life: Incarnation,
    ) {
        if let Some(datacenter) = datacenter {
            self.datacenters.insert(slot, datacenter);
        }
        let seen = self.seen.entry(slot).or_default();
        if stamp != Stamp::ZERO && seen.stamp.is_none_or(|before| before < stamp) {
            (seen.stamp, seen.verified) = (Some(stamp), life);
        }
    }

    /// The master of this life has what the session has seen.
    pub(super) fn verified(&mut self, slot: Slot, life: Incarnation) {
        self.seen.entry(slot).or_default().verified = life;
    }

    /// The session is told that a write is lost.
    pub(super) fn report_lost(&mut self, slot: Slot, stamp: Stamp) {
        let seen = self.seen.entry(slot).or_default();
        seen.stamp = None;
        seen.reported = seen.reported.max(stamp);
        self.metrics.lost_writes += 1;
    }

    /// A master has said where stamps of a slot come from.
    pub(super) fn note_datacenter(&mut self, slot: Slot, datacenter: Datacenter) {
        self.datacenters.insert(slot, datacenter);
    }

    pub(super) fn datacenter(&self, slot: Slot) -> Option<Datacenter> {
        self.datacenters.get(&slot).copied()
    }
}

/// A client's session. It can be handed on as a [`token`](Self::token), to any client and any datacenter.
#[derive(Clone, Debug)]
pub struct Session {
    deps: Timestamp,
    memory: Memory,
    config: Config,
}

impl Session {
    /// Knows of nothing. `random` seeds its pauses.
    pub fn new(shape: Shape, config: Config, random: u64) -> Self {
        let memory = Memory {
            seen: HashMap::new(),
            datacenters: HashMap::new(),
            metrics: Metrics::default(),
            random: random | 1,
        };
        Self { deps: Timestamp::new(shape), memory, config }
    }

    /// What it knows, as a short text.
    pub fn token(&self) -> String {
        self.deps.to_token()
    }

    /// Adds what another session knew when it made the token.
    ///
    /// # Errors
    ///
    /// If the text is no token. A token that claims to know the future is refused by servers.
    pub fn add_token(&mut self, token: &str) -> Result<(), BadToken> {
        self.deps.merge(&token.parse()?);
        Ok(())
    }

    /// What it knows.
    pub fn deps(&self) -> &Timestamp {
        &self.deps
    }

    /// What it has counted.
    pub fn metrics(&self) -> &Metrics {
        &self.memory.metrics
    }

    /// How it behaves.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// For the steps of its single operations, and of its commits.
    pub fn view(&mut self) -> View<'_> {
        View { deps: &mut self.deps, memory: &mut self.memory, config: &self.config }
    }

    /// Reads keys of one slot.
    ///
    /// # Panics
    ///
    /// If there are no keys, or if they are of several slots.
    pub fn read(&self, keys: Vec<Value>) -> Read {
        Read::new(keys)
    }

    /// Gives a key a value, or deletes it.
    pub fn change(&self, key: Value, value: Option<Value>) -> Change {
        Change::new(key, value)
    }

    /// Begins a transaction. Its name must be random: 128 bits of a good generator.
    pub fn begin(&self, name: [u8; BEGIN_ENTROPY]) -> Transaction {
        Transaction::new(TxnId(name), self.deps.clone())
    }

    /// Begins a transaction again that has aborted: from what the conflict says. What the session knows stays as it is.
    pub fn begin_again(&self, name: [u8; BEGIN_ENTROPY], floor: &Timestamp) -> Transaction {
        let mut deps = self.deps.clone();
        deps.merge(floor);
        Transaction::new(TxnId(name), deps)
    }

    /// For the steps of a transaction's reads.
    pub fn view_of<'a>(&'a mut self, transaction: &'a mut Transaction) -> View<'a> {
        View { deps: transaction.deps_mut(), memory: &mut self.memory, config: &self.config }
    }

    /// Notes what a transaction's read has found.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if it is of another moment than what was read before: the commit could only fail.
    pub fn note(
        &mut self,
        transaction: &mut Transaction,
        keys: &[Value],
        result: ReadResult,
    ) -> Result<(), Error> {
        let noted = transaction.note(keys, result, self.config.rules);
        if noted.is_err() {
            self.memory.metrics.count(Conflict::Reads);
        }
        noted
    }

    /// Commits a transaction. The operation's steps need the session's [`view`](Self::view).
    pub fn commit(&self, transaction: Transaction) -> Commit {
        Commit::new(transaction)
    }

    /// Gives a transaction up. Nothing has to be sent.
    pub fn roll_back(&mut self, transaction: Transaction) {
        if !self.config.rules.on(Rule::AbortKeepsSession) {
            self.deps = transaction.into_begin();
        }
    }
}

impl View<'_> {
    /// The write of a shard that a master is asked about: what the session has seen, or has heard of, if that counts.
    fn seen(&self, slot: Slot) -> Option<Stamp> {
        let seen = self.memory.seen.get(&slot).copied().unwrap_or_default();
        let heard = || {
            let heard = self.deps.exact(self.memory.datacenter(slot)?, slot)?;
            (self.config.report_hearsay && heard > seen.reported).then_some(heard)
        };
        seen.stamp.or_else(heard)
    }

    /// Whether what the session has seen is of another life of the shard, so that its master has to be asked.
    pub(super) fn doubts(&self, slot: Slot, life: Incarnation) -> bool {
        let verified = self.memory.seen.get(&slot).map(|seen| seen.verified);
        self.config.rules.on(Rule::IncarnationsTell)
            && self.seen(slot).is_some_and(|seen| life != verified.unwrap_or(seen.incarnation()))
    }

    /// What the session has seen of a slot itself, and has not been told to be lost: a copy has to have it. A
    /// transaction that has begun before does not know it.
    pub(super) fn has_seen(&self, slot: Slot) -> Stamp {
        let seen = self.memory.seen.get(&slot).and_then(|seen| seen.stamp);
        seen.filter(|_| self.config.rules.on(Rule::SeenCounts)).unwrap_or_default()
    }

    /// Whether a copy says that the stamps of a slot come from elsewhere than the session was told: the copy is old, or
    /// the slot has begun anew, and its master knows.
    pub(super) fn knows_other(&self, slot: Slot, datacenter: Option<Datacenter>) -> bool {
        let known =
            self.memory.datacenter(slot).filter(|_| self.config.rules.on(Rule::OtherDatacentersCount));
        datacenter.is_some_and(|datacenter| known.is_some_and(|known| known != datacenter))
    }

    /// What a master is told with each question.
    pub(super) fn known(&self, slot: Slot) -> Known {
        let carries = self.config.rules.on(Rule::WritesCarryDeps);
        let deps = if carries { self.deps.clone() } else { Timestamp::new(self.deps.shape()) };
        let verified = self.memory.seen.get(&slot).map_or(Incarnation::NONE, |seen| seen.verified);
        Known { deps, seen: self.seen(slot), verified }
    }
}
