//! Loading: `loadmodule liboccult.so datacenter 0 [shape isolated:2] [max-ahead-ms 10000] [beat-ms 1]`.

use crate::guard::guard;
use crate::state::{self, Counters, Module};
use crate::types::{ENTRY, SHARD};
use crate::{beat, commands, docs, host, plain, store};
use redis_module::{Context, raw};
use scaledb_occult::limits::{DEFAULT_MAX_AHEAD, MAX_DATACENTERS};
use scaledb_occult::{Datacenter, Micros, Server, Shape, Slot};
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};

/// The version of the module, as `MODULE LIST` shows it.
const VERSION: c_int = 1;

/// The longest time between two beats that is accepted, in milliseconds.
const MAX_BEAT_MS: u64 = 10_000;

/// What the arguments of `loadmodule` say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Settings {
    datacenter: Datacenter,
    shape: Shape,
    max_ahead: Micros,
    beat_ms: u64,
}

impl Settings {
    fn parse(args: &[&[u8]]) -> Result<Self, String> {
        let mut settings = Self {
            datacenter: Datacenter(u8::MAX),
            shape: Shape::default(),
            max_ahead: DEFAULT_MAX_AHEAD,
            beat_ms: beat::DEFAULT_MS,
        };
        for pair in args.chunks(2) {
            let name = String::from_utf8_lossy(pair[0]).to_ascii_lowercase();
            let value = pair.get(1).ok_or_else(|| format!("{name} needs a value"))?;
            let value = std::str::from_utf8(value).map_err(|_| format!("the value of {name} is no text"))?;
            let number = |limit: u64| {
                let number = value.parse().ok().filter(|number| *number <= limit);
                number.ok_or_else(|| format!("{name} is a number up to {limit}, not {value}"))
            };
            match name.as_str() {
                "datacenter" => {
                    let number = number(MAX_DATACENTERS as u64 - 1)?;
                    settings.datacenter = Datacenter(u8::try_from(number).unwrap_or(0));
                }
                "shape" => settings.shape = value.parse().map_err(|error| format!("shape: {error}"))?,
                "max-ahead-ms" => settings.max_ahead = Micros(1_000 * number(u64::from(u32::MAX))?),
                "beat-ms" => settings.beat_ms = number(MAX_BEAT_MS)?,
                _ => return Err(format!("there is no setting {name}")),
            }
        }
        if settings.datacenter == Datacenter(u8::MAX) {
            return Err("say where the server is: loadmodule liboccult.so datacenter 0".to_owned());
        }
        Ok(settings)
    }
}

