//! The commands: parsed and decided by `scaledb-occult`, applied and replicated here.

use crate::guard::guard_else;
use crate::state::{self, Module};
use crate::store::{self, Arguments, Keys, Names};
use crate::{host, plain, types};
use redis_module::{Context, RedisString, raw};
use scaledb_occult::limits::MAX_DATACENTERS;
use scaledb_occult::wire::{Call, Command, ReadKeys, Refused};
use scaledb_occult::{Datacenter, Effect, Role, Server, Shard, Slot, Stamp};
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
        let (bytes, strings) = unsafe { (host::arguments(argv, argc), host::strings(argv, argc)) };
        let reply = run(&ctx, Arguments { bytes: &bytes, strings });
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
        let (bytes, strings) = unsafe { (host::arguments(argv, argc), host::strings(argv, argc)) };
        follow(&ctx, Arguments { bytes: &bytes, strings }).map(|()| Answer::Ok)
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
    let answer = guard_else(|| Err(FAILED.to_owned()), run);
    // SAFETY: the server has called with this context, and gets one reply
    unsafe {
        match answer {
            Ok(Answer::Ok) => host::reply_ok(ctx),
            Ok(Answer::Bytes(bytes)) => {
                host::reply_bytes(ctx, &bytes);
                state::give_back(bytes);
            }
            Ok(Answer::Pairs(pairs)) => host::reply_pairs(ctx, &pairs),
            Err(text) => host::reply_error(ctx, &text),
        }
    }
    raw::Status::Ok as c_int
}

fn run(ctx: &Context, arguments: Arguments<'_>) -> Result<Vec<u8>, Failure> {
    if host::database(ctx) != 0 {
        return Err(OTHER_DATABASE.to_owned());
    }
    let mut keys = Keys::new(Names::of(ctx, arguments));
    if let Some(asked) = Command::parse_read(arguments.bytes).map_err(|refused| refusal(&refused))? {
        return read(ctx, asked, &keys);
    }
    let command = Command::parse(arguments.bytes).map_err(|refused| refusal(&refused))?;
    let slot = command.slot();
    let mut server = server_now(ctx).ok_or(FAILED)?;
    if server.role == Role::Master && command.begins_life(true, true) {
        let partial = store::look(keys.names(), slot, |shard| shard.is_partial()).map_err(|_| WRONG_TYPE)?;
        if partial && host::owns(ctx, slot) {
            server.begin_life(host::random());
            state::with(|module| module.server = server.clone());
        }
    }
    let planned = state::busy(|| {
        store::look(keys.names(), slot, |shard| {
            command.run(shard, &server, state::now(), is_settled(ctx, slot, shard), &keys)
        })
    });
    let planned = planned.map_err(|_| WRONG_TYPE)?;
    if keys.met_wrong_type() {
        return Err(WRONG_TYPE.to_owned());
    }
    let planned = planned.map_err(|refused| refusal(&refused))?;
    if let Some(effect) = &planned.effect {
        change(slot, effect, &mut keys);
    }
    state::with(|module| module.counters.commands += 1);
    let mut reply = state::buffer();
    planned.reply.encode(&mut reply);
    Ok(reply)
}

/// Whether a slot is here as a whole. Only of one that may miss keys the server has to be asked.
fn is_settled(ctx: &Context, slot: Slot, shard: &Shard) -> bool {
    !shard.is_partial() || host::owns(ctx, slot)
}

/// READ, without a copy of the keys, nor of the values but into the reply.
fn read(
    ctx: &Context,
    ReadKeys { slot, keys: asked }: ReadKeys<'_>,
    keys: &Keys<'_>,
) -> Result<Vec<u8>, Failure> {
    let server = server_now(ctx).ok_or(FAILED)?;
    let mut reply = state::buffer();
    let read = state::busy(|| {
        store::look(keys.names(), slot, |shard| {
            let settled = is_settled(ctx, slot, shard);
            let call = Call { server: &server, slot, now: state::now(), settled };
            shard.encode_read(call, keys, asked, &mut reply)
        })
    });
    let read = read.map_err(|_| WRONG_TYPE)?;
    if keys.met_wrong_type() {
        return Err(WRONG_TYPE.to_owned());
    }
    read.map_err(|_| FAILED)?;
    state::with(|module| module.counters.commands += 1);
    Ok(reply)
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
pub(crate) fn change(slot: Slot, effect: &Effect, keys: &mut Keys<'_>) {
    let mut bytes = state::buffer();
    effect.encode(&mut bytes);
    if apply(slot, keys, |shard, keys| shard.apply_encoded(slot, effect, &bytes, keys)).is_some() {
        host::replicate_effect(keys.names().ctx(), &keys.names().of_slot(slot), &bytes);
        state::with(|module| module.counters.effects += 1);
    }
    state::give_back(bytes);
}

/// Changes a shard and its keys by an effect. None if something else lies where the shard is stored.
fn apply<'a, R>(
    slot: Slot,
    keys: &mut Keys<'a>,
    run: impl FnOnce(&mut Shard, &mut Keys<'a>) -> R,
) -> Option<R> {
    let done = state::busy(|| store::change(keys.names(), slot, |shard| run(shard, keys)));
    if done.is_err() {
        host::warn("the state of a slot was overwritten by a plain value: an effect is not applied");
    }
    done.ok()
}

/// What the master, or a file, says.
fn follow(ctx: &Context, arguments: Arguments<'_>) -> Result<(), Failure> {
    if !host::is_from_master_or_file(ctx) {
        return Err(NOT_A_CLIENT_COMMAND.to_owned());
    }
    let malformed = || "ERR malformed".to_owned();
    let (name, args) = arguments.bytes.split_first().ok_or_else(malformed)?;
    match *args {
        [stamp, home] if name.eq_ignore_ascii_case(b"OCCULT.BEAT") => {
            let number = |text| std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
            let beat = Stamp::from_bits(number(stamp).ok_or_else(malformed)?);
            let home = number(home).filter(|home| *home < MAX_DATACENTERS as u64).ok_or_else(malformed)?;
            server_now(ctx);
            state::with(|module| module.server.apply_beat(beat, Datacenter(home as u8)));
        }
        [slot, bytes] if name.eq_ignore_ascii_case(b"OCCULT.APPLY") => {
            let slot = scaledb_occult::slot_of(slot);
            let mut keys = Keys::new(Names::of(ctx, arguments));
            if let Some(Err(error)) =
                apply(slot, &mut keys, |shard, keys| shard.apply_bytes(slot, bytes, keys))
            {
                return Err(format!("ERR {error}"));
            }
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
