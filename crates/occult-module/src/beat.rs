//! The beat: a promise of each master to its replicas, every few milliseconds.

use crate::guard::guard;
use crate::{commands, host, plain, state};
use redis_module::{Context, raw};
use scaledb_occult::Role;
use std::ffi::c_void;

/// Between two beats, in milliseconds, if nothing else is configured. Replicas are behind by that much more than by
/// their distance: with 10 ms one read of ten at a replica is taken for stale, with 1 ms one of three hundred.
pub(crate) const DEFAULT_MS: u64 = 1;

/// While none are sent: how often stamps for plain commands, which a lock has held up, are tried again.
const IDLE_MS: u64 = 100;

/// Starts the timer.
pub(crate) fn start(ctx: &Context) {
    let period = state::with(|module| module.beat_ms).filter(|ms| *ms > 0).unwrap_or(IDLE_MS);
    host::timer(ctx, period, on_time);
}

/// # Safety
/// As the server calls it.
unsafe extern "C" fn on_time(ctx: *mut raw::RedisModuleCtx, _: *mut c_void) {
    guard((), || {
        let ctx = Context::new(ctx);
        start(&ctx);
        // a timer runs between commands
        state::begin_command(None);
        plain::stamp(&ctx);
        send(&ctx);
    });
}

fn send(ctx: &Context) {
    if host::is_loading(ctx) || host::must_not_send(ctx) {
        return;
    }
    let Some(server) = commands::server_now(ctx) else { return };
    if server.role != Role::Master {
        return;
    }
    let beat = state::with(|module| {
        (module.beat_ms > 0).then(|| {
            let beat = module.server.plan_beat(state::now());
            module.server.apply_beat(beat, module.server.home);
            beat
        })
    });
    if let Some(beat) = beat.flatten() {
        host::replicate_beat(ctx, beat, server.home);
    }
}
