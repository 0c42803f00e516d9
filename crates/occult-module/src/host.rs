//! The server's interface for modules, as far as the crate of its bindings has no safe form of it.

use crate::guard::guard;
use crate::state;
use redis_module::{Context, ContextFlags, NotifyEvent, RedisString, RedisValue, raw};
use scaledb_occult::{Datacenter, Slot, Stamp};
use smallvec::SmallVec;
use std::ffi::{CString, c_char, c_int, c_long, c_longlong, c_void};
use std::ptr;

/// Writes into the server's log.
pub(crate) fn warn(text: &str) {
    redis_module::MODULE_CONTEXT.log_warning(text);
}

/// Whether the server is a master, or alone.
pub(crate) fn is_master(ctx: &Context) -> bool {
    ctx.get_flags().contains(ContextFlags::MASTER)
}

/// Whether the server reads its files, or its master's.
pub(crate) fn is_loading(ctx: &Context) -> bool {
    ctx.get_flags().contains(ContextFlags::LOADING)
}

/// Whether the command that runs came from the master, or from the append-only file.
pub(crate) fn is_from_master_or_file(ctx: &Context) -> bool {
    ctx.get_flags().intersects(ContextFlags::REPLICATED | ContextFlags::LOADING)
}

/// Watches which keys clients name in a MIGRATE, for [`state::takes`]: the notification of a removed key does not say
/// which command has removed it. In a MULTI the filter sees commands when they are queued, and not when they run.
pub(crate) fn watch_migrate(ctx: &Context) -> bool {
    /// # Safety
    /// As the server calls it, before each command.
    unsafe extern "C" fn filter(filter: *mut raw::RedisModuleCommandFilterCtx) {
        guard((), || {
            let argument = |at: c_int| {
                // SAFETY: the filter is the server's, and valid during the call
                let argument = unsafe { raw::RedisModule_CommandFilterArgGet.map(|get| get(filter, at)) };
                argument.filter(|text| !text.is_null()).map(|text| RedisString::string_as_slice(text))
            };
            if !argument(0).is_some_and(|name| name.eq_ignore_ascii_case(b"migrate")) {
                return state::begin_command(None);
            }
            // SAFETY: as above
            let count = unsafe { raw::RedisModule_CommandFilterArgsCount.map_or(0, |count| count(filter)) };
            let arguments: Vec<&[u8]> = (0..count).map_while(argument).collect();
            state::begin_command(Some(&taken_by(&arguments)));
        });
    }
    // SAFETY: the context is that of the loading module
    unsafe {
        raw::RedisModule_RegisterCommandFilter
            .is_some_and(|register| !register(ctx.ctx, Some(filter), 0).is_null())
    }
}

/// Whether replicas are to catch up, for a failover without loss: then nothing is sent that nobody has asked for.
pub(crate) fn must_not_send(_: &Context) -> bool {
    // SAFETY: the function takes nothing; servers before 6.2.? do not have it
    unsafe { raw::RedisModule_AvoidReplicaTraffic.is_some_and(|avoid| avoid() != 0) }
}

/// The selected database.
pub(crate) fn database(ctx: &Context) -> c_int {
    // SAFETY: the context is valid for the command that runs
    unsafe { raw::RedisModule_GetSelectedDb.map_or(0, |selected| selected(ctx.ctx)) }
}

/// A random number.
pub(crate) fn random() -> u64 {
    let mut bytes = [0; 8];
    // SAFETY: the buffer has that many bytes
    unsafe {
        if let Some(fill) = raw::RedisModule_GetRandomBytes {
            fill(bytes.as_mut_ptr(), bytes.len());
        }
    }
    u64::from_ne_bytes(bytes)
}

