//! Keys of the server as the store of a shard, and the key of each slot that holds the shard.

use crate::types::{ENTRY, Packed, SHARD};
use crate::{host, state};
use redis_module::{Context, RedisError, RedisString};
use scaledb_occult::{Entry, Role, Shard, Slot, Store, Timestamp, slot_key};
use std::cell::Cell;

/// The keys of the selected database.
pub(crate) struct Keys<'a> {
    ctx: &'a Context,
    /// A key that was looked at holds something else than a stamped value.
    wrong_type: Cell<bool>,
}

impl<'a> Keys<'a> {
    pub(crate) fn new(ctx: &'a Context) -> Self {
        Self { ctx, wrong_type: Cell::new(false) }
    }

    /// Whether a key that was looked at holds something else than a stamped value.
    pub(crate) fn met_wrong_type(&self) -> bool {
        self.wrong_type.get()
    }

    fn name(&self, key: &[u8]) -> RedisString {
        RedisString::create_from_slice(self.ctx.ctx, key)
    }

    fn look<R>(&self, key: &[u8], read: impl FnOnce(&Packed) -> Option<R>) -> Option<R> {
        let key = self.ctx.open_key(&self.name(key));
        if let Ok(packed) = key.get_value::<Packed>(&ENTRY) {
            return read(packed?);
        }
        self.wrong_type.set(true);
        None
    }
}

impl Store for Keys<'_> {
    fn get(&self, key: &[u8]) -> Option<Entry> {
        self.look(key, Packed::entry)
    }

    fn deps(&self, key: &[u8]) -> Option<Timestamp> {
        self.look(key, Packed::deps)
    }

    fn put(&mut self, key: &[u8], entry: Entry) {
        state::own(|| {
            let key = self.ctx.open_key_writable(&self.name(key));
            let entry = Packed::new(&entry);
            match key.get_value::<Packed>(&ENTRY) {
                Ok(Some(old)) => *old = entry,
                found => {
                    if found.is_err() {
                        // something plain lies there: a commit was prepared before it came
                        let _ = key.delete();
                    }
                    let _ = key.set_value(&ENTRY, entry);
                }
            }
            // as with SET, a new value has no time to live
            let _ = key.remove_expire();
        });
    }

    fn remove(&mut self, key: &[u8]) {
        state::own(|| {
            let key = self.ctx.open_key_writable(&self.name(key));
            if matches!(key.get_value::<Packed>(&ENTRY), Ok(Some(_))) {
                let _ = key.delete();
            }
        });
    }
}

/// Runs with the state of a slot, or with that of a new one.
///
/// # Errors
/// Something else lies where it is stored.
pub(crate) fn look<R>(ctx: &Context, slot: Slot, run: impl FnOnce(&Shard) -> R) -> Result<R, RedisError> {
    let key = ctx.open_key(&shard_name(ctx, slot));
    if let Some(shard) = key.get_value::<Shard>(&SHARD)? {
        return Ok(run(shard));
    }
    // at a replica the state is missing when the slot moves, too: nothing is known of it then
    let aside = state::with(|module| {
        let of = module.put_aside.get(&slot).filter(|_| module.server.role == Role::Master);
        of.cloned()
    });
    Ok(run(&aside.flatten().unwrap_or_default()))
}

/// Whether the state of a slot is stored here.
pub(crate) fn is_stored(ctx: &Context, slot: Slot) -> bool {
    matches!(ctx.open_key(&shard_name(ctx, slot)).get_value::<Shard>(&SHARD), Ok(Some(_)))
}

/// What this server has, or has had, of a slot whose state arrives from another one.
pub(crate) fn before(slot: Slot) -> Option<Shard> {
    let stored = host::with_own_context(|ctx| {
        let key = ctx.open_key(&shard_name(ctx, slot));
        key.get_value::<Shard>(&SHARD).ok().flatten().cloned()
    });
    stored.flatten().or_else(|| state::with(|module| module.put_aside.get(&slot).cloned()).flatten())
}

/// Changes the state of a slot, and stores it if it was not stored before.
///
/// # Errors
/// Something else lies where it is stored.
pub(crate) fn change(ctx: &Context, slot: Slot, run: impl FnOnce(&mut Shard)) -> Result<(), RedisError> {
    let key = ctx.open_key_writable(&shard_name(ctx, slot));
    if let Some(shard) = key.get_value::<Shard>(&SHARD)? {
        run(shard);
        return Ok(());
    }
    let aside = state::with(|module| module.put_aside.remove(&slot)).flatten();
    let mut shard = aside.unwrap_or_default();
    run(&mut shard);
    key.set_value(&SHARD, shard)
}

fn shard_name(ctx: &Context, slot: Slot) -> RedisString {
    RedisString::create_from_slice(ctx.ctx, slot_key(slot).as_bytes())
}
