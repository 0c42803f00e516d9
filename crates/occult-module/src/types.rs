//! The two types of values: a stamped value, and the state of a slot.
//!
//! Both are written as one string each, in the format of `scaledb-occult`, whose first byte is a version for
//! shards. What is read back may come from anybody who may `RESTORE`: it is checked like a command's arguments.

use crate::guard::guard;
use crate::host;
use crate::state::{self, Module, Unlinked};
use crate::store;
use redis_module::native_types::RedisType;
use redis_module::{Context, RedisString, raw};
use scaledb_occult::{Entry, Role, Server, Shard, Slot, Timestamp, slot_of};
use std::borrow::Cow;
use std::ffi::{c_int, c_void};
use std::ptr;

/// The version of what is written into files.
const ENCODING: c_int = 1;

/// A stamped value: [`Entry`], [packed](Packed).
pub(crate) static ENTRY: RedisType = RedisType::new("occult-kv", ENCODING, methods::<Packed>());

/// An [`Entry`] as its bytes. A timestamp takes some 30 bytes of them, and 200 as it is computed with: this is most of
/// what stamps cost in memory.
pub(crate) struct Packed(Box<[u8]>);

impl Packed {
    pub(crate) fn new(entry: &Entry) -> Self {
        Self(entry.to_bytes().into_boxed_slice())
    }

    /// Of the bytes of an entry that were read, or written, by us.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// Its bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// What was packed. None would mean that memory is damaged.
    pub(crate) fn entry(&self) -> Option<Entry> {
        Entry::from_bytes(&self.0).ok()
    }

    /// What it depends on, without a copy of the value.
    pub(crate) fn deps(&self) -> Option<Timestamp> {
        Entry::split(&self.0).ok().map(|(_, deps, _)| deps)
    }
}

/// The state of a slot: [`Shard`].
pub(crate) static SHARD: RedisType = RedisType::new(
    "occult-sl",
    ENCODING,
    raw::RedisModuleTypeMethods {
        aux_load: Some(load_aside),
        aux_save: Some(save_aside),
        // as `aux_save`; where the server has it, a file names the module only if there is something to say
        aux_save2: Some(save_aside_if_any),
        aux_save_triggers: raw::REDISMODULE_AUX_BEFORE_RDB as c_int,
        ..methods::<Shard>()
    },
);

/// A value that the server keeps for us.
pub(crate) trait Stored: Sized + 'static {
    /// How `OCCULT.RESTORE` calls its kind.
    const KIND: &'static str;

    /// Its bytes for a file, or for another server.
    fn bytes(&self) -> Cow<'_, [u8]>;

    /// Of bytes.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// Its memory outside of `Self`.
    fn heap(&self) -> usize;

    /// Why it is not accepted from a client, if it is not.
    fn objection(&self) -> Option<&'static str>;

    /// It comes from another server, to this key.
    fn received(&mut self, server: &mut Server, key: &[u8]);

    /// It is leaving the key space; `moved` to another server, if it is not a deletion.
    fn unlinked(&self, key: &[u8], moved: bool);
}

impl Stored for Packed {
    const KIND: &'static str = "entry";

    fn bytes(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.0)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        // written again, as what is packed need not be what we would write
        Entry::from_bytes(bytes).ok().map(|entry| Self::new(&entry))
    }

    fn heap(&self) -> usize {
        self.0.len()
    }

    fn objection(&self) -> Option<&'static str> {
        let limit = state::with(|module| state::now().plus(module.server.max_ahead))?;
        let (stamp, deps, _) = Entry::split(&self.0).ok()?;
        let ahead = deps.max().max(stamp).time() > limit;
        ahead.then_some("a restored value has a stamp from the future")
    }

    fn received(&mut self, _: &mut Server, _: &[u8]) {}

    fn unlinked(&self, key: &[u8], moved: bool) {
        if !state::is_own() {
            let Some(deps) = self.deps() else { return };
            state::note_unlinked(Unlinked { key: key.into(), deps, moved });
        }
    }
}

impl Stored for Shard {
    const KIND: &'static str = "slot";