/// Whether this server is the master of a slot, and the slot is neither coming nor going. It asks the server: only for
/// slots that may miss keys.
pub(crate) fn owns(ctx: &Context, slot: Slot) -> bool {
    if !ctx.get_flags().contains(ContextFlags::CLUSTER) {
        return true;
    }
    let text = match ctx.call("CLUSTER", &["NODES"]) {
        Ok(RedisValue::SimpleString(text) | RedisValue::BulkString(text)) => text,
        Ok(RedisValue::StringBuffer(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        Ok(RedisValue::BulkRedisString(text)) => text.to_string_lossy(),
        _ => return false,
    };
    owns_by(&text, slot.get())
}

/// Reads `CLUSTER NODES`: `id address flags master ping pong epoch link slot-or-range ... [slot-<-id] ...`
fn owns_by(nodes: &str, slot: u16) -> bool {
    let own = nodes.lines().find(|line| line.split(' ').nth(2).is_some_and(|flags| flags.contains("myself")));
    let Some(own) = own else { return false };
    let mut has = false;
    for range in own.split(' ').skip(8) {
        if let Some(moving) = range.strip_prefix('[') {
            let number = moving.split_once("-<-").or_else(|| moving.split_once("->-"));
            if number.is_some_and(|(number, _)| number.parse() == Ok(slot)) {
                return false;
            }
            continue;
        }
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(first), Ok(last)) = (first.parse::<u16>(), last.parse::<u16>()) {
            has |= (first..=last).contains(&slot);
        }
    }
    has
}

/// The arguments of a command, the name first.
///
/// # Safety
/// `argv` has `argc` strings of the server, which live until the command has returned.
pub(crate) unsafe fn arguments<'a>(
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> SmallVec<[&'a [u8]; 8]> {
    // SAFETY: the caller's
    let strings = unsafe { strings(argv, argc) };
    strings.iter().map(|string| RedisString::string_as_slice(*string)).collect()
}

/// The same as the server's strings.
///
/// # Safety
/// As of [`arguments`].
pub(crate) unsafe fn strings<'a>(
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> &'a [*mut raw::RedisModuleString] {
    // SAFETY: the caller's
    unsafe { std::slice::from_raw_parts(argv, usize::try_from(argc).unwrap_or(0)) }
}

/// Sends an effect to the replicas and into the append-only file.
pub(crate) fn replicate_effect(ctx: &Context, slot: &RedisString, effect: &[u8]) {
    // SAFETY: the format says: a string of the server, and a pointer and a length; all live until the call returns
    unsafe {
        if let Some(replicate) = raw::RedisModule_Replicate {
            let (effect, length) = (effect.as_ptr().cast::<c_char>(), effect.len());
            replicate(ctx.ctx, c"OCCULT.APPLY".as_ptr(), c"sb".as_ptr(), slot.inner, effect, length);
        }
    }
}

/// Sends a beat to the replicas; it means nothing in a file.
pub(crate) fn replicate_beat(ctx: &Context, beat: Stamp, home: Datacenter) {
    let (beat, home) = (beat.to_bits().to_string(), home.0.to_string());
    // SAFETY: the format says: not into the file, and twice a pointer and a length; both live until the call returns
    unsafe {
        if let Some(replicate) = raw::RedisModule_Replicate {
            let ((beat, long), (home, short)) = ((beat.as_ptr(), beat.len()), (home.as_ptr(), home.len()));
            let (beat, home) = (beat.cast::<c_char>(), home.cast::<c_char>());
            replicate(ctx.ctx, c"OCCULT.BEAT".as_ptr(), c"Abb".as_ptr(), beat, long, home, short);
        }
    }
}

/// Starts a timer that fires once.
pub(crate) fn timer(
    ctx: &Context,
    milliseconds: u64,
    run: unsafe extern "C" fn(*mut raw::RedisModuleCtx, *mut c_void),
) {
    let period = c_longlong::try_from(milliseconds).unwrap_or(c_longlong::MAX);
    // SAFETY: the context is valid, and the callback takes no data
    unsafe {
        if let Some(create) = raw::RedisModule_CreateTimer {
            create(ctx.ctx, period, Some(run), ptr::null_mut());
        }
    }
}

thread_local! {
    static OWN_CONTEXT: std::cell::Cell<*mut raw::RedisModuleCtx> = const { std::cell::Cell::new(ptr::null_mut()) };
}

/// Makes the context of [`with_own_context`], when the module is loaded.
pub(crate) fn make_own_context(ctx: &Context) {
    // SAFETY: the context is that of the loading module; what is returned lives as long as the server
    let own = unsafe { raw::RedisModule_GetDetachedThreadSafeContext.map(|make| make(ctx.ctx)) };
    OWN_CONTEXT.set(own.unwrap_or(ptr::null_mut()));
}

