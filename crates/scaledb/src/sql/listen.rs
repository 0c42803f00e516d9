//! What transactions say by NOTIFY, for those who LISTEN.

use super::Sql;
use super::core::Core;
use super::error::Result;
use scaledb_acc::Acc;
use scaledb_engine::Engine;
use scaledb_sql::{Bell, Notification};
use scaledb_sync::lock::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Hears what transactions tell channels by `NOTIFY` or `pg_notify`: those of this process, and those of clients of a
/// server on the same database.
///
/// It hears all that commits after it has begun to [`listen`](Self::listen), in the order of the commits, and nothing
/// of what does not commit, or is not on disk yet. So a program that first listens and then reads a table misses
/// nothing.
///
/// ```
/// use scaledb::Database;
/// use std::time::Duration;
/// let sql = Database::in_memory().sql()?;
/// let mut orders = sql.listen(["orders"])?;
/// sql.execute("select pg_notify('orders', $1)", "17")?;
/// let heard = orders.wait(Duration::from_secs(10)).expect("it has committed");
/// assert_eq!((&*heard.channel, &*heard.payload), ("orders", "17"));
/// assert!(orders.wait(Duration::ZERO).is_none());
/// # Ok::<(), scaledb::sql::Error>(())
/// ```
///
/// Notifications wait in memory until they are taken: 64 MiB of all listeners together, behind which `NOTIFY` is
/// refused (SQLSTATE 54000). So drop a listener that is not asked any more.
pub struct Listener<E: Engine = Acc> {
    core: Core<E>,
    heard: VecDeque<Notification>,
    rung: Arc<Rung>,
    _sql: Sql<E>,
}

/// Whether there is something to hear.
struct Rung {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell for Rung {
    fn arm(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn ring(&self) {
        *self.rung.lock() = true;
        self.changed.notify_all();
    }
}

fn quoted(channel: &str) -> String {
    format!("\"{}\"", channel.replace('"', "\"\""))
}

impl<E: Engine> Listener<E> {
    pub(super) fn new(mut core: Core<E>, sql: Sql<E>) -> Self {
        let rung = Arc::new(Rung { rung: Mutex::new(false), changed: Condvar::new() });
        core.set_bell(rung.clone());
        Self { core, heard: VecDeque::new(), rung, _sql: sql }
    }

    /// Listens to one channel more.
    ///
    /// # Errors
    /// What the system lacks for it.
    pub fn listen(&mut self, channel: impl AsRef<str>) -> Result<()> {
        self.core.execute(&format!("listen {}", quoted(channel.as_ref())), &[]).map(|_| ())
    }

    /// Does not listen to a channel any more. What has come before is heard.
    ///
    /// # Errors
    /// None so far.
    pub fn unlisten(&mut self, channel: impl AsRef<str>) -> Result<()> {
        self.core.execute(&format!("unlisten {}", quoted(channel.as_ref())), &[]).map(|_| ())
    }

    /// The next notification; waits for so long at most if there is none.
    pub fn wait(&mut self, timeout: Duration) -> Option<Notification> {
        let until = Instant::now().checked_add(timeout);
        loop {
            if self.heard.is_empty() {
                // before the mailbox is looked into: what comes behind that rings again
                *self.rung.rung.lock() = false;
                self.heard.extend(self.core.take_notifications());
            }
            if let Some(next) = self.heard.pop_front() {
                return Some(next);
            }
            let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return None;
            }
            let rung = self.rung.rung.lock();
            if !*rung {
                drop(self.rung.changed.wait_timeout(rung, left));
            }
        }
    }
}
