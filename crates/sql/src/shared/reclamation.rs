//! What keeps memory from being used again, and whose transactions.

use super::Shared;
use crate::activity::Known;
use crate::reclamation::{Held, Reclamation};
use scaledb_engine::Engine;

impl<E: Engine> Shared<E> {
    /// What keeps memory from being used again, with what is known of the sessions.
    pub(crate) fn reclamation(&self) -> (Reclamation, Vec<(u32, Known)>) {
        let found = self.engine.reclamation();
        let sessions = self.sessions.all();
        let lag = found.lag();
        // the two were looked at one after the other: a transaction that came or went between them has no session here
        let session = |worker| sessions.iter().find(|(_, known)| known.activity.worker() == Some(worker));
        let held = found
            .active
            .into_iter()
            .map(|(worker, time)| Held { session: session(worker).map(|(id, _)| *id), time });
        let (waiting, waiting_bytes) = (found.waiting, found.waiting_bytes);
        (Reclamation { waiting, waiting_bytes, lag, transactions: held.collect() }, sessions)
    }
}
