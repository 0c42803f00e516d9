//! Committed transactions, which a shard remembers for a while.

use std::collections::{HashMap, VecDeque};

use crate::codec::{self, Malformed, Reader};
use crate::limits::MAX_RECORDS;
use crate::{Micros, Timestamp, TxnId};

/// The transactions that have committed at a shard, as long as somebody may ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Records {
    /// In the order in which they committed here.
    order: VecDeque<TxnId>,
    /// When, and what their writes depend on.
    by_name: HashMap<TxnId, (Micros, Timestamp)>,
}

impl Records {
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn get(&self, txn: TxnId) -> Option<&(Micros, Timestamp)> {
        self.by_name.get(&txn)
    }

    pub(super) fn add(&mut self, txn: TxnId, at: Micros, deps: Timestamp) {
        if self.by_name.insert(txn, (at, deps)).is_none() {
            self.order.push_back(txn);
        }
    }

    /// Whether one more has no place, if those of before `time` are forgotten.
    pub(super) fn is_full(&self, time: Micros) -> bool {
        self.len() >= MAX_RECORDS
            && self.order.front().and_then(|txn| self.get(*txn)).is_some_and(|(at, _)| *at >= time)
    }

    /// Forgets what has committed before.
    pub(super) fn forget(&mut self, before: Micros) {
        while let Some(oldest) = self.order.front()
            && self.get(*oldest).is_none_or(|(at, _)| *at < before)
        {
            self.by_name.remove(oldest);
            self.order.pop_front();
        }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        codec::put_number(out, self.order.len() as u64);
        for txn in &self.order {
            let Some((at, deps)) = self.by_name.get(txn) else { continue };
            out.extend(txn.0);
            codec::put_number(out, at.0);
            deps.encode(out);
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut records = Self::default();
        for _ in 0..reader.count(MAX_RECORDS + 1)? {
            let (txn, at) = (reader.txn()?, reader.micros()?);
            if records.get(txn).is_some() {
                return Err(Malformed("a transaction twice"));
            }
            records.add(txn, at, Timestamp::decode(reader)?);
        }
        Ok(records)
    }
}
