//! A simulated machine of many cores: fibers in virtual time over a model of caches.
//!
//! ```text
//!  a fiber per thread ──► event (load, store, exchange, fence, prefetch, pause, clock)
//!                           │ time passes; who is a lookahead ahead of the next core gives way to it
//!                           ▼
//!                      L1, L2 of the core ──► directory of lines: owner, sharers, when it is free again
//!                                               ▲ LLC of each group of cores      └──► time lost, by line
//! ```
//!
//! Exactly one fiber runs at a time, on the thread that called [`run`]; all of them see one memory, the process's own.
//! What is simulated is *when*: each core has a clock, and what it does to memory that others use costs what the
//! coherence of caches would make it cost. From a seed everything follows: the same run gives the same result.
//!
//! Causality: who sees a write, or writes what another has read, does so later in virtual time than the other
//! did. So clocks that are read on different cores agree with what the cores know of each other, as they do on the
//! machines that are simulated.
//!
//! `scaledb-sync` calls this in builds with `--cfg sim`; outside of [`run`] each hook returns at once.

mod access;
mod cache;
mod directory;
mod fiber;
mod hooks;
mod report;
mod spec;
mod world;

pub use fiber::FiberId;
pub use hooks::{
    charge, fence, is_running, load, name, now, pause, place_next, prefetch, prefetch_to_write, read_clock,
    rmw, set_charging, settle, store, take_report, yield_now,
};
pub use report::{Cause, HotLine, Report};
pub use spec::{Costs, PRESETS, Spec, preset};
pub use world::{block, current, is_done, join, run, sleep_until, spawn, unblock};
