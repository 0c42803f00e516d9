//! What a connection asks the server before it is a session.

use crate::config::Config;
use crate::control::{Canceller, Control};
use crate::guard::{Guarded, Limited};
use crate::live::{Admission, Live};
use crate::numbers::Family;
use crate::registry::Registry;
use crate::rules;
use scaledb_base::timeouts::Timeouts;
use scaledb_pgwire::{Host, Method, Opened, Report, Result, SqlState, Startup, Tls, Verifier, random};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicUsize, Ordering};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};

/// Bytes of a cancel key of protocol 3.0, and of 3.2.
const SHORT_KEY: usize = 4;
const LONG_KEY: usize = 32;

/// What opens sessions: a database.
pub trait Sessions: Send + Sync + 'static {
    /// Its sessions.
    type Session: Limited;

    /// Opens a session.
    ///
    /// # Errors
    ///
    /// There is no such database, or a setting is wrong.
    fn open(&self, startup: &Startup, timeouts: Timeouts) -> Result<NewSession<Self::Session>>;

    /// The verifier of the password of a user that the configuration does not know, if the database knows one.
    fn verifier(&self, user: &str) -> Option<Verifier> {
        let _ = user;
        None
    }

    /// Numbers about the database, for the metrics: a name, what it means, which kind it is, and the value.
    fn numbers(&self, each: &mut dyn FnMut(&str, &str, Measure, u64)) {
        let _ = each;
    }

    /// More of them: those that have labels.
    fn families(&self) -> Vec<Family> {
        Vec::new()
    }

    /// The session whose transaction has kept memory from being used again for the longest time, if more than so many
    /// percent of the memory of rows and indexes are in use, and it matters.
    fn holder(&self, percent: u8) -> Option<i32> {
        let _ = percent;
        None
    }

    /// A configuration was read again: what it says of sessions is in force from here on.
    fn reload(&self, config: &Config) {
        let _ = config;
    }

    /// Why the database writes nothing any more, if its disk has failed.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// What a number of the metrics is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A counter, which only grows.
    Counter,
    /// A gauge, which goes up and down.
    Gauge,
}

/// A session that was opened.
pub struct NewSession<S> {
    /// The session itself.
    pub session: S,
    /// Its number: what `pg_backend_pid()` says.
    pub pid: i32,
    /// The database that it is in.
    pub database: String,
    /// Settings that the client is told.
    pub parameters: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    /// Stops what it runs.
    pub canceller: Canceller,
}

/// One of a bounded number of places.
pub(crate) struct ConnectionSlot(Arc<Registry>);

impl ConnectionSlot {
    /// A place among the clients that have not authenticated, if there is one.
    pub(crate) fn take(registry: &Arc<Registry>, limit: usize) -> Option<Self> {
        let taken: &AtomicUsize = &registry.unauthenticated;
        let place = taken.try_update(Ordering::SeqCst, Ordering::SeqCst, |n| (n < limit).then_some(n + 1));
        place.ok().map(|_| Self(registry.clone()))
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.unauthenticated.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What all connections share.
pub(crate) struct ServerState<S> {
    pub(crate) live: Arc<Live>,
    pub(crate) registry: Arc<Registry>,
    /// Makes verifiers for names that no user has.
    pub(crate) secret: [u8; 32],
    pub(crate) sessions: S,
}

/// The door of one connection.
pub(crate) struct Door<'a, S> {
    pub(crate) shared: &'a ServerState<S>,
    /// What was in force when the client came.
    pub(crate) admission: Arc<Admission>,
    pub(crate) control: &'a Arc<Control>,
    pub(crate) place: RefCell<Option<ConnectionSlot>>,
    /// The session that it became.
    pub(crate) pid: Cell<Option<i32>>,
}

impl<S: Sessions> Host for Door<'_, S> {
    type Backend = Guarded<S::Session>;

    fn tls(&self) -> Option<&Tls> {
        self.admission.tls.as_ref()
    }

    fn method(&self, startup: &Startup) -> Result<Method> {
        rules::decide(&self.admission.rules, startup, self.control.peer)
    }

    fn verifier(&self, user: &str) -> Verifier {
        // those of the configuration come first: whoever may write it may do everything
        let known = self.admission.users.get(user).cloned().or_else(|| self.shared.sessions.verifier(user));
        known.unwrap_or_else(|| Verifier::nobody(&self.shared.secret, user))
    }

    fn open(&self, startup: &Startup) -> Result<Opened<Self::Backend>> {
        let config = &self.admission;
        let key =
            if startup.minor >= 2 { random::<LONG_KEY>()?.to_vec() } else { random::<SHORT_KEY>()?.to_vec() };
        let timeouts = Timeouts {
            statement: config.statement_timeout,
            idle_in_transaction: config.idle_in_transaction_timeout,
        };
        let opened = self.shared.sessions.open(startup, timeouts).map_err(Report::into_fatal)?;
        let (registry, control) = (&self.shared.registry, self.control);
        if !registry.name(opened.pid, key.clone(), control.clone(), config.max_connections) {
            return Err(Report::fatal(SqlState::TOO_MANY_CONNECTIONS, "sorry, too many clients already"));
        }
        self.pid.set(Some(opened.pid));
        self.place.take();
        control.open(opened.canceller, timeouts);
        if config.log_connections {
            let application = startup.parameters.iter().find(|(name, _)| name == "application_name");
            tracing::info!(
                peer = %control.peer,
                pid = opened.pid,
                user = startup.user.as_str(),
                database = opened.database.as_str(),
                application = application.map(|(_, value)| value.as_str()),
                encrypted = startup.encrypted,
                "connected"
            );
        } else {
            tracing::debug!(peer = %control.peer, user = startup.user.as_str(), pid = opened.pid, "connected");
        }
        Ok(Opened {
            backend: Guarded::new(opened.session, control.clone(), config.log_slow_statements),
            parameters: opened.parameters,
            pid: opened.pid,
            key,
        })
    }

    fn cancel(&self, pid: i32, key: &[u8]) {
        self.shared.registry.cancel(pid, key);
    }
}
