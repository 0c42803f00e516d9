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

/// A fence, some time.
#[inline]
pub fn fence(order: Ordering) {
    dawdle();
    std_atomic::fence(order);
}

macro_rules! atomic {
    ($name:ident, $of:ty $(, $generic:ident)?) => {
        /// The standard library's, some time.
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct $name$(<$generic>)?(std_atomic::$name$(<$generic>)?);

        #[allow(missing_docs, clippy::missing_errors_doc)]
        impl$(<$generic>)? $name$(<$generic>)? {
            pub const fn new(value: $of) -> Self {
                Self(std_atomic::$name::new(value))
            }
            #[inline]
            pub fn load(&self, order: Ordering) -> $of {
                dawdle();
                self.0.load(order)
            }
            #[inline]
            pub fn store(&self, value: $of, order: Ordering) {
                dawdle();
                self.0.store(value, order);
            }
            #[inline]
            pub fn swap(&self, value: $of, order: Ordering) -> $of {
                dawdle();
                self.0.swap(value, order)
            }
            #[inline]
            pub fn compare_exchange(
                &self,
                current: $of,
                new: $of,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$of, $of> {
                dawdle();
                self.0.compare_exchange(current, new, success, failure)
            }
            #[inline]
            pub fn compare_exchange_weak(
                &self,
                current: $of,
                new: $of,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$of, $of> {
                dawdle();
                self.0.compare_exchange_weak(current, new, success, failure)
            }
            #[inline]
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                f: impl FnMut($of) -> Option<$of>,
            ) -> Result<$of, $of> {
                dawdle();
                self.0.fetch_update(set, fetch, f)
            }
            #[inline]
            pub fn get_mut(&mut self) -> &mut $of {
                self.0.get_mut()
            }
            #[inline]
            pub fn into_inner(self) -> $of {
                self.0.into_inner()
            }
        }
    };
}

macro_rules! number {
    ($name:ident, $of:ty, $($operation:ident)*) => {
        atomic!($name, $of);

        #[allow(missing_docs)]
        impl $name {
            $(#[inline]
            pub fn $operation(&self, value: $of, order: Ordering) -> $of {
                dawdle();
                self.0.$operation(value, order)
            })*
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(<$of>::default())
            }
        }
    };
}

number!(AtomicBool, bool, fetch_or fetch_and);
number!(AtomicU32, u32, fetch_add fetch_sub fetch_or fetch_and fetch_max fetch_min);
number!(AtomicU64, u64, fetch_add fetch_sub fetch_or fetch_and fetch_max fetch_min);
number!(AtomicUsize, usize, fetch_add fetch_sub fetch_or fetch_and fetch_max fetch_min);
atomic!(AtomicPtr, *mut T, T);

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}
