//! The commands: parsed and decided by `scaledb-occult`, applied and replicated here.

use crate::guard::guard;
use crate::state::{self, Module};
use crate::store::{self, Keys};
use crate::{host, plain, types};
use redis_module::{Context, RedisString, raw};
use scaledb_occult::limits::MAX_DATACENTERS;
use scaledb_occult::wire::{Command, Refused};
use scaledb_occult::{Datacenter, Effect, Role, Server, Slot, Stamp, slot_key};
use std::ffi::c_int;

const WRONG_TYPE: &str =
    "WRONGTYPE the key holds a plain value, or the state of its slot was overwritten: delete it first";
const NOT_A_CLIENT_COMMAND: &str = "ERR only a master, or a file, gives this command";
const OTHER_DATABASE: &str = "ERR stamped keys are in database 0 only";
const FAILED: &str = "ERR the module failed; the server's log says more";

/// Why a command has failed: its text goes to the client.
type Failure = String;

/// The state of the server, after what it says of its role.
pub(crate) fn server_now(ctx: &Context) -> Option<Server> {
    let master = host::is_master(ctx);
    state::with(|module| {
        match (master, module.server.role) {
            (true, Role::Replica) => module.server.promote(host::random(), state::now()),
            (false, Role::Master) => module.server.demote(),
            _ => {}
        }
        module.server.clone()
    })
}

