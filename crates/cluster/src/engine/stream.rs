//! A scan of one partition, in batches, with the transaction's own writes in it; and the merge of several.

use super::own::Own;
use super::talk::{Ended, Talk};
use crate::rows::{Key, Value};
use scaledb_engine::Order;
use scaledb_scar::{PartitionId, Range, TxnId, Wanted};
use std::collections::VecDeque;
use std::ops::Bound;

/// Rows of the first batch, and of the largest: each is twice as large as the one before. What a batch has brought the
/// transaction depends on, whether it is handed out or not.
pub(super) const FIRST: u32 = if scaledb_sync::MODEL { 2 } else { 8 };
pub(super) const LARGEST: u32 = 512;

/// A scan of one partition.
pub(super) struct Stream {
    partition: PartitionId,
    order: Order,
    /// What the node has not been asked for.
    left: (Bound<Key>, Bound<Key>),
    /// What has not been looked for among the own writes.
    own_left: (Bound<Key>, Bound<Key>),
    rows: VecDeque<(Key, Value)>,
    ended: bool,
    /// Whether the node keeps the partition: then a batch costs no message.
    here: bool,
    /// Whether the next batch was fetched ahead.
    ahead: bool,
    batch: u32,
    ready: Option<(Key, Value)>,
}

impl Stream {
    /// Of the keys of a space from `start` to below `end`.
    pub(super) fn new(
        partition: PartitionId,
        space: u32,
        start: &[u8],
        end: Option<&[u8]>,
        (order, here): (Order, bool),
    ) -> Self {
        let low = Key::new(partition, space, start);
        let high = match end {
            Some(end) => Key::new(partition, space, end),
            None => Key::new(partition, space.saturating_add(1), &[]),
        };
        Self::between(low, high, order, here)
    }

    /// Of the catalog's keys from one to below another.
    pub(super) fn of_catalog((low, high): (Key, Key)) -> Self {
        Self::between(low, high, Order::Forward, true)
    }

    fn between(low: Key, high: Key, order: Order, here: bool) -> Self {
        let partition = low.partition;
        let (low, high) = (Bound::Included(low), Bound::Excluded(high));
        Self {
            partition,
            order,
            left: (low.clone(), high.clone()),
            own_left: (low, high),
            rows: VecDeque::new(),
            ended: false,
            here,
            ahead: false,
            batch: FIRST,
            ready: None,
        }
    }

    /// Makes the next row ready, if there is one.
    fn prepare(&mut self, talk: &mut Talk, txn: TxnId, own: &Own) -> Result<(), Ended> {
        while self.ready.is_none() {
            if self.rows.is_empty() && !self.ended {
                self.fetch(talk, txn)?;
            }
            let own_next = own.next(&self.own_left.0, &self.own_left.1, self.order);
            let (take_row, take_own) = match (self.rows.front(), own_next) {
                (None, None) => return Ok(()),
                (Some(_), None) => (true, false),
                (None, Some(_)) => (false, true),
                (Some((key, _)), Some((own, _))) => {
                    let own_is_later = match self.order {
                        Order::Forward => own > key,
                        Order::Backward => own < key,
                    };
                    (own_is_later || own == key, !own_is_later)
                }
            };
            let row = if take_row { self.rows.pop_front() } else { None };
            self.ready = match own_next.filter(|_| take_own) {
                // an own write hides the row
                Some((key, value)) => {
                    let (key, value) = (key.clone(), value.clone());
                    go_on(&mut self.own_left, &key, self.order);
                    value.map(|value| (key, value))
                }
                None => row,
            };
        }
        Ok(())
    }

    /// Whether it has nothing to go on with, and another node must be asked.
    fn is_dry(&self) -> bool {
        self.ready.is_none() && self.rows.is_empty() && self.may_fetch()
    }

    /// Whether it will soon.
    fn is_low(&self) -> bool {
        self.rows.len() <= self.batch as usize / 4 && self.may_fetch()
    }

    fn may_fetch(&self) -> bool {
        !self.ended && !self.here && !self.ahead
    }

    /// What it will ask for next.
    fn next_batch(&self) -> Range<Key> {
        let (low, high) = self.left.clone();
        Range { low, high, backward: self.order == Order::Backward, limit: self.batch }
    }

    fn fetch(&mut self, talk: &mut Talk, txn: TxnId) -> Result<(), Ended> {
        let rows = talk.scan(txn, self.partition, self.next_batch())?;
        self.ended = rows.len() < self.batch as usize;
        self.ahead = false;
        self.batch = (self.batch * 2).min(LARGEST);
        if let Some((last, _)) = rows.last() {
            go_on(&mut self.left, last, self.order);
        }
        self.rows = rows.into();
        Ok(())
    }
}

/// The bounds of what is behind a key.
fn go_on(left: &mut (Bound<Key>, Bound<Key>), last: &Key, order: Order) {
    match order {
        Order::Forward => left.0 = Bound::Excluded(last.clone()),
        Order::Backward => left.1 = Bound::Excluded(last.clone()),
    }
}

/// The next row of all these streams, in the order of its bytes.
pub(super) fn next(
    streams: &mut [Stream],
    talk: &mut Talk,
    txn: TxnId,
    own: &Own,
) -> Result<Option<(Key, Value)>, Ended> {
    // of those that come to their ends at about the same time, each node is asked once
    if streams.iter().any(Stream::is_dry) {
        let mut low: Vec<&mut Stream> = streams.iter_mut().filter(|stream| stream.is_low()).collect();
        if low.len() > 1 {
            low.iter_mut().for_each(|stream| stream.ahead = true);
            let ranges = low.iter().map(|stream| (stream.partition, stream.next_batch())).collect();
            talk.fetch(txn, Wanted { keys: Vec::new(), ranges })?;
        }
    }
    for stream in streams.iter_mut() {
        stream.prepare(talk, txn, own)?;
    }
    let ready = streams.iter_mut().filter(|stream| stream.ready.is_some());
    let next = ready.reduce(|one, other| {
        let bytes = |stream: &Stream| stream.ready.as_ref().map(|(key, _)| key.bytes.clone());
        let other_first = match one.order {
            Order::Forward => bytes(other) < bytes(one),
            Order::Backward => bytes(other) > bytes(one),
        };
        if other_first { other } else { one }
    });
    Ok(next.and_then(|stream| stream.ready.take()))
}
