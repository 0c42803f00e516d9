//! Fibers: the threads of the simulated machine.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};

/// The stack of a fiber; pages that are not touched cost nothing.
const STACK: usize = 1 << 20;

/// A thread of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FiberId(pub(crate) usize);

pub(crate) type Body = Coroutine<(), (), ()>;

pub(crate) struct Fiber {
    /// Absent while it runs, and when it has ended.
    pub(crate) body: Option<Body>,
    /// Set by the fiber itself when it begins; valid until it ends.
    pub(crate) yielder: *const Yielder<(), ()>,
    pub(crate) core: usize,
    /// Its core's time when it gave way, in picoseconds.
    pub(crate) clock: u64,
    /// Counts its entries in the queue of fibers that can run: older ones do not count.
    pub(crate) turn: u32,
    pub(crate) blocked: bool,
    /// Whether somebody ended its wait, not the deadline.
    pub(crate) woken: bool,
    pub(crate) done: bool,
    pub(crate) joiners: Vec<FiberId>,
}

/// A fiber's code, on a stack of its own.
///
/// # Safety
/// What `run` borrows lives until the fiber has ended.
pub(crate) unsafe fn body<'a>(
    run: impl FnOnce(*const Yielder<(), ()>) + 'a,
) -> Coroutine<(), (), (), DefaultStack> {
    let stack = DefaultStack::new(STACK).expect("memory for the stack of a fiber");
    // SAFETY: the caller's promise.
    unsafe { Coroutine::with_stack_unchecked(stack, move |yielder: &Yielder<(), ()>, ()| run(yielder)) }
}
