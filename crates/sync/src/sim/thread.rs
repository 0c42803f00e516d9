//! Threads: fibers on a machine, the system's outside of one.

use scaledb_machine as machine;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// What a thread came to.
type Packet<T> = Arc<Mutex<Option<std::thread::Result<T>>>>;

enum Who {
    Thread(std::thread::JoinHandle<()>),
    Fiber(machine::FiberId),
}

struct Handle<T> {
    who: Who,
    packet: Packet<T>,
}

impl<T> Handle<T> {
    /// # Safety
    /// What `run` borrows lives until it has ended.
    unsafe fn spawn<'a>(name: &str, run: impl FnOnce() -> T + Send + 'a) -> std::io::Result<Self>
    where
        T: Send + 'a,
    {
        let packet = Packet::default();
        let theirs = packet.clone();
        let main = move || {
            let result = catch_unwind(AssertUnwindSafe(run));
            *theirs.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        };
        let who = if machine::is_running() {
            // SAFETY: the caller's promise.
            Who::Fiber(unsafe { machine::spawn(Box::new(main)) })
        } else {
            // SAFETY: as above.
            Who::Thread(unsafe { std::thread::Builder::new().name(name.to_owned()).spawn_unchecked(main) }?)
        };
        Ok(Self { who, packet })
    }

    fn is_finished(&self) -> bool {
        match &self.who {
            Who::Thread(thread) => thread.is_finished(),
            Who::Fiber(id) => machine::is_done(*id),
        }
    }

    fn join(self) -> std::thread::Result<T> {
        match self.who {
            Who::Thread(thread) => thread.join()?,
            Who::Fiber(id) => machine::join(id),
        }
        let result = self.packet.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.expect("a thread that has ended leaves a result")
    }
}

/// The right to wait for a thread.
pub struct JoinHandle<T>(Handle<T>);

impl<T> JoinHandle<T> {
    /// Waits until it has ended.
    ///
    /// # Errors
    /// What it panicked with.
    pub fn join(self) -> std::thread::Result<T> {
        self.0.join()
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

/// Starts a thread.
///
/// # Panics
/// If the system has none.
pub fn spawn<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    try_spawn("", run).expect("the system has a thread")
}

/// Starts a thread with a name, if the system has one to give.
///
/// # Errors
/// The system's: too many threads, or too little memory.
pub fn try_spawn<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    // SAFETY: it borrows nothing.
    unsafe { Handle::spawn(name, run) }.map(JoinHandle)
}

/// Threads that end before what they borrow; see [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    /// Threads of the system that run, and a signal when none does.
    running: Arc<(Mutex<usize>, Condvar)>,
    fibers: Mutex<Vec<machine::FiberId>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// The right to wait for a thread of a scope.
pub struct ScopedJoinHandle<'scope, T>(Handle<T>, PhantomData<&'scope ()>);

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits until it has ended.
    ///
    /// # Errors
    /// What it panicked with.
    pub fn join(self) -> std::thread::Result<T> {
        self.0.join()
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a thread that ends before the scope.
    ///
    /// # Panics
    /// If the system has none.
    pub fn spawn<T: Send + 'scope>(
        &'scope self,
        run: impl FnOnce() -> T + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, T> {
        let running = self.running.clone();
        *running.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let main = move || {
            let result = catch_unwind(AssertUnwindSafe(run));
            let (count, none) = &*running;
            *count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
            none.notify_all();
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        // SAFETY: `scope` waits for all of them, however it ends.
        let handle = unsafe { Handle::spawn("", main) }.expect("the system has a thread");
        if let Who::Fiber(id) = handle.who {
            self.fibers.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        }
        ScopedJoinHandle(handle, PhantomData)
    }
}

/// Runs `f`, and waits for all threads that it has started.
///
/// # Panics
/// If `f` does. (A thread that panicked and was not joined is passed over, unlike in the standard library.)
pub fn scope<'env, T>(f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
    let scope =
        Scope { running: Arc::default(), fibers: Mutex::default(), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    let fibers = std::mem::take(&mut *scope.fibers.lock().unwrap_or_else(PoisonError::into_inner));
    fibers.into_iter().for_each(machine::join);
    let (count, none) = &*scope.running;
    let mut running = count.lock().unwrap_or_else(PoisonError::into_inner);
    while *running > 0 {
        running = none.wait(running).unwrap_or_else(PoisonError::into_inner);
    }
    drop(running);
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Gives the core away for a moment.
pub fn yield_now() {
    if machine::is_running() { machine::yield_now() } else { std::thread::yield_now() }
}

pub(crate) fn sleep(duration: Duration) {
    if machine::is_running() {
        machine::sleep_until(machine::now() + duration.as_nanos().min(1 << 60) as u64);
    } else {
        std::thread::sleep(duration);
    }
}
