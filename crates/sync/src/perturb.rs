//! Atomics that dawdle: before each operation, sometimes, a thread spins, gives its core away, or sleeps. For optimised
//! builds with `--cfg perturb`, whose windows of two loads are otherwise met once in hours.
//!
//! Threads draw from generators of their own; `SCALEDB_PERTURB` seeds them (1).

use std::cell::Cell;
use std::sync::atomic::{self as std_atomic, Ordering};
use std::time::Duration;

/// One operation in so many is preceded by a spin; of these, one in so many gives the core away; of these, one in so
/// many sleeps.
const SPINS: u64 = 64;
const YIELDS: u64 = 16;
const SLEEPS: u64 = 32;
const LONGEST_SPIN: u64 = 256;
const SLEEP: Duration = Duration::from_micros(50);

static THREADS: std_atomic::AtomicU64 = std_atomic::AtomicU64::new(0);

thread_local! {
    static RANDOM: Cell<u64> = Cell::new(seed());
}

fn seed() -> u64 {
    let first = std::env::var("SCALEDB_PERTURB").ok().and_then(|s| s.parse().ok()).unwrap_or(1_u64);
    // only the number counts
    let thread = THREADS.fetch_add(1, Ordering::Relaxed);
    (first << 20 | (thread + 1)).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1
}

#[inline]
fn dawdle() {
    // a thread that ends has no generator any more
    let _ = RANDOM.try_with(|random| {
        let mut x = random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        random.set(x);
        if x % SPINS == 0 {
            dawdle_long(x / SPINS);
        }
    });
}

#[cold]
fn dawdle_long(x: u64) {
    if x % YIELDS != 0 {
        (0..x / YIELDS % LONGEST_SPIN).for_each(|_| std::hint::spin_loop());
    } else if x / YIELDS % SLEEPS != 0 {
        std::thread::yield_now();
    } else {
        std::thread::sleep(SLEEP);
    }
}

#[inline]
pub(crate) fn load(_: usize) {
    dawdle();
}

#[inline]
pub(crate) fn store(_: usize, _: Ordering) {
    dawdle();
}

#[inline]
pub(crate) fn rmw(_: usize) {
    dawdle();
}

#[inline]
pub(crate) fn fence(_: Ordering) {
    dawdle();
}
