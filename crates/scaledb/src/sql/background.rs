//! SQL beside the caller's thread: futures for any runtime, and rows that are pulled.
//!
//! ```text
//!  caller ── job ──► queue ──► a thread ── Sql, as everybody has it
//!     ▲                           │
//!     └── Task: a future ◄────────┤
//!     └── Rows: a bounded queue ◄─┘
//! ```

use super::error::{Error, Result};
use super::session::Transaction;
use super::value::{FromRow, Params};
use super::{Sql, Value};
use scaledb_acc::Acc;
use scaledb_engine::Engine;
use scaledb_sync::lock::{Condvar, Mutex};
use scaledb_sync::thread;
use std::any::Any;
use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Threads that run jobs at a time, unless [`Sql::background_with`] says otherwise.
const THREADS: usize = 16;
/// Rows that are found before somebody asks for them.
const AHEAD: usize = 256;
/// How long a thread without a job stays.
const IDLE: Duration = Duration::from_secs(5);
/// How often who waits looks around without having been woken.
const LOOK: Duration = Duration::from_millis(100);

type Job = Box<dyn FnOnce() + Send>;

/// The threads of a [`Background`].
struct Threads {
    state: Mutex<Jobs>,
    work: Condvar,
    limit: usize,
}

#[derive(Default)]
struct Jobs {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    /// No handle is left: threads end behind the last job.
    closed: bool,
}

impl Threads {
    /// Hands a job to a thread.
    ///
    /// # Errors
    /// The system has no thread, and there is none.
    fn start(self: &Arc<Self>, job: Job) -> Result<()> {
        let mut state = self.state.lock();
        state.jobs.push_back(job);
        if state.idle >= state.jobs.len() || state.threads >= self.limit {
            self.work.notify_one();
            return Ok(());
        }
        state.threads += 1;
        let threads = self.clone();
        if let Err(error) = thread::try_spawn("scaledb-sql", move || threads.work()) {
            state.threads -= 1;
            if state.threads == 0 {
                state.jobs.pop_back();
                return Err(Error::no_thread(&error));
            }
        }
        Ok(())
    }

    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                // a job hands its own panic to who waits for it
                job();
                state = self.state.lock();
                continue;
            }
            if state.closed {
                break;
            }
            state.idle += 1;
            state = self.work.wait_timeout(state, IDLE);
            state.idle -= 1;
            if state.jobs.is_empty() && (state.closed || state.threads > 1) {
                break;
            }
        }
        state.threads -= 1;
    }
}

/// Closes the queue with the last handle.
struct Closes(Arc<Threads>);

impl Drop for Closes {
    fn drop(&mut self) {
        self.0.state.lock().closed = true;
        self.0.work.notify_all();
    }
}

/// SQL that does not make its caller wait: what it starts runs in threads of its own, and is awaited, in any runtime,
/// or waited for. A handle: clones share the threads.
///
/// ```
/// # fn block_on<F: std::future::Future>(future: F) -> F::Output {
/// #     struct Unpark(std::thread::Thread);
/// #     impl std::task::Wake for Unpark { fn wake(self: std::sync::Arc<Self>) { self.0.unpark() } }
/// #     let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
/// #     let mut future = std::pin::pin!(future);
/// #     loop {
/// #         match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
/// #             std::task::Poll::Ready(output) => return output,
/// #             std::task::Poll::Pending => std::thread::park(),
/// #         }
/// #     }
/// # }
/// use scaledb::Database;
/// use scaledb::sql::Result;
///
/// async fn served() -> Result<i64> {
///     let sql = Database::in_memory().sql()?.background();
///     sql.execute("create table t (id bigint primary key)", ()).await?;
///     sql.run(|txn| {
///         txn.execute("insert into t values (1)", ())?;
///         txn.execute("insert into t values (2)", ())
///     })
///     .await?;
///     let mut sum = 0;
///     let mut rows = sql.rows::<i64>("select id from t", ());
///     while let Some(id) = rows.next_row().await {
///         sum += id?;
///     }
///     Ok(sum)
/// }
/// assert_eq!(block_on(served())?, 3);
/// # Ok::<(), scaledb::sql::Error>(())
/// ```
pub struct Background<E: Engine = Acc> {
    sql: Sql<E>,
    threads: Arc<Closes>,
}

impl<E: Engine> Clone for Background<E> {
    fn clone(&self) -> Self {
        Self { sql: self.sql.clone(), threads: self.threads.clone() }
    }
}

impl<E: Engine> Sql<E> {
    /// The same in threads beside the caller's, up to 16 at a time.
    pub fn background(&self) -> Background<E> {
        self.background_with(THREADS)
    }

