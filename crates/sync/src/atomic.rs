//! Atomics and fences.

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(shuttle)]
pub use shuttle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(any(loom, shuttle, perturb)))]
pub use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

#[cfg(all(perturb, not(any(loom, shuttle))))]
pub use crate::perturb::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};
#[cfg(all(perturb, not(any(loom, shuttle))))]
pub use std::sync::atomic::Ordering;