    fn bytes(&self) -> Cow<'_, [u8]> {
        let bytes = state::with(|Module { server, .. }| match state::is_saving() {
            // what the beat has promised goes with it
            true => self.to_bytes_of(server),
            // DUMP or MIGRATE: other keys of the slot follow, so the next master must not trust it at once
            false => self.to_bytes_moving(server),
        });
        Cow::Owned(bytes.unwrap_or_else(|| self.to_bytes()))
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        Self::from_bytes(bytes).ok()
    }

    fn heap(&self) -> usize {
        // records and prepared writes are most of it; their bytes are about their memory
        if self.lock().is_none() && self.records() == 0 { 0 } else { self.to_bytes().len() }
    }

    fn objection(&self) -> Option<&'static str> {
        None
    }

    fn received(&mut self, server: &mut Server, key: &[u8]) {
        let before = store::before(slot_of(key));
        match server.role {
            Role::Master => self.arrive_at_master(server, host::random(), before.as_ref()),
            Role::Replica => self.arrive(state::term_of_stream(server), server.begun, before.as_ref()),
        }
    }

    fn unlinked(&self, key: &[u8], moved: bool) {
        state::with(|module| {
            let mut aside = self.clone();
            // should the slot be here again without it, it is elsewhere or lost; where a stream or a file says only
            // that it is gone, it may be MIGRATE that has removed it at the master
            if moved || module.server.role == Role::Replica || state::is_loading() {
                aside.leave_whole(state::now());
            }
            module.put_aside.insert(slot_of(key), aside);
        });
    }
}

const fn methods<T: Stored>() -> raw::RedisModuleTypeMethods {
    raw::RedisModuleTypeMethods {
        version: raw::REDISMODULE_TYPE_METHOD_VERSION as u64,
        rdb_load: Some(load::<T>),
        rdb_save: Some(save::<T>),
        aof_rewrite: Some(rewrite::<T>),
        free: Some(free::<T>),
        mem_usage: Some(memory::<T>),
        digest: None,
        aux_load: None,
        aux_save: None,
        aux_save2: None,
        aux_save_triggers: 0,
        free_effort: None,
        unlink: Some(unlink::<T>),
        // COPY is refused: a copy would have a stamp of another key
        copy: None,
        defrag: None,
        copy2: None,
        free_effort2: None,
        mem_usage2: None,
        unlink2: None,
    }
}

/// # Safety
/// As the server calls it: with a valid `io`.
unsafe extern "C" fn load<T: Stored>(io: *mut raw::RedisModuleIO, version: c_int) -> *mut c_void {
    guard(ptr::null_mut(), || {
        if version != ENCODING {
            host::warn("a file, or another server, has a value of an unknown version");
            return ptr::null_mut();
        }
        let Ok(bytes) = raw::load_string_buffer(io) else { return ptr::null_mut() };
        let Some(mut value) = T::read(bytes.as_ref()) else {
            host::warn("a file, or another server, has a malformed value");
            return ptr::null_mut();
        };
        // SAFETY: the server gives an `io` of a load in progress
        let ctx = Context::new(unsafe { host::context_of(io) });
        if !host::is_loading(&ctx) {
            // SAFETY: as above
            let key = unsafe { host::key_of(io) }.unwrap_or_default();
            if let Some(mut server) = state::with(|module| module.server.clone()) {
                value.received(&mut server, key);
                state::with(|module| module.server = server);
            }
        }
        let from_client = !host::is_loading(&ctx) && host::is_master(&ctx);
        if from_client && let Some(objection) = value.objection() {
            host::warn(objection);
            return ptr::null_mut();
        }
        Box::into_raw(Box::new(value)).cast()
    })
}

/// # Safety
/// As the server calls it: `value` is one of ours, of this type.
unsafe extern "C" fn save<T: Stored>(io: *mut raw::RedisModuleIO, value: *mut c_void) {
    guard((), || {
        // SAFETY: the server gives a value that it has of this type
        let value = unsafe { &*value.cast::<T>() };
        if !state::is_saving() {
            // SAFETY: the server gives an `io` of a save in progress
            if let Some(key) = unsafe { host::key_of(io) } {
                state::note_dumped(key);
            }
        }
        raw::save_slice(io, &value.bytes());
    });
}

