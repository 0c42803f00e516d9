//! Reads ahead of the client: one message to each primary, for many keys and ranges.
//!
//! ```text
//!   client        coordinator                    primaries
//!   fetch ──────► Fetch, one to each ──────────► what is there, with its times
//!       ◄──────── Fetched ◄───────── FetchReply, of all that were asked
//!   read, scan ─► answered from what has come: from here on the transaction depends on it
//! ```
//!
//! The transaction does not depend on fetched values that it never reads. Answers are limited: what they leave out is
//! requested when it is read.

use super::data::Data;
use super::ids::{Epoch, NodeId, NodeSet, PartitionId, TxnId};
use super::message::{Answer, Body, Out};
use super::node::{Node, Refused};
use super::range::Range;
use super::replica::{Replica, Scanned, Seen};
use super::rules::Rules;
use super::transaction::{Kind, Phase};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most keys, and the most ranges, of one fetch; more are not fetched.
const MAX_FETCHED: usize = 1 << 12;

/// An answer ends behind so many bytes.
const FETCH_BYTES: usize = 1 << 20;

/// What is to be fetched.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Wanted<K> {
    /// Keys.
    pub keys: Vec<K>,
    /// Ranges of partitions.
    pub ranges: Vec<(PartitionId, Range<K>)>,
}

/// A key's value, and what a reader of it depends on.
type Read<D> = (Option<<D as Data>::Value>, Seen<<D as Data>::Key>);

/// What was found under a key, and what a reader of it depends on.
type Found<K, V> = (K, Option<V>, Seen<K>);

/// What was found in a range: its rows, and what a reader of them depends on.
type FoundRange<K, V> = (PartitionId, Range<K>, Vec<(K, V)>, Vec<Seen<K>>);

/// What was fetched.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Brought<K, V> {
    /// Keys.
    pub keys: Vec<Found<K, V>>,
    /// Ranges.
    pub ranges: Vec<FoundRange<K, V>>,
}

impl<K> Default for Wanted<K> {
    fn default() -> Self {
        Self { keys: Vec::new(), ranges: Vec::new() }
    }
}

impl<K, V> Default for Brought<K, V> {
    fn default() -> Self {
        Self { keys: Vec::new(), ranges: Vec::new() }
    }
}

/// What primaries have answered, and nobody has read yet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Fetched<D: Data> {
    keys: BTreeMap<D::Key, Read<D>>,
    ranges: Vec<FoundRange<D::Key, D::Value>>,
    /// The number of the last fetch: a repeated answer has an earlier one, and is ignored.
    number: u32,
}

impl<D: Data> Default for Fetched<D> {
    fn default() -> Self {
        Self { keys: BTreeMap::new(), ranges: Vec::new(), number: 0 }
    }
}

impl<D: Data> Fetched<D> {
    pub(crate) fn take_key(&mut self, key: &D::Key) -> Option<Read<D>> {
        self.keys.remove(key)
    }

    pub(crate) fn take_range(&mut self, partition: PartitionId, range: &Range<D::Key>) -> Option<Scanned<D>> {
        let at = self.ranges.iter().position(|found| found.0 == partition && found.1 == *range)?;
        let (_, _, rows, seen) = self.ranges.swap_remove(at);
        Some((rows, seen))
    }

    /// Drops values that were fetched and never read, so that they do not accumulate over several fetches.
    fn make_room(&mut self) {
        if self.keys.len() + self.ranges.len() >= MAX_FETCHED {
            self.clear();
        }
    }

