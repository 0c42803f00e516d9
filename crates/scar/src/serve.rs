//! Requests of coordinators: the primary's and the backup's side of a transaction.

use super::data::Data;
use super::ids::{Epoch, NodeId, PartitionId, Time, TxnId};
use super::journal::Entry;
use super::message::{Body, Claim, Claimed, Conflict, Out, Writes};
use super::node::{Node, Stage};
use super::protocol::Method;
use super::range::Range;
use super::replica::{Item, Write};
use super::rules::Rules;

/// The most acknowledgements that are held back for one coordinator.
const ACKNOWLEDGEMENTS: usize = 64;

impl<R: Rules, D: Data> Node<R, D> {
    fn is_primary(&self, partition: PartitionId) -> bool {
        self.view.placement(partition).is_some_and(|place| place.primary == self.id)
    }

    pub(crate) fn serve_read(
        &mut self,
        from: NodeId,
        txn: TxnId,
        key: D::Key,
        at: Option<Epoch>,
        out: &mut Out<D>,
    ) {
        let partition = self.view.partition::<D>(&key);
        let Some(replica) = self.readable(partition) else { return };
        if at.is_some_and(|epoch| !replica.keeps(self.rules, epoch)) {
            return self.send(from, Body::TooOld(txn), out);
        }
        let (value, seen) = replica.read_at(self.rules, partition, &key, at, self.epoch);
        self.send(from, Body::ReadReply(txn, key, value, seen), out);
    }

    pub(crate) fn serve_scan(
        &mut self,
        from: NodeId,
        txn: TxnId,
        (partition, range): (PartitionId, Range<D::Key>),
        at: Option<Epoch>,
        out: &mut Out<D>,
    ) {
        let Some(replica) = self.readable(partition) else { return };
        if at.is_some_and(|epoch| !replica.keeps(self.rules, epoch)) {
            return self.send(from, Body::TooOld(txn), out);
        }
        let (rows, seen) = match at {
            None => replica.scan(partition, &range, self.epoch),
            Some(epoch) => (replica.rows_at(self.rules, &range, epoch), Vec::new()),
        };
        self.send(from, Body::ScanReply(txn, partition, range, rows, seen), out);
    }

    /// Gives a coordinator all locks and extensions that it requests; else no lock at all. Promises that were made by
    /// then stay: they hinder nobody else's reads.
    pub(crate) fn serve_claim(
        &mut self,
        from: NodeId,
        txn: TxnId,
        number: u32,
        claim: Claim<D::Key>,
        out: &mut Out<D>,
    ) {
        let of_reads = claim.reads.iter().map(|(item, _)| self.view.partition_of::<D>(item));
        let of_locks = claim.locks.iter().map(|(key, _)| self.view.partition::<D>(key));
        if !of_reads.chain(of_locks).all(|partition| self.is_primary(partition)) {
            return;
        }
        let answer = self.grant(txn, claim);
        self.send(from, Body::ClaimReply(txn, number, answer), out);
    }

    fn grant(&mut self, txn: TxnId, Claim { reads, until, locks }: Claim<D::Key>) -> Claimed<D::Key> {
        let records = reads.iter().filter_map(|(item, _)| match item {
            Item::Record(key) => Some(key),
            Item::Gap(..) => None,
        });
        self.look_ahead(records.chain(locks.iter().map(|(key, _)| key)));
        let rules = self.rules;
        let anywhere = self.is_full() || self.full.count() > 0;
        // without promises it is unknown at which time the holder of the lock will write
        let until = if rules.protocol().method == Method::Occ { Time(u64::MAX) } else { until };
        // before the locks, which split the gaps that were read
        for (item, wts) in reads {
            let replica = self.replicas.get_mut(&self.view.partition_of::<D>(&item));
            let valid = replica.map(|replica| replica.extend(rules, txn, &item, wts, until));
            valid.unwrap_or(Err(Conflict::Changed)).map_err(|conflict| (item, conflict))?;
        }
        let (mut granted, mut fresh) = (Vec::with_capacity(locks.len()), Vec::new());
        for (key, wts) in locks {
            let partition = self.view.partition::<D>(&key);
            let no_room = anywhere && self.has_no_room(partition);
            let answer = match self.replicas.get_mut(&partition) {
                None => Err(Conflict::Changed),
                Some(replica) if no_room && !replica.has(&key) => Err(Conflict::Full),
                Some(replica) => replica.lock(rules, txn, &key, wts),
            };
            match answer {
                Ok((lock, is_fresh)) => {
                    granted.push(lock);
                    if is_fresh {
                        fresh.push(key);
                    }
                }
                Err(conflict) => {
                    // locks of an earlier claim stay: this message may be a repetition of it
                    self.serve_unlock(txn, fresh);
                    return Err((Item::Record(key), conflict));
                }
            }
        }
        Ok(granted)
    }

    pub(crate) fn know_promises(&mut self, items: Vec<(Item<D::Key>, Time, Time)>) {
        for (item, wts, until) in items {
            if let Some(replica) = self.replicas.get_mut(&self.view.partition_of::<D>(&item)) {
                replica.promised(&item, wts, until);
            }
        }
    }

    pub(crate) fn serve_write(
        &mut self,
        from: NodeId,
        txn: TxnId,
        number: u32,
        writes: Writes<D>,
        cts: Time,
        out: &mut Out<D>,
    ) {
        let (rules, epoch) = (self.rules, self.epoch);
        let kept = |(key, _): &(D::Key, _)| self.replicas.contains_key(&self.view.partition::<D>(key));
        if !writes.iter().all(kept) {
            return;
        }
        self.look_ahead(writes.iter().map(|(key, _)| key));
        for (key, value) in writes {
            if D::is_announcement(&key) {
                self.note_announcement(key, value, cts);
                continue;
            }
            let partition = self.view.partition::<D>(&key);
            let primary = self.is_primary(partition);
            let entry = self.view.durable.then(|| Entry::Write(key.clone(), value.clone(), cts, epoch));
            if let Some(replica) = self.replicas.get_mut(&partition) {
                replica.write(rules, primary, Write { txn, key, value, cts, epoch });
            }
            if let Some(entry) = entry {
                self.write_down(entry, out);
            }
        }
        let waiting = self.acks.entry(from).or_default();
        waiting.push((txn, number));
        if self.stage != Stage::Open || from == self.id || waiting.len() >= ACKNOWLEDGEMENTS {
            let acks = std::mem::take(waiting);
            self.send(from, Body::WriteAck(acks), out);
        }
    }

    /// The barrier has come, and waits for all acknowledgements.
    pub(crate) fn acknowledge(&mut self, out: &mut Out<D>) {
        for (node, acks) in std::mem::take(&mut self.acks) {
            if !acks.is_empty() {
                self.send(node, Body::WriteAck(acks), out);
            }
        }
    }

    pub(crate) fn serve_unlock(&mut self, txn: TxnId, keys: Vec<D::Key>) {
        for key in keys {
            if let Some(replica) = self.replicas.get_mut(&self.view.partition::<D>(&key)) {
                replica.unlock(txn, &key);
            }
        }
    }
}