    /// [`Sql::background`] with up to so many threads, at least one. What is started beyond waits for its turn; a job
    /// that waits for one that was started later can deadlock with it.
    pub fn background_with(&self, threads: usize) -> Background<E> {
        let (state, work) = (Mutex::default(), Condvar::new());
        let threads = Threads { state, work, limit: threads.max(1) };
        Background { sql: self.clone(), threads: Arc::new(Closes(Arc::new(threads))) }
    }
}

impl<E: Engine> Background<E> {
    /// Runs `f` in a thread of its own: sessions, whatever takes long.
    pub fn start<R: Send + 'static>(
        &self,
        f: impl FnOnce(&Sql<E>) -> Result<R> + Send + 'static,
    ) -> Task<Result<R>> {
        let slot =
            Arc::new(Slot { state: Mutex::new(Done { value: None, waker: None }), done: Condvar::new() });
        let (there, sql) = (slot.clone(), self.sql.clone());
        let job = move || there.fill(catch_unwind(AssertUnwindSafe(|| f(&sql))));
        if let Err(error) = self.threads.0.start(Box::new(job)) {
            slot.fill(Ok(Err(error)));
        }
        Task { slot }
    }

    /// As [`Sql::execute`].
    pub fn execute(&self, sql: impl AsRef<str>, params: impl Params) -> Task<Result<u64>> {
        let (text, params) = (sql.as_ref().to_owned(), params.to_values());
        self.start(move |sql| sql.execute(text, params))
    }

    /// As [`Sql::query`].
    pub fn query<R: FromRow + Send + 'static>(
        &self,
        sql: impl AsRef<str>,
        params: impl Params,
    ) -> Task<Result<Vec<R>>> {
        let (text, params) = (sql.as_ref().to_owned(), params.to_values());
        self.start(move |sql| sql.query(text, params))
    }

    /// As [`Sql::query_one`].
    pub fn query_one<R: FromRow + Send + 'static>(
        &self,
        sql: impl AsRef<str>,
        params: impl Params,
    ) -> Task<Result<R>> {
        let (text, params) = (sql.as_ref().to_owned(), params.to_values());
        self.start(move |sql| sql.query_one(text, params))
    }

    /// As [`Sql::query_opt`].
    pub fn query_opt<R: FromRow + Send + 'static>(
        &self,
        sql: impl AsRef<str>,
        params: impl Params,
    ) -> Task<Result<Option<R>>> {
        let (text, params) = (sql.as_ref().to_owned(), params.to_values());
        self.start(move |sql| sql.query_opt(text, params))
    }

    /// As [`Sql::run`]. The closure runs in the other thread, and does not await anything: a transaction is as short as
    /// it can be.
    pub fn run<R: Send + 'static>(
        &self,
        f: impl FnMut(&mut Transaction<'_, E>) -> Result<R> + Send + 'static,
    ) -> Task<Result<R>> {
        self.start(move |sql| sql.run(f))
    }

    /// The rows of a statement, to be pulled: by [`Rows::next_row`] or as an iterator. Some hundreds are found ahead,
    /// and the rest as they are asked for, so that one thread is taken until the end, or until [`Rows`] is dropped. As
    /// with [`Sql::query_each`], none of them counts if an error comes last.
    pub fn rows<R: FromRow + Send + 'static>(&self, sql: impl AsRef<str>, params: impl Params) -> Rows<R> {
        let (text, params): (String, Vec<Value>) = (sql.as_ref().to_owned(), params.to_values());
        let queue = Arc::new(Queue { state: Mutex::new(Waiting::default()), changed: Condvar::new() });
        let (there, sql) = (queue.clone(), self.sql.clone());
        let job = move || {
            let end =
                catch_unwind(AssertUnwindSafe(|| sql.query_each(text, params, |row: R| there.push(row))));
            there.end(match end {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(Ok(error)),
                Err(panic) => Some(Err(panic)),
            });
        };
        if let Err(error) = self.threads.0.start(Box::new(job)) {
            queue.end(Some(Ok(error)));
        }
        Rows { queue, _row: PhantomData }
    }
}

/// What a job has come to.
struct Slot<T> {
    state: Mutex<Done<T>>,
    done: Condvar,
}

struct Done<T> {
    value: Option<Result<T, Box<dyn Any + Send>>>,
    waker: Option<Waker>,
}

