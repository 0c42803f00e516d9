//! What plain commands, expiry and eviction do to stamped keys.
//!
//! A stamped key that is removed, or overwritten with a plain value, by whatever command, is a deletion: it gets a
//! stamp, and its effect goes to the replicas in the same transaction of the stream. The type's `unlink` callback
//! sees all of these; the server's notification that follows has the context that is needed to send an effect. A
//! shard under a lock has to wait: the stamp comes with the first beat after the lock.

use crate::state::{self, Unlinked};
use crate::store::{self, Keys, Names};
use crate::{commands, host};
use redis_module::Context;
use scaledb_occult::wire::{Command, Known};
use scaledb_occult::{Entry, Incarnation, Micros, Role, Server, Slot, Store, Timestamp, slot_of};

/// The store as it was before the key went: a deletion reads of it what the value depended on.
struct Before<'a>(&'a Unlinked);

impl Store for Before<'_> {
    fn get(&self, _: &[u8]) -> Option<Entry> {
        None
    }

    fn deps(&self, _: &[u8]) -> Option<Timestamp> {
        Some(self.0.deps.clone())
    }

    fn put(&mut self, _: &[u8], _: &Entry) {}

    fn remove(&mut self, _: &[u8]) {}
}

/// Stamps what was removed since the last time. Called after notifications and by the beat's timer.
///
/// A key that MIGRATE has taken while its slot moves lives on elsewhere: its slot is leaving. Outside of a move it is
/// a deletion. A replica, or a server that reads its file, sees a removal only, and takes it for leaving until an
/// effect of a settled master says otherwise.
pub(crate) fn stamp(ctx: &Context) {
    if !state::has_unlinked() || state::is_busy() {
        return;
    }
    let removed = state::take_unlinked();
    let Some(server) = commands::server_now(ctx) else { return };
    let stamps = server.role == Role::Master && !host::is_loading(ctx);
    for unlinked in removed {
        if !stamps || unlinked.moved && is_leaving(ctx, &server, slot_of(&unlinked.key)) {
            leave(ctx, slot_of(&unlinked.key), state::term_of_stream(&server));
        } else if !stamp_one(ctx, &server, state::now(), &unlinked) {
            state::note_unlinked(unlinked);
        }
    }
}

/// Whether the slot of a key that MIGRATE has taken is moving.
fn is_leaving(ctx: &Context, server: &Server, slot: Slot) -> bool {
    // after the first key the server need not be asked
    matches!(store::look(Names::none(ctx), slot, |shard| shard.is_leaving(server)), Ok(true))
        || !host::owns(ctx, slot)
}

fn leave(ctx: &Context, slot: Slot, term: Incarnation) {
    if store::is_stored(Names::none(ctx), slot) {
        // of another type than a state it is nothing that could be trusted
        let _ = store::change(Names::none(ctx), slot, |shard| shard.leave(term, state::now()));
    } else {
        // the state has left before its keys
        state::with(|module| module.put_aside.get_mut(&slot).map(|shard| shard.leave(term, state::now())));
    }
}

/// Whether it is done; otherwise it has to be tried again.
fn stamp_one(ctx: &Context, server: &Server, now: Micros, unlinked: &Unlinked) -> bool {
    let slot = slot_of(&unlinked.key);
    let delete = Command::Delete { key: unlinked.key.clone(), known: Known::default() };
    let planned = state::busy(|| {
        store::look(Names::none(ctx), slot, |shard| {
            // without a state the slot has left this server, or is leaving
            let settled = || !shard.is_partial() || host::owns(ctx, slot);
            let here = store::is_stored(Names::none(ctx), slot) || !shard.is_partial();
            (here && !shard.is_new()).then(|| delete.run(shard, server, now, settled(), &Before(unlinked)))
        })
    });
    let Ok(Some(planned)) = planned else { return true };
    let Ok(planned) = planned else { return false };
    if let Some(effect) = planned.effect {
        commands::change(slot, &effect, &mut Keys::new(Names::none(ctx)));
        state::with(|module| module.counters.plain_deletions += 1);
    }
    true
}