/// A command of a client.
///
/// # Safety
/// As the server calls it.
pub(crate) unsafe extern "C" fn client_command(
    ctx: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int {
    answer(ctx, || {
        let ctx = Context::new(ctx);
        // SAFETY: the server gives `argc` arguments
        let args = unsafe { host::arguments(argv, argc) };
        let reply = run(&ctx, &args);
        plain::stamp(&ctx);
        reply.map(Answer::Bytes)
    })
}

/// A command that only masters and files give: `OCCULT.APPLY`, `OCCULT.BEAT`, `OCCULT.RESTORE`.
///
/// # Safety
/// As the server calls it.
pub(crate) unsafe extern "C" fn stream_command(
    ctx: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int {
    answer(ctx, || {
        let ctx = Context::new(ctx);
        // SAFETY: the server gives `argc` arguments
        let args = unsafe { host::arguments(argv, argc) };
        follow(&ctx, &args).map(|()| Answer::Ok)
    })
}

/// `OCCULT.SERVER`: where this server stands, for clients that look for the nearest.
///
/// # Safety
/// As the server calls it.
pub(crate) unsafe extern "C" fn server_command(
    ctx: *mut raw::RedisModuleCtx,
    _: *mut *mut raw::RedisModuleString,
    _: c_int,
) -> c_int {
    answer(ctx, || {
        let ctx = Context::new(ctx);
        let server = server_now(&ctx).ok_or(FAILED)?;
        Ok(Answer::Pairs(vec![
            ("datacenter", server.datacenter.0.to_string()),
            ("home", server.datacenter_of_new().0.to_string()),
            ("role", role_name(server.role).to_owned()),
            ("shape", server.shape.to_string()),
            ("incarnation", server.incarnation.get().to_string()),
            ("beat", server.beat.to_bits().to_string()),
        ]))
    })
}

/// The name of a role, in Redis' words.
pub(crate) fn role_name(role: Role) -> &'static str {
    match role {
        Role::Master => "master",
        Role::Replica => "replica",
    }
}

enum Answer {
    Ok,
    Bytes(Vec<u8>),
    Pairs(Vec<(&'static str, String)>),
}

/// Runs a command and sends what it answers, whatever happens.
fn answer(ctx: *mut raw::RedisModuleCtx, run: impl FnOnce() -> Result<Answer, Failure>) -> c_int {
    let answer = guard(Err(FAILED.to_owned()), run);
    // SAFETY: the server has called with this context, and gets one reply
    unsafe {
        match answer {
            Ok(Answer::Ok) => host::reply_ok(ctx),
            Ok(Answer::Bytes(bytes)) => host::reply_bytes(ctx, &bytes),
            Ok(Answer::Pairs(pairs)) => host::reply_pairs(ctx, &pairs),
            Err(text) => host::reply_error(ctx, &text),
        }
    }
    raw::Status::Ok as c_int
}

fn run(ctx: &Context, args: &[&[u8]]) -> Result<Vec<u8>, Failure> {
    if host::database(ctx) != 0 {
        return Err(OTHER_DATABASE.to_owned());
    }
    let command = Command::parse(args).map_err(|refused| refusal(&refused))?;
    let slot = command.slot();
    let mut server = server_now(ctx).ok_or(FAILED)?;
    let partial = store::look(ctx, slot, |shard| shard.is_partial()).map_err(|_| WRONG_TYPE)?;
    let settled = !partial || host::owns(ctx, slot);
    if server.role == Role::Master && command.begins_life(partial, settled) {
        server.begin_life(host::random());
        state::with(|module| module.server = server.clone());
    }
    let mut keys = Keys::new(ctx);
    let planned = state::busy(|| {
        store::look(ctx, slot, |shard| command.run(shard, &server, state::now(), settled, &keys))
    });
    let planned = planned.map_err(|_| WRONG_TYPE)?;
    if keys.met_wrong_type() {
        return Err(WRONG_TYPE.to_owned());
    }
    let planned = planned.map_err(|refused| refusal(&refused))?;
    if let Some(effect) = &planned.effect {
        change(ctx, slot, effect, &mut keys);
    }
    state::with(|module| module.counters.commands += 1);
    Ok(planned.reply.to_bytes())
}

/// Counts a refusal, and makes a reply of it.
fn refusal(refused: &Refused) -> Failure {
    state::with(|Module { counters, .. }| match refused {
        Refused::Locked(_) => counters.refused_locked += 1,
        Refused::Lost { .. } => counters.refused_lost += 1,
        _ => counters.refused_other += 1,
    });
    refused.to_string()
}

/// A master changes a shard: here, and by its stream at the replicas and in the file.
pub(crate) fn change(ctx: &Context, slot: Slot, effect: &Effect, keys: &mut Keys<'_>) {
    if !apply(ctx, slot, effect, keys) {
        return;
    }
    host::replicate(ctx, c"OCCULT.APPLY", &[slot_key(slot).as_bytes(), &effect.to_bytes()]);
    state::with(|module| module.counters.effects += 1);
}

/// Whether the effect could be applied.
fn apply(ctx: &Context, slot: Slot, effect: &Effect, keys: &mut Keys<'_>) -> bool {
    let done = state::busy(|| store::change(ctx, slot, |shard| shard.apply(slot, effect, keys)));
    if done.is_err() {
        host::warn("the state of a slot was overwritten by a plain value: an effect is not applied");
    }
    done.is_ok()
}

/// What the master, or a file, says.
fn follow(ctx: &Context, args: &[&[u8]]) -> Result<(), Failure> {
    if !host::is_from_master_or_file(ctx) {
        return Err(NOT_A_CLIENT_COMMAND.to_owned());
    }
    let malformed = || "ERR malformed".to_owned();
    let (name, args) = args.split_first().ok_or_else(malformed)?;
    match *args {
        [stamp, home] if name.eq_ignore_ascii_case(b"OCCULT.BEAT") => {
            let number = |text| std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
            let beat = Stamp::from_bits(number(stamp).ok_or_else(malformed)?);
            let home = number(home).filter(|home| *home < MAX_DATACENTERS as u64).ok_or_else(malformed)?;
            server_now(ctx);
            state::with(|module| module.server.apply_beat(beat, Datacenter(home as u8)));
        }
        [slot, effect] if name.eq_ignore_ascii_case(b"OCCULT.APPLY") => {
            let slot = scaledb_occult::slot_of(slot);
            let effect = Effect::from_bytes(effect).map_err(|error| format!("ERR {error}"))?;
            apply(ctx, slot, &effect, &mut Keys::new(ctx));
            state::with(|module| module.counters.applied += 1);
        }
        [key, kind, bytes] if name.eq_ignore_ascii_case(b"OCCULT.RESTORE") => {
            let key = RedisString::create_from_slice(ctx.ctx, key);
            types::restore(ctx, &key, kind, bytes).ok_or_else(malformed)?;
        }
        _ => return Err(malformed()),
    }
    Ok(())
}
