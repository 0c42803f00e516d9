//! Hints to the processor and bounded waiting.

/// Tells the processor (or the model checker) that this thread spins.
#[inline(always)]
pub fn spin_loop() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(shuttle)]
    shuttle::thread::yield_now();
    #[cfg(sim)]
    scaledb_machine::pause();
    #[cfg(not(any(loom, shuttle)))]
    std::hint::spin_loop();
}

/// Asks for the cache line at `p` (any address is allowed: a prefetch never faults).
#[inline(always)]
pub fn prefetch<T>(p: *const T) {
    #[cfg(sim)]
    scaledb_machine::prefetch(p.addr());
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
    // SAFETY: a prefetch has no architectural effect, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(p.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle, miri)))))]
    let _ = p;
}

/// Asks for the cache line at `p` to write it: the other cores lose it. (What has no such instruction passes over it.)
#[inline(always)]
pub fn prefetch_to_write<T>(p: *const T) {
    #[cfg(sim)]
    scaledb_machine::prefetch_to_write(p.addr());
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
    // SAFETY: as in `prefetch`; every 64-bit processor has the instruction, or takes it for one that does nothing.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) p, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle, miri)))))]
    let _ = p;
}

/// A bounded wait: spins at first, then gives the processor away, then reports that it is over.
///
/// With more runnable threads than cores the holder of a lock may be off its core; spinning on
/// would only keep it there, so the wait turns into `yield_now` early.
#[derive(Debug, Default)]
pub struct Backoff {
    step: u32,
}

impl Backoff {
    const SPINS: u32 = if crate::MODEL { 1 } else { 7 };
    const YIELDS: u32 = if crate::MODEL { 3 } else { 40 };

    /// A wait that has not begun.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits a little. Returns false when the bound is reached: the caller gives up.
    #[inline]
    pub fn wait(&mut self) -> bool {
        if self.step < Self::SPINS {
            for _ in 0..1u32 << self.step.min(6) {
                spin_loop();
            }
        } else if self.step < Self::SPINS + Self::YIELDS {
            crate::thread::yield_now();
        } else {
            return false;
        }
        self.step += 1;
        true
    }

    /// Waits a little, without a bound: for locks whose holder is certain to release them.
    #[inline]
    pub fn wait_forever(&mut self) {
        if !self.wait() {
            crate::thread::yield_now();
        }
    }
}
