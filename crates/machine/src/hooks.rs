//! What the simulated program calls: events, and the clock. Outside of a machine each returns at once.

use crate::report::Report;
use crate::world::{Kind, Spent, World, give_way};
use std::cell::Cell;

thread_local! {
    pub(crate) static WORLD: Cell<*mut World> = const { Cell::new(std::ptr::null_mut()) };
}

/// The machine that this thread runs, if there is one.
#[inline(always)]
pub(crate) fn world() -> Option<*mut World> {
    let world = WORLD.get();
    (!world.is_null()).then_some(world)
}

/// Whether this code runs on a simulated machine.
#[inline(always)]
pub fn is_running() -> bool {
    world().is_some()
}

#[inline(always)]
fn event(address: usize, kind: Kind) {
    let Some(world) = world() else { return };
    // SAFETY: the machine lives while fibers run, and they run one at a time; no reference into it outlives a
    // statement, nor a switch.
    unsafe {
        if (*world).clock > (*world).horizon {
            give_way(world);
        }
        (*world).access(address, kind);
    }
}

/// A load from `address`.
#[inline(always)]
pub fn load(address: usize) {
    event(address, Kind::Load);
}

/// A store to `address`; `fenced`: it is done before the core goes on.
#[inline(always)]
pub fn store(address: usize, fenced: bool) {
    event(address, if fenced { Kind::Rmw } else { Kind::Store });
}

/// A locked instruction at `address`.
#[inline(always)]
pub fn rmw(address: usize) {
    event(address, Kind::Rmw);
}

/// A prefetch of the line at `address`: it is fetched while the core goes on.
#[inline(always)]
pub fn prefetch(address: usize) {
    event(address, Kind::Prefetch);
}

/// A prefetch of the line at `address` to write it: the other cores lose it.
#[inline(always)]
pub fn prefetch_to_write(address: usize) {
    event(address, Kind::Claim);
}

/// Calls `f` on the machine, after others have had their turn.
#[inline]
fn with<T>(f: impl FnOnce(&mut World) -> T) -> Option<T> {
    let world = world()?;
    // SAFETY: as in `event`; `f` does not switch.
    unsafe {
        if (*world).clock > (*world).horizon {
            give_way(world);
        }
        Some(f(&mut *world))
    }
}

/// A full fence.
#[inline]
pub fn fence() {
    with(World::fence);
}

/// The pause of a loop that waits.
#[inline]
pub fn pause() {
    with(World::pause);
}

/// Gives the core away for a moment: as long as a system call takes.
pub fn yield_now() {
    const SYSTEM_CALL: u64 = 300;
    charge(SYSTEM_CALL);
}

/// The core works for so many nanoseconds.
pub fn charge(nanoseconds: u64) {
    with(|world| world.spend(Spent::Work, nanoseconds * 1_000));
}

/// The core's time in nanoseconds, read as the clock's register is: it takes a little.
#[inline]
pub fn read_clock() -> u64 {
    with(World::read_clock).unwrap_or_default()
}

/// The core's time in nanoseconds; costs nothing.
#[inline]
pub fn now() -> u64 {
    // SAFETY: as in `event`.
    world().map_or(0, |world| unsafe { (*world).time() / 1_000 })
}

/// Tells what `bytes` bytes at `address` are, for reports. `stride`: the size of an element, or 0.
pub fn name(address: usize, bytes: usize, stride: usize, name: &str) {
    if let Some(world) = world() {
        // SAFETY: as in `event`.
        unsafe { (*world).name(address, bytes, stride, name) }
    }
}

/// Whether memory costs what it costs (true at first), or next to nothing: while a database is loaded, say.
pub fn set_charging(charging: bool) {
    with(|world| world.set_charging(charging));
}

/// The next fiber that is spawned runs on this core. Others run on cores that no fiber was placed on.
pub fn place_next(core: usize) {
    with(|world| world.place = Some(core));
}

/// All cores go on at the same time: that of the core that is furthest. Returns it, in nanoseconds.
pub fn settle() -> u64 {
    with(World::settle).unwrap_or_default()
}

/// What happened since the last call, or since the beginning.
pub fn take_report() -> Report {
    with(World::take_report).unwrap_or_default()
}