/// The server calls this when it loads the module.
///
/// # Safety
/// As the server calls it.
#[unsafe(no_mangle)]
#[expect(unreachable_pub, reason = "the server looks for this name")]
pub unsafe extern "C" fn RedisModule_OnLoad(
    ctx: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int {
    let api = c_int::try_from(raw::REDISMODULE_APIVER_1).unwrap_or(1);
    // nothing may be allocated before this: the allocator is the server's
    // SAFETY: the server's context; the name is shorter than the server's buffer for it
    if unsafe { raw::Export_RedisModule_Init(ctx, c"occult".as_ptr().cast::<c_char>(), VERSION, api) } != 0 {
        return raw::Status::Err as c_int;
    }
    guard(raw::Status::Err as c_int, || {
        let context = Context::new(ctx);
        let _ = redis_module::MODULE_CONTEXT.set_context(&context);
        // SAFETY: the server gives `argc` arguments
        let args = unsafe { host::arguments(argv, argc) };
        match Settings::parse(&args).and_then(|settings| load(&context, settings)) {
            Ok(()) => raw::Status::Ok as c_int,
            Err(text) => {
                context.log_warning(&text);
                raw::Status::Err as c_int
            }
        }
    })
}

fn load(ctx: &Context, settings: Settings) -> Result<(), String> {
    let mut server = Server::master(settings.datacenter, host::random());
    server.begun = state::now();
    server.shape = settings.shape;
    server.max_ahead = settings.max_ahead;
    state::begin(Module {
        server,
        beat_ms: settings.beat_ms,
        put_aside: HashMap::new(),
        counters: Counters::default(),
    });
    // a truncated RESTORE is an error, and not the end of the server
    // SAFETY: the context is that of the loading module
    unsafe {
        if let Some(set) = raw::RedisModule_SetModuleOptions {
            set(ctx.ctx, c_int::try_from(raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS).unwrap_or(0));
        }
    }
    ENTRY.create_data_type(ctx.ctx).map_err(str::to_owned)?;
    SHARD.create_data_type(ctx.ctx).map_err(str::to_owned)?;
    host::make_own_context(ctx);
    docs::register(ctx)?;
    let subscribed = host::on_event(ctx, raw::REDISMODULE_EVENT_REPLICATION_ROLE_CHANGED, Some(role_changed))
        && host::on_event(ctx, raw::REDISMODULE_EVENT_PERSISTENCE, Some(persistence))
        && host::on_event(ctx, raw::REDISMODULE_EVENT_FLUSHDB, Some(flush))
        && host::on_event(ctx, raw::REDISMODULE_EVENT_LOADING, Some(loading))
        && host::on_key_changes(ctx, plain::stamp)
        && host::watch_migrate(ctx);
    if !subscribed {
        return Err("the server has no events for modules: it is too old".to_owned());
    }
    raw::register_info_function(ctx.ctx, Some(info));
    beat::start(ctx);
    Ok(())
}

/// # Safety
/// As the server calls it.
unsafe extern "C" fn role_changed(
    ctx: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    _: u64,
    _: *mut c_void,
) {
    guard((), || {
        commands::server_now(&Context::new(ctx));
    });
}

/// # Safety
/// As the server calls it.
unsafe extern "C" fn persistence(
    _: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    what: u64,
    _: *mut c_void,
) {
    let over = [raw::REDISMODULE_SUBEVENT_PERSISTENCE_ENDED, raw::REDISMODULE_SUBEVENT_PERSISTENCE_FAILED];
    guard((), || state::set_saving(!over.contains(&what)));
}

/// FLUSHALL must not make stamps start again: the states of slots are put aside before it.
///
/// # Safety
/// As the server calls it.
unsafe extern "C" fn flush(
    ctx: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    what: u64,
    _: *mut c_void,
) {
    guard((), || {
        if what != raw::REDISMODULE_SUBEVENT_FLUSHDB_START {
            return;
        }
        let ctx = Context::new(ctx);
        for slot in (0..Slot::COUNT).filter_map(Slot::new) {
            let shard =
                store::look(store::Names::none(&ctx), slot, |shard| (!shard.is_new()).then(|| shard.clone()));
            if let Ok(Some(shard)) = shard {
                state::with(|module| module.put_aside.insert(slot, shard));
            }
        }
    });
}

/// What another master or a file says of the slots replaces what was put aside.
///
/// # Safety
/// As the server calls it.
unsafe extern "C" fn loading(
    _: *mut raw::RedisModuleCtx,
    _: raw::RedisModuleEvent,
    what: u64,
    _: *mut c_void,
) {
    let begins = [raw::REDISMODULE_SUBEVENT_LOADING_RDB_START, raw::REDISMODULE_SUBEVENT_LOADING_REPL_START];
    let over = [raw::REDISMODULE_SUBEVENT_LOADING_ENDED, raw::REDISMODULE_SUBEVENT_LOADING_FAILED];
    guard((), || {
        state::set_loading(!over.contains(&what));
        if begins.contains(&what) {
            state::with(|module| module.put_aside.clear());
        }
    });
}

/// `INFO occult`
///
/// # Safety
/// As the server calls it.
unsafe extern "C" fn info(ctx: *mut raw::RedisModuleInfoCtx, _: c_int) {
    guard((), || {
        let Some((server, counters, aside)) =
            state::with(|module| (module.server.clone(), module.counters, module.put_aside.len()))
        else {
            return;
        };
        let behind = state::now().since(server.beat.time()).0;
        raw::add_info_section(ctx, None);
        raw::add_info_field_str(ctx, "role", commands::role_name(server.role));
        raw::add_info_field_str(ctx, "shape", &server.shape.to_string());
        for (name, value) in [
            ("datacenter", u64::from(server.datacenter.0)),
            ("incarnation", u64::from(server.incarnation.get())),
            ("beat_age_us", if server.beat == scaledb_occult::Stamp::ZERO { 0 } else { behind }),
            ("commands", counters.commands),
            ("effects", counters.effects),
            ("applied", counters.applied),
            ("refused_locked", counters.refused_locked),
            ("refused_lost", counters.refused_lost),
            ("refused_other", counters.refused_other),
            ("plain_deletions", counters.plain_deletions),
            ("slots_put_aside", aside as u64),
        ] {
            raw::add_info_field_unsigned_long_long(ctx, name, value);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Settings, String> {
        Settings::parse(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>())
    }

    #[test]
    fn settings_are_read() {
        let settings = parse(&["datacenter", "1", "BEAT-MS", "0", "shape", "temporal:4"]).unwrap();
        assert_eq!(settings.datacenter, Datacenter(1));
        assert_eq!(settings.beat_ms, 0);
        assert_eq!(settings.shape, Shape::Temporal(4));
    }

    #[test]
    fn a_setting_that_means_nothing_is_refused() {
        for words in [
            &[][..],
            &["datacenter"],
            &["datacenter", "16"],
            &["datacenter", "east"],
            &["datacenter", "1", "speed", "9"],
            &["datacenter", "1", "shape", "round"],
            &["datacenter", "1", "beat-ms", "10001"],
        ] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