/// Runs with a context that can open keys of database 0, where the server gives none: a value that is being read has
/// one without keys. Only the server's thread finds it, and that has the server's lock whenever it calls a module.
pub(crate) fn with_own_context<R>(run: impl FnOnce(&Context) -> R) -> Option<R> {
    let own = OWN_CONTEXT.get();
    (!own.is_null()).then(|| run(&Context::new(own)))
}

/// The context of a value that is being read.
///
/// # Safety
/// `io` is the server's, and valid.
pub(crate) unsafe fn context_of(io: *mut raw::RedisModuleIO) -> *mut raw::RedisModuleCtx {
    // SAFETY: the caller's
    unsafe { raw::RedisModule_GetContextFromIO.map_or(ptr::null_mut(), |context| context(io)) }
}

/// The name of the value that is being written, if the server says it.
///
/// # Safety
/// `io` is the server's, and valid; the name lives as long as the call in which this is asked.
pub(crate) unsafe fn key_of<'a>(io: *mut raw::RedisModuleIO) -> Option<&'a [u8]> {
    // SAFETY: the caller's
    let key = unsafe { raw::RedisModule_GetKeyNameFromIO.map(|key| key(io))? };
    (!key.is_null()).then(|| RedisString::string_as_slice(key))
}

/// Writes `OCCULT.RESTORE key kind bytes` into an append-only file.
///
/// # Safety
/// `io` and `key` are the server's, and valid.
pub(crate) unsafe fn emit_restore(
    io: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
    kind: &str,
    bytes: &[u8],
) {
    // SAFETY: the format says: a string of the server, and twice a pointer and a length
    unsafe {
        if let Some(emit) = raw::RedisModule_EmitAOF {
            emit(
                io,
                c"OCCULT.RESTORE".as_ptr(),
                c"sbb".as_ptr(),
                key,
                kind.as_ptr().cast::<c_char>(),
                kind.len(),
                bytes.as_ptr().cast::<c_char>(),
                bytes.len(),
            );
        }
    }
}

/// Replies `OK`.
///
/// # Safety
/// The context is that of a command that has not replied yet.
pub(crate) unsafe fn reply_ok(ctx: *mut raw::RedisModuleCtx) {
    // SAFETY: the caller's
    unsafe {
        if let Some(reply) = raw::RedisModule_ReplyWithSimpleString {
            reply(ctx, c"OK".as_ptr());
        }
    }
}

/// Replies a string.
///
/// # Safety
/// As of [`reply_ok`].
pub(crate) unsafe fn reply_bytes(ctx: *mut raw::RedisModuleCtx, bytes: &[u8]) {
    // SAFETY: the caller's; the server copies the bytes
    unsafe {
        if let Some(reply) = raw::RedisModule_ReplyWithStringBuffer {
            reply(ctx, bytes.as_ptr().cast::<c_char>(), bytes.len());
        }
    }
}

/// Replies names and values, as `HGETALL` does.
///
/// # Safety
/// As of [`reply_ok`].
pub(crate) unsafe fn reply_pairs(ctx: *mut raw::RedisModuleCtx, pairs: &[(&str, String)]) {
    // SAFETY: the caller's; as many replies follow as the array has
    unsafe {
        if let Some(reply) = raw::RedisModule_ReplyWithArray {
            reply(ctx, 2 * pairs.len() as c_long);
        }
        for (name, value) in pairs {
            reply_bytes(ctx, name.as_bytes());
            reply_bytes(ctx, value.as_bytes());
        }
    }
}

/// Replies an error.
///
/// # Safety
/// As of [`reply_ok`].
pub(crate) unsafe fn reply_error(ctx: *mut raw::RedisModuleCtx, text: &str) {
    let text: String = text.chars().map(|c| if matches!(c, '\r' | '\n' | '\0') { ' ' } else { c }).collect();
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: the caller's; the server copies the text
    unsafe {
        if let Some(reply) = raw::RedisModule_ReplyWithError {
            reply(ctx, text.as_ptr());
        }
    }
}

