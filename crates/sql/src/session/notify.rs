//! LISTEN, UNLISTEN and NOTIFY, and what a session hears.

use super::Session;
use super::state::SessionState;
use crate::api::{Status, Tag};
use scaledb_engine::{Engine, Worker};
use scaledb_notify::{Bell, Change, Notification, Pending, Refused, encode};
use scaledb_parse::utility::Utility;
use scaledb_sync::atomic::Ordering;
use scaledb_types::{Result, SqlError, SqlState};
use std::sync::Arc;

/// 22023, 54000.
#[cold]
fn refused(why: Refused) -> SqlError {
    match why {
        Refused::Full => crate::error::too_many_notifications(),
        Refused::ManyChannels => SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, why.to_string()),
        Refused::EmptyChannel | Refused::LongChannel | Refused::LongPayload => {
            SqlError::new(SqlState::INVALID_PARAMETER_VALUE, why.to_string())
        }
    }
}

/// What keeps a transaction from saying what it has to say, or from listening: 54000, 53000.
#[cold]
pub(super) fn unprepared(error: std::io::Error) -> SqlError {
    match error.downcast::<Refused>() {
        Ok(why) => refused(why),
        Err(error) => {
            let what = format!("the system has no event for a session that listens: {error}");
            SqlError::new(SqlState::INSUFFICIENT_RESOURCES, what)
        }
    }
}

impl<E: Engine> SessionState<E> {
    /// `pg_notify`, and NOTIFY: heard if the transaction commits.
    ///
    /// # Errors
    /// 22023 for a channel or a payload that is none; 54000 if too much waits to be heard.
    pub(crate) fn notify(&self, channel: &str, payload: &str) -> Result<()> {
        self.pending.borrow_mut().notify(&self.database.hub, self.id, channel, payload).map_err(refused)
    }

    /// NOTIFY, LISTEN or UNLISTEN.
    ///
    /// # Errors
    /// As [`notify`](Self::notify); 54000 for too many channels; 0A000 for LISTEN in a session that nobody asks for
    /// what it hears.
    pub(crate) fn tell_or_listen(&self, utility: &Utility) -> Result<Tag> {
        let change = match utility {
            Utility::Notify { channel, payload } => {
                self.notify(channel, payload)?;
                return Ok(Tag::plain("NOTIFY"));
            }
            Utility::Listen(_) if self.bell.is_none() => {
                return Err(SqlError::unsupported("LISTEN is not supported in a session of the library")
                    .hint("The library has a function for it: listen."));
            }
            Utility::Listen(channel) => Change::Listen(channel.as_str().into()),
            Utility::Unlisten(Some(channel)) => Change::Unlisten(channel.as_str().into()),
            Utility::Unlisten(None) => Change::UnlistenAll,
            _ => return Err(SqlError::internal("not about channels")),
        };
        let tag = if matches!(change, Change::Listen(_)) { "LISTEN" } else { "UNLISTEN" };
        self.pending.borrow_mut().change(change).map_err(refused)?;
        Ok(Tag::plain(tag))
    }
}

/// Hands what a transaction of a cluster says to the engine, which tells all nodes if it commits.
///
/// # Errors
/// It says too much.
pub(super) fn announce<W: Worker>(worker: &mut W, database: u32, pending: &Pending) -> Result<()> {
    let Some(first) = pending.notifications().first() else { return Ok(()) };
    let announcements = encode(database, first.sender, pending.notifications());
    announcements.iter().try_for_each(|one| worker.announce(one)).map_err(crate::error::plain)
}

impl<E: Engine> Session<E> {
    /// Lets the session LISTEN: `bell` rings, on other threads, when there is something for
    /// [`take_notifications`](Self::take_notifications).
    pub fn set_bell(&mut self, bell: Arc<dyn Bell>) {
        self.state.bell = Some(bell);
    }

    /// What the session has heard since the last call; nothing while a transaction is open, which is not to hear of
    /// those behind it.
    #[inline]
    pub fn take_notifications(&mut self) -> Vec<Notification> {
        match &self.mail {
            // pairs with the store of whoever fills the mailbox
            Some(mail) if mail.load(Ordering::Acquire) && self.status() == Status::Idle => {
                self.state.database.hub.take(self.state.id)
            }
            _ => Vec::new(),
        }
    }

    /// The session ends, and hears nothing more.
    pub(super) fn stop_listening(&mut self) {
        if self.mail.is_some() {
            self.state.database.hub.remove(self.state.id);
        }
    }
}
