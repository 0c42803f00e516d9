//! What the protocol needs from those above it: a server that knows users, and a session that runs SQL.

use crate::auth::Method;
use crate::channel::Tls;
use crate::decode::{Bind, Oids};
use crate::outbox::{Format, Status};
use crate::reply::Reply;
use crate::report::{Report, Result};
use crate::scram::Verifier;
use crate::startup::Startup;
use std::borrow::Cow;

/// The server, as a connection sees it before and while it opens a session.
pub trait Host {
    /// Its sessions.
    type Backend: Backend;

    /// The means of encryption, if there are any.
    fn tls(&self) -> Option<&Tls>;

    /// What this client must prove.
    ///
    /// # Errors
    ///
    /// The client must not connect at all.
    fn method(&self, startup: &Startup) -> Result<Method>;

    /// What proves a user's password. For a name that no user has: [`Verifier::nobody`].
    fn verifier(&self, user: &str) -> Verifier;

    /// Opens a session for a client that has authenticated.
    ///
    /// # Errors
    ///
    /// There is no room, no such database, or a setting is wrong.
    fn open(&self, startup: &Startup) -> Result<Opened<Self::Backend>>;

    /// A request to cancel what a session runs. A wrong key is ignored.
    fn cancel(&self, pid: i32, key: &[u8]);
}

/// A session that begins.
#[derive(Debug)]
pub struct Opened<B> {
    /// The session.
    pub backend: B,
    /// Settings that the client is told.
    pub parameters: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    /// The session's number, for cancel requests.
    pub pid: i32,
    /// What a cancel request must know: 4 bytes, or up to 256 for clients of protocol 3.2.
    pub key: Vec<u8>,
}

/// How far a statement came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To its end, which the reply has been told.
    Done,
    /// As many rows as were asked for are sent; there may be more. For portals only.
    Suspended,
    /// It waits for data of the client, which come by [`Backend::copy_data`].
    CopyIn {
        /// Their format.
        format: Format,
        /// Columns per row.
        columns: u16,
    },
}

/// A session that runs SQL. Its thread is the connection's; it is dropped when the connection ends, and
/// a transaction that is open then is rolled back.
///
/// ```text
///  simple     query ─► sync
///  extended   parse ─► bind ─► execute ─► … ─► sync
///  COPY FROM  query | execute ─► CopyIn ─► copy_data* ─► copy_done | copy_fail
/// ```
///
/// After an error the session knows itself that its transaction failed; [`fail`](Self::fail) tells it of
/// errors that it did not make.
pub trait Backend {
    /// Whether a transaction is open.
    fn status(&self) -> Status;

    /// Runs the statements of a simple query. Columns and rows, as text, go to `reply`, and after each
    /// statement [`complete`](Reply::complete) or [`empty`](Reply::empty).
    ///
    /// # Errors
    ///
    /// A statement failed: the rest is not run.
    fn query(&mut self, sql: &str, reply: &mut Reply<'_>) -> Result<Step>;

    /// Prepares a statement whose parameters have these types; the empty name is taken by the latest.
    ///
    /// # Errors
    ///
    /// It is no SQL, names what does not exist, or its own name is taken.
    fn parse(&mut self, name: &str, sql: &str, types: Oids<'_>) -> Result<()>;

    /// Tells a statement's parameters, and its columns or that it has none.
    ///
    /// # Errors
    ///
    /// There is no such statement, or it does not fit its tables any more.
    fn describe_statement(&mut self, name: &str, reply: &mut Reply<'_>) -> Result<()>;

    /// Makes a portal: a statement with values for its parameters.
    ///
    /// # Errors
    ///
    /// There is no such statement, the portal's name is taken, or a value is not one of its type.
    fn bind(&mut self, bind: &Bind<'_>) -> Result<()>;

    /// Whether [`look_ahead`](Self::look_ahead) has any use now.
    fn looks_ahead(&self) -> bool {
        false
    }

    /// Portals that will be made, if nothing comes between: a hint, to fetch memory. None needs to be looked at; those
    /// that are not taken from the iterator are shown again.
    fn look_ahead<'a>(&mut self, binds: impl Iterator<Item = Bind<'a>>) {
        let _ = binds;
    }

    /// Tells a portal's columns, or that it has none.
    ///
    /// # Errors
    ///
    /// There is no such portal.
    fn describe_portal(&mut self, name: &str, reply: &mut Reply<'_>) -> Result<()>;

    /// Runs a portal until `rows` rows are sent, or goes on with it; at its end, `reply` is told. `last` says
    /// that the batch ends behind it: what would be committed then may be committed at once.
    ///
    /// # Errors
    ///
    /// There is no such portal, or the statement failed.
    fn execute(&mut self, portal: &str, rows: u64, last: bool, reply: &mut Reply<'_>) -> Result<Step>;

    /// Forgets a statement; one that is not there is forgotten already.
    fn close_statement(&mut self, name: &str);

    /// Forgets a portal; one that is not there is forgotten already.
    fn close_portal(&mut self, name: &str);

    /// Data for the `COPY FROM STDIN` that runs, cut anywhere.
    ///
    /// # Errors
    ///
    /// They are not of the table's types, or violate its constraints.
    fn copy_data(&mut self, data: &[u8]) -> Result<()>;

    /// The data of the `COPY FROM STDIN` are complete: tells `reply` so, and runs what stands behind it in a
    /// simple query.
    ///
    /// # Errors
    ///
    /// As with [`copy_data`](Self::copy_data).
    fn copy_done(&mut self, reply: &mut Reply<'_>) -> Result<Step>;

    /// The `COPY FROM STDIN` ends without its data: the session's transaction fails.
    fn copy_fail(&mut self);

    /// A batch ends: commits what was begun without `BEGIN`, or rolls it back if it failed.
    ///
    /// # Errors
    ///
    /// It cannot be committed: the last statement is reported as failed.
    fn sync(&mut self, reply: &mut Reply<'_>) -> Result<()>;

    /// A request failed before it came here: the transaction fails.
    fn fail(&mut self);

    /// A message on its way here takes so many bytes by now, more than a connection keeps anyway; zero when it has been
    /// dealt with.
    ///
    /// # Errors
    ///
    /// There is no room for it: the connection ends.
    fn hold_message(&mut self, bytes: usize) -> Result<()> {
        let _ = bytes;
        Ok(())
    }

    /// A batch has ended, or the transport was woken up while nothing came: what the session has to say by itself goes
    /// to `reply`, if no other batch has begun.
    fn woken(&mut self, reply: &mut Reply<'_>) {
        let _ = reply;
    }

    /// Why the connection must end now, if it must. Asked before each message and when the input ends.
    fn interrupted(&mut self) -> Option<Box<Report>> {
        None
    }
}
