//! The one door to shared-memory concurrency.
//!
//! Every atomic, cell, lock, thread and clock of ScaleDB comes from this crate, so that the same
//! engine code runs
//!
//! * in production on `std` (every item here is then a plain re-export or an inlined wrapper),
//! * under [loom](https://docs.rs/loom) with `--cfg loom` (exhaustive interleavings, weak memory),
//! * under [shuttle](https://docs.rs/shuttle) with `--cfg shuttle` (randomized schedules),
//! * with random delays at every atomic operation with `--cfg perturb`, in optimised builds,
//! * on a simulated machine of many cores with `--cfg sim`: threads are fibers in virtual time, and each access costs
//!   what the coherence of caches makes it cost (`scaledb-machine`). Outside of its `run` it is as on `std`.
//!
//! No other crate names `std::sync` or `std::thread` (`cargo xtask tidy` checks it).

pub mod atomic;
pub mod clock;
pub mod hint;
pub mod lock;
pub mod names;
mod pad;
#[cfg(all(perturb, not(any(loom, shuttle))))]
mod perturb;
mod published;
#[cfg(sim)]
mod sim;
pub mod thread;
#[cfg(all(any(perturb, sim), not(any(loom, shuttle))))]
mod wrapped;

#[cfg(sim)]
pub use scaledb_machine as machine;

pub use pad::CachePadded;
pub use published::Published;

// std's in every build: counting references is no part of any protocol, and loom's cannot be a `self`
pub use std::sync::Arc;

/// True when this build runs under a model checker; test sizes and spin limits shrink then.
pub const MODEL: bool = cfg!(any(loom, shuttle));

/// True when this build can run on the simulated machine: nothing may come from outside then, such as random seeds.
pub const SIMULATED: bool = cfg!(sim);

/// Runs `f` under the model checker of this build: loom explores every interleaving within its
/// bounds, shuttle runs `iterations` random schedules, and a production build calls `f` once per
/// iteration with real threads.
pub fn model(iterations: usize, f: impl Fn() + Send + Sync + 'static) {
    #[cfg(loom)]
    {
        let _ = iterations;
        loom::model(f);
    }
    #[cfg(shuttle)]
    {
        shuttle::check_random(f, iterations);
    }
    #[cfg(not(any(loom, shuttle)))]
    {
        for _ in 0..iterations {
            f();
        }
    }
}
