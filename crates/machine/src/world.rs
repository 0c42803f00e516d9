//! The machine at work: its cores, and which fiber runs next.

use crate::cache::{L1, Tags};
use crate::directory::{Directory, MAX_CORES};
use crate::fiber::{Fiber, FiberId, body};
use crate::hooks::{WORLD, world};
use crate::report::Report;
use crate::spec::Spec;
use corosensei::CoroutineResult;
use std::any::Any;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Picoseconds that a core may be ahead of the next one.
const LOOKAHEAD: u64 = 50_000;
/// What it takes to start a thread, and to wake one.
const SPAWN: u64 = 10_000_000;
const WAKE: u64 = 2_000_000;
/// Prefetches of a core that are under way.
pub(crate) const IN_FLIGHT: usize = 16;
/// The longest delay of a core in a run that asks for them.
const DELAY: u64 = 5_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Load,
    Store,
    Rmw,
    Prefetch,
    /// A prefetch of a line that will be written.
    Claim,
}

/// What cores spent their time on; named by [`SPENT`].
#[derive(Clone, Copy)]
pub(crate) enum Spent {
    Work,
    L2,
    Llc,
    Memory,
    Coherence,
    Spinning,
    Fences,
    Clock,
}

pub(crate) const SPENT: [&str; 8] = [
    "instructions and the L1",
    "L2",
    "last-level cache",
    "memory",
    "lines that others have written, or read",
    "waiting in a loop",
    "fences and locked instructions",
    "the clock",
];

/// A prefetch under way.
#[derive(Clone, Copy, Default)]
pub(crate) struct Flight {
    pub(crate) line: u32,
    pub(crate) ready: u64,
    pub(crate) coherence: bool,
}

pub(crate) struct Core {
    pub(crate) l1: Box<L1>,
    pub(crate) l2: Tags,
    pub(crate) taken: bool,
    /// Its time when its fiber gave way: it may have read its lines up to then.
    pub(crate) seen_until: u64,
    /// When the last store will have been done, and its line.
    pub(crate) stores_done: u64,
    pub(crate) store_line: u32,
    pub(crate) in_flight: [Flight; IN_FLIGHT],
    pub(crate) next_flight: usize,
    /// The line of the last miss: the one behind it is fetched ahead.
    pub(crate) last_miss: u32,
    /// The line that was loaded last, by its address over 64.
    pub(crate) last_loaded: u64,
    /// What its clock shows more than its time.
    pub(crate) skew: u64,
    pub(crate) spent: [u64; SPENT.len()],
}

/// A line that cores lost time on.
pub(crate) struct Contended {
    pub(crate) line: u32,
    pub(crate) waits: u64,
    pub(crate) causes: [u64; 4],
    pub(crate) words: [u64; 8],
}

/// The costs of a machine in picoseconds; see [`crate::Costs`].
pub(crate) struct Picoseconds {
    pub(crate) work: u64,
    pub(crate) same_line: u64,
    pub(crate) l2: u64,
    pub(crate) llc: u64,
    pub(crate) near: u64,
    pub(crate) far: u64,
    pub(crate) remote: u64,
    pub(crate) memory: u64,
    pub(crate) remote_memory: u64,
    pub(crate) occupancy: u64,
    pub(crate) fence: u64,
    pub(crate) rmw: u64,
    pub(crate) clock: u64,
    pub(crate) pause: u64,
    pub(crate) store_buffer: u64,
}

impl Picoseconds {
    fn of(spec: &Spec) -> Self {
        let ps = |ns: f64| (ns * 1e3) as u64;
        let costs = &spec.costs;
        let shared = |ns: f64| ps(if spec.sharing_is_free { costs.llc } else { ns });
        Self {
            work: ps(costs.work),
            same_line: ps(costs.same_line),
            l2: ps(costs.l2),
            llc: ps(costs.llc),
            near: shared(costs.near),
            far: shared(costs.far),
            remote: shared(costs.remote),
            memory: ps(costs.memory),
            remote_memory: ps(costs.remote_memory),
            occupancy: if spec.sharing_is_free { 0 } else { ps(costs.occupancy) },
            fence: ps(costs.fence),
            rmw: ps(costs.rmw),
            clock: ps(costs.clock),
            pause: ps(costs.pause),
            store_buffer: ps(costs.store_buffer),
        }
    }
}