impl<T> Slot<T> {
    fn fill(&self, value: Result<T, Box<dyn Any + Send>>) {
        let mut state = self.state.lock();
        state.value = Some(value);
        let waker = state.waker.take();
        drop(state);
        self.done.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Something that was started: a future. Dropped, it goes on unseen. A panic of its closure is one of whoever awaits
/// it.
#[must_use = "await it or wait for it to hear of errors"]
pub struct Task<T> {
    slot: Arc<Slot<T>>,
}

impl<T> Task<T> {
    /// Waits for it in this thread.
    pub fn wait(self) -> T {
        let mut state = self.slot.state.lock();
        loop {
            if let Some(value) = state.value.take() {
                drop(state);
                return value.unwrap_or_else(|panic| resume_unwind(panic));
            }
            state = self.slot.done.wait_timeout(state, LOOK);
        }
    }
}

impl<T> Future for Task<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let mut state = self.slot.state.lock();
        match state.value.take() {
            Some(Ok(value)) => Poll::Ready(value),
            Some(Err(panic)) => {
                drop(state);
                resume_unwind(panic)
            }
            None => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Rows between the thread that finds them and who pulls them.
struct Queue<R> {
    state: Mutex<Waiting<R>>,
    changed: Condvar,
}

struct Waiting<R> {
    rows: VecDeque<R>,
    /// What comes behind the rows; `Some(None)` if they were all.
    end: Option<Option<Result<Error, Box<dyn Any + Send>>>>,
    waker: Option<Waker>,
    /// Nobody pulls any more.
    left: bool,
}

impl<R> Default for Waiting<R> {
    fn default() -> Self {
        Self { rows: VecDeque::new(), end: None, waker: None, left: false }
    }
}

impl<R> Queue<R> {
    fn push(&self, row: R) -> ControlFlow<()> {
        let mut state = self.state.lock();
        while state.rows.len() >= AHEAD && !state.left {
            state = self.changed.wait_timeout(state, LOOK);
        }
        if state.left {
            return ControlFlow::Break(());
        }
        state.rows.push_back(row);
        let waker = state.waker.take();
        drop(state);
        self.wake(waker);
        ControlFlow::Continue(())
    }

    fn end(&self, end: Option<Result<Error, Box<dyn Any + Send>>>) {
        let mut state = self.state.lock();
        state.end = Some(end);
        let waker = state.waker.take();
        drop(state);
        self.wake(waker);
    }

    /// Wakes who pulls, without the lock: a runtime may poll at once.
    fn wake(&self, waker: Option<Waker>) {
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// What a look into the queue has found.
enum Next<R> {
    Row(R),
    End,
    Error(Error),
    Nothing,
}

impl<R> Waiting<R> {
    fn next(&mut self) -> Next<R> {
        if let Some(row) = self.rows.pop_front() {
            return Next::Row(row);
        }
        match &mut self.end {
            None => Next::Nothing,
            Some(end) => match end.take() {
                None => Next::End,
                Some(Ok(error)) => Next::Error(error),
                Some(Err(panic)) => resume_unwind(panic),
            },
        }
    }
}

/// The rows of a statement that runs in another thread: an iterator, and [`next_row`](Self::next_row) for futures.
/// Dropped, it ends the query with the next row that this finds.
#[must_use = "rows are found as they are pulled"]
pub struct Rows<R> {
    queue: Arc<Queue<R>>,
    _row: PhantomData<fn() -> R>,
}

impl<R> Rows<R> {
    /// The next row, `None` behind the last one. An error is the last.
    pub fn next_row(&mut self) -> impl Future<Output = Option<Result<R>>> + Send + '_
    where
        R: Send,
    {
        std::future::poll_fn(|cx| self.poll_row(cx))
    }

    /// [`Rows::next_row`] for a stream of one's own.
    pub fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<R>>> {
        let mut state = self.queue.state.lock();
        let next = state.next();
        if matches!(next, Next::Nothing) {
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        drop(state);
        self.queue.changed.notify_all();
        Poll::Ready(match next {
            Next::Row(row) => Some(Ok(row)),
            Next::Error(error) => Some(Err(error)),
            Next::End | Next::Nothing => None,
        })
    }
}

impl<R> Iterator for Rows<R> {
    type Item = Result<R>;

    fn next(&mut self) -> Option<Result<R>> {
        let mut state = self.queue.state.lock();
        loop {
            let next = state.next();
            if matches!(next, Next::Nothing) {
                state = self.queue.changed.wait_timeout(state, LOOK);
                continue;
            }
            drop(state);
            self.queue.changed.notify_all();
            return match next {
                Next::Row(row) => Some(Ok(row)),
                Next::Error(error) => Some(Err(error)),
                Next::End | Next::Nothing => None,
            };
        }
    }
}

impl<R> Drop for Rows<R> {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        state.left = true;
        let rows = std::mem::take(&mut state.rows);
        drop(state);
        self.queue.changed.notify_all();
        drop(rows);
    }
}
