//! Which transactions the workers of this node run, and what refused those that were refused: for the errors of
//! conflicts, which name both statements.

use super::horizon;
use crate::asking::{Asked, Told};
use crate::rows::Key;
use scaledb_base::{Conflict, Timestamp, WorkerId, limits};
use scaledb_engine::Statements;
use scaledb_scar::{Item, TxnId, Why};
use scaledb_sync::Arc;
use scaledb_sync::CachePadded;
use scaledb_sync::atomic::{AtomicU64, Ordering};
use scaledb_sync::lock::Mutex;
use std::collections::VecDeque;

/// Conflicts whose cause is remembered until the client is told.
const REFUSALS: usize = 256;

/// A conflict, the transaction that it has ended, and what was in its way.
pub(super) struct Refusal {
    pub(super) conflict: Conflict,
    pub(super) own: TxnId,
    pub(super) why: Why,
    pub(super) item: Item<Key>,
}

/// What a worker runs: written by it alone.
#[derive(Default)]
struct Runs {
    /// The number of its last transaction.
    txn: AtomicU64,
    /// The place of that, if it has one.
    place: AtomicU64,
}

/// What is known of transactions that are in the way of others.
pub(super) struct Others {
    node: scaledb_scar::NodeId,
    workers: Box<[CachePadded<Runs>]>,
    statements: Mutex<Option<Arc<dyn Statements>>>,
    refusals: Mutex<VecDeque<Refusal>>,
}

impl Others {
    pub(super) fn new(node: scaledb_scar::NodeId) -> Self {
        let workers = (0..limits::MAX_WORKERS).map(|_| CachePadded(Runs::default())).collect();
        Self { node, workers, statements: Mutex::default(), refusals: Mutex::default() }
    }

    pub(super) fn name_statements(&self, statements: Arc<dyn Statements>) {
        *self.statements.lock() = Some(statements);
    }

    /// A worker begins a transaction.
    pub(super) fn begins(&self, worker: WorkerId, txn: TxnId) {
        if let Some(runs) = self.workers.get(worker.index()) {
            // Release pairs with the Acquire in `texts`: the place of the transaction before is gone first
            runs.place.store(0, Ordering::Release);
            runs.txn.store(txn.number, Ordering::Release);
        }
    }

    /// Its transaction has a place.
    pub(super) fn decided(&self, worker: WorkerId, place: Timestamp) {
        if let Some(runs) = self.workers.get(worker.index()) {
            // Release pairs with the Acquire in `texts`
            runs.place.store(place.raw(), Ordering::Release);
        }
    }

    /// What refused a transaction.
    pub(super) fn refused(&self, refusal: Refusal) {
        let mut refusals = self.refusals.lock();
        if refusals.len() >= REFUSALS {
            refusals.pop_front();
        }
        refusals.push_back(refusal);
    }

    /// What was in the way of the last transaction with this conflict.
    pub(super) fn behind(&self, conflict: &Conflict) -> Option<(TxnId, Why, Item<Key>)> {
        let refusals = self.refusals.lock();
        let last = refusals.iter().rev().find(|refusal| refusal.conflict == *conflict)?;
        Some((last.own, last.why, last.item.clone()))
    }

    /// Answers another member.
    pub(super) fn tell(&self, asked: &Asked) -> Told {
        let Some(statements) = self.statements.lock().clone() else { return Told::Nothing };
        let texts = match *asked {
            Asked::Of(txn) if txn.node == self.node => self.texts(&*statements, |runs| &runs.txn, txn.number),
            Asked::At(epoch, time) => {
                let place = horizon::place(epoch, time);
                let mut texts = self.texts(&*statements, |runs| &runs.place, place.raw());
                texts.extend(statements.at(place).iter().map(|text| text.to_string()));
                texts
            }
            Asked::Of(_) | Asked::Writer(..) => Vec::new(),
        };
        if texts.is_empty() { Told::Nothing } else { Told::Texts(texts) }
    }

    /// The statements of workers of which this is so, before and after these were looked up.
    fn texts(
        &self,
        statements: &dyn Statements,
        of: impl Fn(&Runs) -> &AtomicU64,
        wanted: u64,
    ) -> Vec<String> {
        let runs = self.workers.iter().enumerate();
        let texts = runs.filter_map(|(worker, runs)| {
            // Acquire pairs with the Release where it is set
            let is_so = || of(runs).load(Ordering::Acquire) == wanted;
            let text = is_so().then(|| statements.last(WorkerId(worker as u8))).flatten();
            text.filter(|_| is_so()).map(|text| text.to_string())
        });
        texts.collect()
    }
}