/// # Safety
/// As the server calls it: `value` is one of ours, of this type, and `key` is its name.
unsafe extern "C" fn rewrite<T: Stored>(
    io: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
    value: *mut c_void,
) {
    guard((), || {
        // SAFETY: the server gives a value that it has of this type
        let value = unsafe { &*value.cast::<T>() };
        // SAFETY: io and key are the server's, and valid during the call
        unsafe { host::emit_restore(io, key, T::KIND, &value.bytes()) };
    });
}

/// # Safety
/// As the server calls it: `value` is one of ours, of this type, and is used by nobody afterwards.
unsafe extern "C" fn free<T: Stored>(value: *mut c_void) {
    guard((), || {
        // SAFETY: the value came from Box::into_raw, here or in the crate of the bindings, and is given up by the
        // server
        drop(unsafe { Box::from_raw(value.cast::<T>()) });
    });
}

/// # Safety
/// As the server calls it: `value` is one of ours, of this type.
unsafe extern "C" fn memory<T: Stored>(value: *const c_void) -> usize {
    guard(0, || {
        // SAFETY: the server gives a value that it has of this type
        let value = unsafe { &*value.cast::<T>() };
        size_of::<T>() + value.heap()
    })
}

/// # Safety
/// As the server calls it: `value` is one of ours, of this type, and `key` is its name.
unsafe extern "C" fn unlink<T: Stored>(key: *mut raw::RedisModuleString, value: *const c_void) {
    guard((), || {
        // SAFETY: the server gives a value that it has of this type
        let value = unsafe { &*value.cast::<T>() };
        let key = RedisString::string_as_slice(key);
        value.unlinked(key, state::takes(key));
    });
}

/// Writes the states that are put aside into a file, or into a replica's first copy.
///
/// # Safety
/// As the server calls it: with a valid `io`.
unsafe extern "C" fn save_aside(io: *mut raw::RedisModuleIO, _: c_int) {
    guard((), || {
        let aside = state::with(|module| module.put_aside.clone()).unwrap_or_default();
        raw::save_unsigned(io, aside.len() as u64);
        for (slot, shard) in &aside {
            raw::save_unsigned(io, u64::from(slot.get()));
            raw::save_slice(io, &shard.to_bytes());
        }
    });
}

/// # Safety
/// As [`save_aside`].
unsafe extern "C" fn save_aside_if_any(io: *mut raw::RedisModuleIO, when: c_int) {
    let any = guard(false, || state::with(|module| !module.put_aside.is_empty()).unwrap_or_default());
    if any {
        // SAFETY: the caller's
        unsafe { save_aside(io, when) };
    }
}

/// # Safety
/// As the server calls it: with a valid `io`.
unsafe extern "C" fn load_aside(io: *mut raw::RedisModuleIO, version: c_int, _: c_int) -> c_int {
    let read = || {
        let count = raw::load_unsigned(io).ok()?;
        if version != ENCODING || count > u64::from(Slot::COUNT) {
            return None;
        }
        for _ in 0..count {
            let slot = Slot::new(u16::try_from(raw::load_unsigned(io).ok()?).ok()?)?;
            let shard = Shard::from_bytes(raw::load_string_buffer(io).ok()?.as_ref()).ok()?;
            state::with(|module| module.put_aside.insert(slot, shard));
        }
        Some(())
    };
    let read = guard(None, read);
    if read.is_none() {
        host::warn("a file, or another server, has malformed states of slots");
    }
    let status = if read.is_some() { raw::Status::Ok } else { raw::Status::Err };
    status as c_int
}

/// `OCCULT.RESTORE key kind bytes`: from a file that was rewritten as commands.
pub(crate) fn restore(ctx: &Context, key: &RedisString, kind: &[u8], bytes: &[u8]) -> Option<()> {
    let writable = ctx.open_key_writable(key);
    if kind == Packed::KIND.as_bytes() {
        writable.set_value(&ENTRY, Packed::read(bytes)?).ok()
    } else if kind == Shard::KIND.as_bytes() {
        writable.set_value(&SHARD, Shard::read(bytes)?).ok()
    } else {
        None
    }
}
