//! Sessions in threads, run step by step: who waits for a lock is seen in `pg_locks`.

use super::{Rows, run, session, text};
use scaledb_engine::Engine;
use scaledb_sql::{Database, Session};
use scaledb_sync::lock::{Condvar, Mutex};
use scaledb_sync::thread::{self, JoinHandle};
use scaledb_types::Result;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What one thread sends to another.
struct Post<T>(Arc<(Mutex<Queue<T>>, Condvar)>);

/// Items that have not been taken, and whether no more will come.
type Queue<T> = (VecDeque<T>, bool);

impl<T> Clone for Post<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Post<T> {
    fn new() -> Self {
        Self(Arc::new((Mutex::new((VecDeque::new(), false)), Condvar::new())))
    }

    fn send(&self, item: T) {
        self.0.0.lock().0.push_back(item);
        self.0.1.notify_all();
    }

    fn close(&self) {
        self.0.0.lock().1 = true;
        self.0.1.notify_all();
    }

    /// The next item; `None` when it is closed, or none comes in time.
    fn next(&self, longest: Duration) -> Option<T> {
        let end = Instant::now() + longest;
        let mut state = self.0.0.lock();
        loop {
            if let Some(item) = state.0.pop_front() {
                return Some(item);
            }
            let left = end.saturating_duration_since(Instant::now());
            if state.1 || left.is_zero() {
                return None;
            }
            state = self.0.1.wait_timeout(state, left);
        }
    }
}

/// A session in a thread of its own.
pub(crate) struct Client<E: Engine> {
    db: Database<E>,
    pid: u32,
    orders: Post<String>,
    answers: Post<Result<Rows>>,
    thread: Option<JoinHandle<()>>,
    cancel: scaledb_sql::Cancel,
}

/// Longer than any step takes: a test that waits so long has failed.
const LONG: Duration = Duration::from_secs(60);

impl<E: Engine> Client<E> {
    pub(crate) fn new(db: &Database<E>) -> Self {
        let mut own: Session<E> = session(db);
        let (pid, cancel) = (own.id(), own.cancel_handle());
        let (orders, answers) = (Post::<String>::new(), Post::new());
        let (todo, done) = (orders.clone(), answers.clone());
        let thread = thread::spawn(move || {
            while let Some(sql) = todo.next(LONG) {
                done.send(run(&mut own, &sql));
            }
        });
        Self { db: db.clone(), pid, orders, answers, thread: Some(thread), cancel }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    fn send(&self, sql: &str) {
        self.orders.send(sql.to_owned());
    }

    /// The answer of what was sent.
    pub(crate) fn answer(&self) -> Result<Rows> {
        self.answers.next(LONG).expect("an answer")
    }

    /// Runs a statement to its end.
    pub(crate) fn run(&self, sql: &str) -> Result<Rows> {
        self.send(sql);
        self.answer()
    }

    /// Runs what must succeed; its rows: columns by `|`, rows by spaces.
    pub(crate) fn ok(&self, sql: &str) -> String {
        self.send(sql);
        self.done(sql)
    }

    /// What a statement that was sent has answered.
    pub(crate) fn done(&self, what: &str) -> String {
        let rows = self.answer().unwrap_or_else(|error| panic!("{what}: {error:?}")).rows;
        let row = |row: &Vec<Option<String>>| {
            row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join("|")
        };
        rows.iter().map(row).collect::<Vec<_>>().join(" ")
    }

    /// Runs what must fail; the SQLSTATE.
    pub(crate) fn code(&self, sql: &str) -> String {
        self.send(sql);
        self.failed(sql)
    }

    /// The SQLSTATE of a statement that was sent.
    pub(crate) fn failed(&self, what: &str) -> String {
        match self.answer() {
            Ok(rows) => panic!("{what}: succeeded with {:?}", rows.rows),
            Err(error) => error.code().as_str().to_owned(),
        }
    }

    /// Sends a statement that must wait for a lock; returns when it does.
    pub(crate) fn waits(&self, sql: &str) {
        self.send(sql);
        let mut watcher = session(&self.db);
        let query = format!("select count(*) from pg_locks where pid = {} and not granted", self.pid);
        loop {
            if text(&mut watcher, &query) == "1" {
                return;
            }
            if let Some(answer) = self.answers.next(Duration::from_millis(1)) {
                panic!("{sql}: did not wait: {answer:?}");
            }
        }
    }

    /// Ends the session, as a connection that breaks does.
    pub(crate) fn end(mut self) {
        self.orders.close();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic");
        }
    }
}

impl<E: Engine> Drop for Client<E> {
    fn drop(&mut self) {
        // not joined: in a test that has failed it may wait for ever
        self.orders.close();
    }
}
