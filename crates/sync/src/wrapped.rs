//! The standard library's atomics with a step before each operation: a delay at random in builds with `--cfg perturb`,
//! an event of the simulated machine in builds with `--cfg sim`.

#[cfg(perturb)]
use crate::perturb as step;
#[cfg(sim)]
use crate::sim as step;
use std::sync::atomic::{self as std_atomic, Ordering};

/// A fence.
#[inline]
pub fn fence(order: Ordering) {
    step::fence(order);
    std_atomic::fence(order);
}

macro_rules! atomic {
    ($name:ident, $of:ty $(, $generic:ident)?) => {
        /// The standard library's, behind a step.
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct $name$(<$generic>)?(std_atomic::$name$(<$generic>)?);

        #[allow(missing_docs, clippy::missing_errors_doc)]
        impl$(<$generic>)? $name$(<$generic>)? {
            pub const fn new(value: $of) -> Self {
                Self(std_atomic::$name::new(value))
            }
            #[inline(always)]
            fn address(&self) -> usize {
                std::ptr::from_ref(self).addr()
            }
            #[inline]
            pub fn load(&self, order: Ordering) -> $of {
                step::load(self.address());
                self.0.load(order)
            }
            #[inline]
            pub fn store(&self, value: $of, order: Ordering) {
                step::store(self.address(), order);
                self.0.store(value, order);
            }
            #[inline]
            pub fn swap(&self, value: $of, order: Ordering) -> $of {
                step::rmw(self.address());
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
                step::rmw(self.address());
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
                step::rmw(self.address());
                self.0.compare_exchange_weak(current, new, success, failure)
            }
            #[inline]
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                f: impl FnMut($of) -> Option<$of>,
            ) -> Result<$of, $of> {
                step::rmw(self.address());
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
                step::rmw(self.address());
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
