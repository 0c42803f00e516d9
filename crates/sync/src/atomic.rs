//! Atomics and fences.

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(shuttle)]
pub use shuttle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(any(loom, shuttle, perturb, sim)))]
pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

#[cfg(all(any(perturb, sim), not(any(loom, shuttle))))]
pub use crate::wrapped::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};
#[cfg(all(any(perturb, sim), not(any(loom, shuttle))))]
pub use std::sync::atomic::Ordering;
