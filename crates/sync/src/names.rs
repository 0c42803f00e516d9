//! Names of memory, for the reports of the simulated machine: which structure a contended line belongs to. In all other
//! builds nothing is left of a call.

/// Tells what `bytes` bytes at `address` are.
#[inline(always)]
pub fn name<T>(address: *const T, bytes: usize, name: &str) {
    #[cfg(sim)]
    scaledb_machine::name(address.addr(), bytes, 0, name);
    #[cfg(not(sim))]
    let _ = (address, bytes, name);
}

/// [`name`] of one object.
#[inline(always)]
pub fn name_of<T>(object: &T, name: &str) {
    self::name(object, size_of::<T>(), name);
}

/// Tells what the elements of an array are; a report says which.
#[inline(always)]
pub fn name_all<T>(elements: &[T], name: &str) {
    #[cfg(sim)]
    scaledb_machine::name(elements.as_ptr().addr(), size_of_val(elements), size_of::<T>(), name);
    #[cfg(not(sim))]
    let _ = (elements, name);
}

/// [`name`] of what is only worked out where somebody wants to know.
#[inline(always)]
pub fn name_with<T>(f: impl FnOnce() -> (*const T, usize, String)) {
    #[cfg(sim)]
    if scaledb_machine::is_running() {
        let (address, bytes, name) = f();
        scaledb_machine::name(address.addr(), bytes, 0, &name);
    }
    #[cfg(not(sim))]
    let _ = f;
}