/// The machine.
pub(crate) struct World {
    // of the running core; written back when it gives way
    pub(crate) clock: u64,
    /// When the running fiber gives way.
    pub(crate) horizon: u64,
    /// The time of the next one.
    pub(crate) next_at: u64,
    /// The line of the last access, by its address over 64, and whether the core may write it.
    pub(crate) last_line: u64,
    pub(crate) last_writable: bool,
    pub(crate) charging: bool,
    pub(crate) core: usize,
    current: FiberId,
    pub(crate) events: u64,
    /// Picoseconds of instructions.
    pub(crate) worked: u64,
    pub(crate) costs: Picoseconds,
    pub(crate) spec: Spec,
    fibers: Vec<Fiber>,
    /// Fibers that can run, the one with the least time first.
    queue: BinaryHeap<Reverse<(u64, usize, u32)>>,
    pub(crate) cores: Vec<Core>,
    pub(crate) place: Option<usize>,
    pub(crate) directory: Directory,
    pub(crate) llcs: Vec<Tags>,
    pub(crate) names: Vec<String>,
    pub(crate) numbers: HashMap<String, u32>,
    pub(crate) contended: Vec<Contended>,
    /// The greatest time that any core has seen.
    pub(crate) newest: u64,
    random: u64,
    /// One in so many events is delayed; 0: none.
    delays: u32,
    pub(crate) until_delay: u32,
}

