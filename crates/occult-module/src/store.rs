//! Keys of the server as the store of a shard, and the key of each slot that holds the shard.

use crate::types::{ENTRY, Packed, SHARD};
use crate::{host, state};
use redis_module::{Context, RedisError, RedisString, raw};
use scaledb_occult::{Entry, Role, Shard, Slot, Store, Timestamp, slot_key};
use std::cell::Cell;
use std::ptr::NonNull;

/// Names of keys as strings of the server. Those that the command that runs has among its arguments need not be
/// copied into new ones.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    ctx: &'a Context,
    arguments: Arguments<'a>,
}

/// The arguments of a command, the name first, and the strings of the server that hold them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Arguments<'a> {
    pub(crate) bytes: &'a [&'a [u8]],
    pub(crate) strings: &'a [*mut raw::RedisModuleString],
}

/// How many arguments are looked through: single operations have no more.
const NAMES: usize = 6;

impl<'a> Names<'a> {
    /// All names are copied.
    pub(crate) fn none(ctx: &'a Context) -> Self {
        Self { ctx, arguments: Arguments::default() }
    }

    /// Those of a command's arguments are not.
    pub(crate) fn of(ctx: &'a Context, arguments: Arguments<'a>) -> Self {
        Self { ctx, arguments }
    }

    pub(crate) fn ctx(self) -> &'a Context {
        self.ctx
    }

    fn string(self, name: &[u8]) -> RedisString {
        let Arguments { bytes, strings } = self.arguments;
        match bytes.iter().zip(strings).take(NAMES).find(|(bytes, _)| **bytes == name) {
            Some((_, string)) => RedisString::new(NonNull::new(self.ctx.ctx), *string),
            None => RedisString::create_from_slice(self.ctx.ctx, name),
        }
    }

    /// The name of the key that holds the state of a slot.
    pub(crate) fn of_slot(self, slot: Slot) -> RedisString {
        self.string(slot_key(slot).as_bytes())
    }
}

/// The keys of the selected database.
pub(crate) struct Keys<'a> {
    names: Names<'a>,
    /// A key that was looked at holds something else than a stamped value.
    wrong_type: Cell<bool>,
}

impl<'a> Keys<'a> {
    pub(crate) fn new(names: Names<'a>) -> Self {
        Self { names, wrong_type: Cell::new(false) }
    }

    pub(crate) fn names(&self) -> Names<'a> {
        self.names
    }

    /// Whether a key that was looked at holds something else than a stamped value.
    pub(crate) fn met_wrong_type(&self) -> bool {
        self.wrong_type.get()
    }

    fn look<R>(&self, key: &[u8], read: impl FnOnce(Option<&Packed>) -> R) -> R {
        let key = self.names.ctx.open_key(&self.names.string(key));
        let packed = key.get_value::<Packed>(&ENTRY);
        if packed.is_err() {
            self.wrong_type.set(true);
        }
        read(packed.ok().flatten())
    }
}

impl Store for Keys<'_> {
    fn get(&self, key: &[u8]) -> Option<Entry> {
        self.look(key, |packed| packed?.entry())
    }

    fn deps(&self, key: &[u8]) -> Option<Timestamp> {
        self.look(key, |packed| packed?.deps())
    }

    fn with_bytes<R>(&self, key: &[u8], run: impl FnOnce(Option<&[u8]>) -> R) -> R {
        self.look(key, |packed| run(packed.map(Packed::as_bytes)))
    }

    fn put(&mut self, key: &[u8], entry: &Entry) {
        self.put_packed(key, Packed::new(entry));
    }

    fn put_bytes(&mut self, key: &[u8], bytes: &[u8]) {
        self.put_packed(key, Packed::of(bytes));
    }

    fn remove(&mut self, key: &[u8]) {
        state::own(|| {
            let key = self.names.ctx.open_key_writable(&self.names.string(key));
            if matches!(key.get_value::<Packed>(&ENTRY), Ok(Some(_))) {
                let _ = key.delete();
            }
        });
    }
}

impl Keys<'_> {
    fn put_packed(&self, key: &[u8], entry: Packed) {
        state::own(|| {
            let key = self.names.ctx.open_key_writable(&self.names.string(key));
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
}

/// Runs with the state of a slot, or with that of a new one.
///
/// # Errors
/// Something else lies where it is stored.
pub(crate) fn look<R>(names: Names<'_>, slot: Slot, run: impl FnOnce(&Shard) -> R) -> Result<R, RedisError> {
    let key = names.ctx.open_key(&names.of_slot(slot));
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
pub(crate) fn is_stored(names: Names<'_>, slot: Slot) -> bool {
    matches!(names.ctx.open_key(&names.of_slot(slot)).get_value::<Shard>(&SHARD), Ok(Some(_)))
}

/// What this server has, or has had, of a slot whose state arrives from another one.
pub(crate) fn before(slot: Slot) -> Option<Shard> {
    let stored = host::with_own_context(|ctx| {
        let key = ctx.open_key(&Names::none(ctx).of_slot(slot));
        key.get_value::<Shard>(&SHARD).ok().flatten().cloned()
    });
    stored.flatten().or_else(|| state::with(|module| module.put_aside.get(&slot).cloned()).flatten())
}

/// Changes the state of a slot, and stores it if it was not stored before.
///
/// # Errors
/// Something else lies where it is stored.
pub(crate) fn change<R>(
    names: Names<'_>,
    slot: Slot,
    run: impl FnOnce(&mut Shard) -> R,
) -> Result<R, RedisError> {
    let key = names.ctx.open_key_writable(&names.of_slot(slot));
    if let Some(shard) = key.get_value::<Shard>(&SHARD)? {
        return Ok(run(shard));
    }
    let aside = state::with(|module| module.put_aside.remove(&slot)).flatten();
    let mut shard = aside.unwrap_or_default();
    let result = run(&mut shard);
    if !shard.is_new() {
        key.set_value(&SHARD, shard)?;
    }
    Ok(result)
}