    fn bring(&mut self, brought: Brought<D::Key, D::Value>) {
        for (key, value, seen) in brought.keys {
            self.keys.insert(key, (value, seen));
        }
        for found in brought.ranges {
            self.ranges.retain(|known| (known.0, &known.1) != (found.0, &found.1));
            self.ranges.push(found);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.ranges.clear();
    }
}

impl<R: Rules, D: Data> Node<R, D> {
    /// Asks for what will be read and is not kept here, with one message to each node that has some of it. The answer
    /// comes in `out`, at once or later. What was fetched before and not read may be dropped.
    ///
    /// # Errors
    /// It is not the client's turn.
    pub fn fetch(&mut self, txn: TxnId, wanted: Wanted<D::Key>, out: &mut Out<D>) -> Result<(), Refused> {
        self.see_own_session(txn);
        self.client_turn(txn)?.fetched.make_room();
        let at = match self.transactions.get(&txn).map(|transaction| transaction.kind) {
            Some(Kind::Snapshot) => match self.epoch_of_snapshot(txn, out) {
                None => return Ok(()),
                epoch => epoch,
            },
            _ => None,
        };
        let transaction = self.client_turn(txn)?;
        let (writes, values) = (&transaction.writes, &transaction.values);
        let known = |key: &D::Key| writes.contains_key(key) || values.contains_key(key);
        let keys: Vec<D::Key> = wanted.keys.into_iter().take(MAX_FETCHED).filter(|key| !known(key)).collect();
        self.look_ahead(keys.iter());
        let mut questions: BTreeMap<NodeId, Wanted<D::Key>> = BTreeMap::new();
        for key in keys {
            if let Some(primary) = self.elsewhere(self.view.partition::<D>(&key)) {
                questions.entry(primary).or_default().keys.push(key);
            }
        }
        for (partition, range) in wanted.ranges.into_iter().take(MAX_FETCHED) {
            if let Some(primary) = self.elsewhere(partition) {
                questions.entry(primary).or_default().ranges.push((partition, range));
            }
        }
        let Some(transaction) = self.transactions.get_mut(&txn) else { return Ok(()) };
        if questions.is_empty() {
            out.answers.push(Answer::Fetched(txn));
            return Ok(());
        }
        transaction.fetched.number = transaction.fetched.number.wrapping_add(1);
        let number = transaction.fetched.number;
        transaction.phase = Phase::Fetching { awaited: questions.keys().copied().collect::<NodeSet>() };
        for (primary, wanted) in questions {
            self.send(primary, Body::Fetch(txn, number, wanted, at), out);
        }
        Ok(())
    }

    /// The primary of a partition that cannot be read here.
    fn elsewhere(&self, partition: PartitionId) -> Option<NodeId> {
        if self.read_here(partition).is_some() {
            return None;
        }
        self.view.placement(partition).map(|place| place.primary).filter(|&primary| primary != self.id)
    }

    pub(crate) fn serve_fetch(
        &self,
        from: NodeId,
        (txn, number): (TxnId, u32),
        wanted: Wanted<D::Key>,
        at: Option<Epoch>,
        out: &mut Out<D>,
    ) {
        // what is no longer kept is left out: the transaction hears of it when it reads that
        let readable = |partition: PartitionId| {
            let kept = |replica: &&Replica<D>| at.is_none_or(|epoch| replica.keeps(self.rules, epoch));
            self.readable(partition).filter(kept)
        };
        self.look_ahead(wanted.keys.iter().take(MAX_FETCHED));
        let mut brought = Brought::default();
        let mut bytes = 0;
        for key in wanted.keys.into_iter().take(MAX_FETCHED) {
            let partition = self.view.partition::<D>(&key);
            if bytes >= FETCH_BYTES {
                break;
            }
            if let Some(replica) = readable(partition) {
                let (value, seen) = replica.read_at(self.rules, partition, &key, at, self.epoch);
                bytes += D::bytes(&key, value.as_ref());
                brought.keys.push((key, value, seen));
            }
        }
        for (partition, range) in wanted.ranges.into_iter().take(MAX_FETCHED) {
            if bytes >= FETCH_BYTES {
                break;
            }
            if let Some(replica) = readable(partition) {
                let (rows, seen) = match at {
                    None => replica.scan(partition, &range, self.epoch),
                    Some(epoch) => (replica.rows_at(self.rules, &range, epoch), Vec::new()),
                };
                bytes += rows.iter().map(|(key, value)| D::bytes(key, Some(value))).sum::<usize>();
                brought.ranges.push((partition, range, rows, seen));
            }
        }
        self.send(from, Body::FetchReply(txn, number, brought), out);
    }

    pub(crate) fn fetch_done(
        &mut self,
        from: NodeId,
        txn: TxnId,
        number: u32,
        mut brought: Brought<D::Key, D::Value>,
        out: &mut Out<D>,
    ) {
        let view = self.view.clone();
        let its =
            |partition: PartitionId| view.placement(partition).is_some_and(|place| place.primary == from);
        let Some(transaction) = self.transactions.get_mut(&txn) else { return };
        let Phase::Fetching { awaited } = &mut transaction.phase else { return };
        if transaction.fetched.number != number || !awaited.has(from) {
            return;
        }
        *awaited = awaited.without(from);
        let done = awaited.count() == 0;
        brought.keys.retain(|found| its(view.partition::<D>(&found.0)));
        brought.ranges.retain(|found| its(found.0));
        transaction.fetched.bring(brought);
        if done {
            transaction.phase = Phase::Open;
            out.answers.push(Answer::Fetched(txn));
        }
    }
}
