//! Committed transactions, which a shard remembers for a while.

use std::collections::{BTreeSet, HashMap, VecDeque};

use smallvec::SmallVec;

use crate::codec::{self, Malformed, Reader};
use crate::limits::{MAX_PARTS, MAX_RECORDS};
use crate::{Micros, Slot, Timestamp, TxnId};

/// What a shard knows of a transaction that has committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// When.
    pub(super) at: Micros,
    /// What its writes depend on.
    pub(super) deps: Timestamp,
    /// At the home: the other slots where the transaction may still hold a lock. Whoever meets one asks for the
    /// outcome, so the record stays until all of them are said to have ended.
    pub(super) open: SmallVec<[Slot; 2]>,
}

/// The transactions that have committed at a shard, as long as somebody may ask.
///
/// Each is in `order` or in `kept`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Records {
    /// In the order in which they committed here.
    order: VecDeque<TxnId>,
    /// Old ones that are open.
    kept: BTreeSet<TxnId>,
    by_name: HashMap<TxnId, Record>,
}

impl Records {
    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    pub(super) fn get(&self, txn: TxnId) -> Option<&Record> {
        self.by_name.get(&txn)
    }

    pub(super) fn open(&self) -> impl Iterator<Item = TxnId> {
        let open = self.by_name.iter().filter(|(_, record)| !record.open.is_empty());
        open.map(|(txn, _)| *txn)
    }

    pub(super) fn add(&mut self, txn: TxnId, record: Record) {
        if self.by_name.insert(txn, record).is_none() {
            self.order.push_back(txn);
        }
    }

    /// The transaction holds no lock in these slots any more.
    pub(super) fn end(&mut self, txn: TxnId, parts: &[Slot]) {
        let Some(record) = self.by_name.get_mut(&txn) else { return };
        record.open.retain(|slot| !parts.contains(slot));
        if record.open.is_empty() && self.kept.remove(&txn) {
            self.by_name.remove(&txn);
        }
    }

    /// Whether one more has no place, if those of before `time` are forgotten.
    pub(super) fn is_full(&self, time: Micros) -> bool {
        let mut old =
            self.order.iter().filter_map(|txn| self.get(*txn)).take_while(|record| record.at < time);
        self.len() >= MAX_RECORDS && old.all(|record| !record.open.is_empty())
    }

    /// Forgets what has committed before, and is not open.
    pub(super) fn forget(&mut self, before: Micros) {
        while let Some(&oldest) = self.order.front()
            && let Some(record) = self.by_name.get(&oldest)
            && record.at < before
        {
            if record.open.is_empty() {
                self.by_name.remove(&oldest);
            } else {
                self.kept.insert(oldest);
            }
            self.order.pop_front();
        }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        for list in [self.order.iter().collect::<Vec<_>>(), self.kept.iter().collect()] {
            codec::put_number(out, list.len() as u64);
            for txn in list {
                let Some(record) = self.by_name.get(txn) else { continue };
                out.extend(txn.0);
                codec::put_number(out, record.at.0);
                record.deps.encode(out);
                codec::put_slots(out, &record.open);
            }
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut records = Self::default();
        for kept in [false, true] {
            for _ in 0..reader.count(MAX_RECORDS + 1)? {
                let (txn, at) = (reader.txn()?, reader.micros()?);
                if records.get(txn).is_some() {
                    return Err(Malformed("a transaction twice"));
                }
                let deps = Timestamp::decode(reader)?;
                let open = reader.slots(MAX_PARTS)?;
                records.by_name.insert(txn, Record { at, deps, open });
                if kept {
                    records.kept.insert(txn);
                } else {
                    records.order.push_back(txn);
                }
            }
        }
        Ok(records)
    }
}