impl World {
    fn new(spec: &Spec, seed: u64, delays: u32) -> Self {
        let mut world = Self {
            clock: 0,
            horizon: 0,
            next_at: 0,
            last_line: 0,
            last_writable: false,
            charging: true,
            core: 0,
            current: FiberId(0),
            events: 0,
            worked: 0,
            costs: Picoseconds::of(spec),
            spec: *spec,
            fibers: Vec::new(),
            queue: BinaryHeap::new(),
            cores: Vec::new(),
            place: None,
            directory: Directory::new(),
            llcs: Vec::new(),
            names: vec!["unnamed".to_owned()],
            numbers: HashMap::new(),
            contended: Vec::new(),
            newest: 0,
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            delays,
            until_delay: u32::MAX,
        };
        world.draw_delay();
        world
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn draw_delay(&mut self) {
        if self.delays > 0 {
            self.until_delay = 1 + (self.random() % (2 * u64::from(self.delays))) as u32;
        }
    }

    /// The core is interrupted for some time, in runs that ask for it.
    #[cold]
    pub(crate) fn delay(&mut self) {
        self.clock += self.random() % DELAY;
        self.draw_delay();
    }

    /// The time of the running core; while memory costs nothing, that of the core that is furthest.
    pub(crate) fn time(&mut self) -> u64 {
        if !self.charging {
            self.newest = self.newest.max(self.clock);
            self.clock = self.newest;
        }
        self.clock
    }

    pub(crate) fn read_clock(&mut self) -> u64 {
        self.events += 1;
        self.spend(Spent::Clock, self.costs.clock);
        (self.time() + self.cores[self.core].skew) / 1_000
    }

    pub(crate) fn spend(&mut self, on: Spent, time: u64) {
        self.clock += time;
        self.cores[self.core].spent[on as usize] += time;
    }

    pub(crate) fn set_charging(&mut self, charging: bool) {
        let now = self.time();
        self.charging = charging;
        self.clock = now;
        self.last_line = 0;
    }

    fn make_core(&mut self) {
        // less than a line takes from core to core: no core's clock is behind what it could know
        let least = self.costs.near.min(self.costs.llc) / 2;
        let skew = self.random() % least.max(1);
        let (bytes, ways) = self.spec.l2;
        self.cores.push(Core {
            l1: Box::new(L1::new()),
            l2: Tags::new(bytes, ways),
            taken: false,
            seen_until: 0,
            stores_done: 0,
            store_line: 0,
            in_flight: [Flight::default(); IN_FLIGHT],
            next_flight: 0,
            last_miss: 0,
            last_loaded: 0,
            skew,
            spent: [0; SPENT.len()],
        });
    }

    /// The core of a new fiber: where it was placed, or the last one that is free.
    fn core_for_new(&mut self) -> usize {
        let core = self.place.take().unwrap_or_else(|| {
            let free = (0..MAX_CORES).rev().find(|&core| self.cores.get(core).is_none_or(|core| !core.taken));
            free.expect("a machine runs at most 256 threads at a time")
        });
        assert!(core < MAX_CORES, "core {core} of {MAX_CORES}");
        while self.cores.len() <= core {
            self.make_core();
        }
        while self.llcs.len() <= self.spec.domain(core) {
            self.llcs.push(Tags::new(self.spec.llc, 16));
        }
        self.cores[core].taken = true;
        core
    }

    /// Adds a fiber that can run.
    fn add(&mut self, body: crate::fiber::Body, from: u64) -> FiberId {
        let id = FiberId(self.fibers.len());
        let core = self.core_for_new();
        let clock = from + self.random() % 1_000;
        self.fibers.push(Fiber {
            body: Some(body),
            yielder: std::ptr::null(),
            core,
            clock,
            turn: 0,
            blocked: false,
            woken: false,
            done: false,
            joiners: Vec::new(),
        });
        self.enqueue(id, clock);
        id
    }

    fn fiber(&mut self, id: FiberId) -> &mut Fiber {
        &mut self.fibers[id.0]
    }

    /// Fibers that have not ended.
    fn running(&self) -> usize {
        self.fibers.iter().filter(|fiber| !fiber.done).count()
    }

    fn enqueue(&mut self, id: FiberId, at: u64) {
        let fiber = &mut self.fibers[id.0];
        fiber.turn += 1;
        self.queue.push(Reverse((at, id.0, fiber.turn)));
        // who runs now does not run past it
        self.next_at = self.next_at.min(at);
        self.horizon = self.horizon.min(at + LOOKAHEAD);
    }

    fn least(&mut self) -> Option<u64> {
        while let Some(&Reverse((at, id, turn))) = self.queue.peek() {
            if self.fibers[id].turn == turn {
                return Some(at);
            }
            self.queue.pop();
        }
        None
    }

    /// Takes the fiber whose turn it is. `None`: none can run.
    fn next(&mut self) -> Option<FiberId> {
        let at = self.least()?;
        let Reverse((_, id, _)) = self.queue.pop().expect("just looked at");
        let lookahead = LOOKAHEAD / 2 + self.random() % (LOOKAHEAD / 2);
        self.next_at = self.least().unwrap_or(u64::MAX);
        self.horizon = self.next_at.saturating_add(lookahead);
        let fiber = &mut self.fibers[id];
        if fiber.blocked {
            (fiber.blocked, fiber.woken) = (false, false);
        }
        fiber.turn += 1;
        self.clock = at.max(fiber.clock);
        self.core = fiber.core;
        self.last_line = 0;
        self.current = FiberId(id);
        Some(FiberId(id))
    }

    /// Writes back what belongs to the running fiber and its core.
    fn put_back(&mut self) {
        self.newest = self.newest.max(self.clock);
        self.fibers[self.current.0].clock = self.clock;
        self.cores[self.core].seen_until = self.clock;
    }

    fn finish(&mut self, id: FiberId) {
        self.put_back();
        self.cores[self.core].taken = false;
        let fiber = &mut self.fibers[id.0];
        fiber.done = true;
        for joiner in std::mem::take(&mut fiber.joiners) {
            self.wake(joiner);
        }
    }

    fn wake(&mut self, id: FiberId) {
        let at = self.time() + WAKE;
        let fiber = &mut self.fibers[id.0];
        if fiber.blocked {
            (fiber.blocked, fiber.woken) = (false, true);
            let at = at.max(fiber.clock);
            self.enqueue(id, at);
        }
    }

    pub(crate) fn settle(&mut self) -> u64 {
        self.newest = self.newest.max(self.clock);
        self.clock = self.newest;
        for number in 0..self.fibers.len() {
            if number != self.current.0 && !self.fibers[number].done {
                let fiber = &mut self.fibers[number];
                fiber.clock = fiber.clock.max(self.newest);
            }
        }
        self.newest / 1_000
    }

    pub(crate) fn take_report(&mut self) -> Report {
        self.report()
    }
}

/// Lets others run, in the order of time.
///
/// # Safety
/// `world` is the machine of this thread, and no reference into it is alive.
#[cold]
pub(crate) unsafe fn give_way(world: *mut World) {
    // SAFETY: the caller's promise; references end before the switch.
    unsafe {
        if std::thread::panicking() {
            return;
        }
        let (id, at) = ((*world).current, (*world).clock);
        (*world).enqueue(id, at);
        switch(world);
    }
}

/// Back to [`run`], until it is this fiber's turn.
///
/// # Safety
/// As for [`give_way`].
unsafe fn switch(world: *mut World) {
    // SAFETY: the caller's promise; the yielder is the running fiber's own.
    unsafe {
        (*world).put_back();
        let yielder = (*world).fiber((*world).current).yielder;
        (*yielder).suspend(());
    }
}

/// Starts a fiber.
///
/// # Safety
/// What `f` borrows lives until the fiber has ended: the caller joins it before.
///
/// # Panics
/// Outside of a machine; with more than 256 threads at a time.
pub unsafe fn spawn(f: Box<dyn FnOnce() + '_>) -> FiberId {
    let world = world().expect("a fiber is started by a fiber");
    // SAFETY: the caller's promise; the machine outlives its fibers.
    unsafe {
        let body = body(move |yielder| {
            let current = (*world).current;
            (*world).fiber(current).yielder = yielder;
            f();
        });
        let from = (*world).time() + SPAWN;
        (*world).add(body, from)
    }
}

/// The running fiber.
///
/// # Panics
/// Outside of a machine.
pub fn current() -> FiberId {
    let world = world().expect("on a machine");
    // SAFETY: the machine lives while fibers run.
    unsafe { (*world).current }
}

/// Whether a fiber has ended.
pub fn is_done(id: FiberId) -> bool {
    // SAFETY: as in `current`.
    world().is_none_or(|world| unsafe { (*world).fiber(id).done })
}

/// Waits until a fiber has ended.
pub fn join(id: FiberId) {
    let Some(world) = world() else { return };
    while !is_done(id) {
        let current = current();
        // SAFETY: as in `current`.
        unsafe { (*world).fiber(id).joiners.push(current) };
        block(None);
    }
    // SAFETY: as in `current`.
    unsafe { (*world).clock = (*world).clock.max((*world).fiber(id).clock) };
}

/// Waits until [`unblock`], or for the time `deadline` in nanoseconds. Whether it was the former.
///
/// # Panics
/// Outside of a machine.
pub fn block(deadline: Option<u64>) -> bool {
    let world = world().expect("on a machine");
    // SAFETY: as in `give_way`: references end before the switch.
    unsafe {
        let id = (*world).current;
        (*world).fiber(id).blocked = true;
        if let Some(deadline) = deadline {
            let at = (deadline * 1_000).max((*world).clock);
            (*world).enqueue(id, at);
        }
        switch(world);
        (*world).fiber(id).woken
    }
}

/// Ends the wait of a fiber, if it waits.
pub fn unblock(id: FiberId) {
    if let Some(world) = world() {
        // SAFETY: as in `current`.
        unsafe { (*world).wake(id) };
    }
}

/// Sleeps until the time `deadline` in nanoseconds, whoever unblocks.
pub fn sleep_until(deadline: u64) {
    while crate::hooks::now() < deadline {
        block(Some(deadline));
    }
}

/// Runs `f` as the first fiber of a machine, and all fibers that it starts, until all have ended. `delays`: one in so
/// many events is followed by a pause of some microseconds at random, as if the core was interrupted; 0 for none.
///
/// # Panics
/// If a fiber does; if no fiber can run and some have not ended; within another machine.
pub fn run<T>(spec: &Spec, seed: u64, delays: u32, f: impl FnOnce() -> T) -> T {
    assert!(world().is_none(), "a machine does not run on another");
    let mut machine = Box::new(World::new(spec, seed, delays));
    let world: *mut World = &mut *machine;
    let mut result: Option<Result<T, Box<dyn Any + Send>>> = None;
    let out: *mut Option<_> = &mut result;
    WORLD.set(world);
    // SAFETY: `world` is valid until the end of this function, and no reference to it is alive while a fiber runs; what
    // the first fiber borrows lives in this function, which ends after it.
    unsafe {
        let first = body(move |yielder| {
            let current = (*world).current;
            (*world).fiber(current).yielder = yielder;
            *out = Some(catch_unwind(AssertUnwindSafe(f)));
        });
        (*world).add(first, 0);
        while let Some(id) = (*world).next() {
            let mut fiber = (*world).fiber(id).body.take().expect("it does not run");
            match catch_unwind(AssertUnwindSafe(|| fiber.resume(()))) {
                Ok(CoroutineResult::Yield(())) => (*world).fiber(id).body = Some(fiber),
                Ok(CoroutineResult::Return(())) => (*world).finish(id),
                Err(panic) => {
                    (*world).finish(id);
                    *out = Some(Err(panic));
                }
            }
        }
        WORLD.set(std::ptr::null_mut());
        let stuck = (*world).running();
        if stuck > 0 {
            // what they would unwind may wait for each other: their stacks are left
            std::mem::forget(machine);
            panic!("{stuck} threads wait for each other");
        }
    }
    match result.expect("the first fiber has ended") {
        Ok(value) => value,
        Err(panic) => resume_unwind(panic),
    }
}