/// Subscribes to one of the server's events.
pub(crate) fn on_event(ctx: &Context, event: u64, callback: raw::RedisModuleEventCallback) -> bool {
    let event = raw::RedisModuleEvent { id: event, dataver: 1 };
    // SAFETY: the context is that of the loading module
    unsafe {
        raw::RedisModule_SubscribeToServerEvent
            .is_some_and(|subscribe| subscribe(ctx.ctx, event, callback) == 0)
    }
}

/// Subscribes to whatever may remove or replace a key.
pub(crate) fn on_key_changes(ctx: &Context, run: fn(&Context)) -> bool {
    // SAFETY: the server calls with its context; the function pointer is the one that this function has stored
    unsafe extern "C" fn notified(
        ctx: *mut raw::RedisModuleCtx,
        _: c_int,
        _: *const c_char,
        _: *mut raw::RedisModuleString,
    ) -> c_int {
        guard((), || {
            if let Some(run) = ON_KEY.get() {
                run(&Context::new(ctx));
            }
        });
        raw::Status::Ok as c_int
    }
    static ON_KEY: std::sync::OnceLock<fn(&Context)> = std::sync::OnceLock::new();
    ON_KEY.get_or_init(|| run);
    let events = NotifyEvent::GENERIC
        | NotifyEvent::STRING
        | NotifyEvent::LIST
        | NotifyEvent::SET
        | NotifyEvent::HASH
        | NotifyEvent::ZSET
        | NotifyEvent::STREAM
        | NotifyEvent::EXPIRED
        | NotifyEvent::EVICTED;
    // SAFETY: the context is that of the loading module
    unsafe {
        raw::RedisModule_SubscribeToKeyspaceEvents
            .is_some_and(|subscribe| subscribe(ctx.ctx, events.bits(), Some(notified)) == 0)
    }
}

/// The keys that `MIGRATE host port key|"" database timeout [COPY] [REPLACE] [AUTH ..] [KEYS key ...]` takes away.
fn taken_by<'a>(arguments: &[&'a [u8]]) -> Vec<&'a [u8]> {
    let [_, _, _, key, _, _, options @ ..] = arguments else { return Vec::new() };
    let at = |name: &[u8]| options.iter().position(|option| option.eq_ignore_ascii_case(name));
    let listed = at(b"keys");
    if at(b"copy").is_some_and(|copy| listed.is_none_or(|keys| copy < keys)) {
        return Vec::new();
    }
    match listed {
        Some(keys) if key.is_empty() => options[keys + 1..].to_vec(),
        _ => vec![key],
    }
}

#[cfg(test)]
mod tests {
    use super::{owns_by, taken_by};

    #[test]
    fn the_keys_of_a_migrate_are_found() {
        let taken = |text: &str| {
            let arguments: Vec<&[u8]> =
                text.split(' ').map(|word| word.trim_matches('"').as_bytes()).collect();
            let keys = taken_by(&arguments).into_iter();
            keys.map(|key| String::from_utf8_lossy(key).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(taken("MIGRATE host 1 key 0 100"), ["key"]);
        assert_eq!(taken("migrate host 1 key 0 100 REPLACE"), ["key"]);
        assert_eq!(taken("MIGRATE host 1 \"\" 0 100 REPLACE AUTH p KEYS a copy b"), ["a", "copy", "b"]);
        assert!(taken("MIGRATE host 1 key 0 100 COPY").is_empty());
        assert!(taken("MIGRATE host 1 key").is_empty());
    }

    #[test]
    fn a_moving_slot_is_not_settled() {
        let nodes = "aa 127.0.0.1:1@2 master - 0 0 1 connected 0-5460\n\
                     bb 127.0.0.1:3@4 myself,master - 0 0 2 connected 5461-9000 9002 [7000-<-aa] [8000->-aa]\n";
        for (slot, owned) in [
            (0, false),
            (5461, true),
            (9000, true),
            (9001, false),
            (9002, true),
            (7000, false),
            (8000, false),
        ] {
            assert_eq!(owns_by(nodes, slot), owned, "{slot}");
        }
        assert!(!owns_by("", 1));
    }
}
