//! A connection's life: first packets, authentication, then messages until one side has enough.

use crate::auth::authenticate;
use crate::backend::{Backend, Host};
use crate::channel::{Channel, Transport, Woken};
use crate::decode;
use crate::inbox::{Inbox, ReadError};
use crate::limits::Limits;
use crate::outbox::Outbox;
use crate::reply::Reply;
use crate::report::{Report, SqlState};
use crate::session::{Next, Session};
use crate::startup::{Greeting, Stop, greet};
use std::io;

/// How a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum End {
    /// The client said goodbye.
    #[error("terminated by the client")]
    Terminated,
    /// The client went without a word.
    #[error("closed by the client")]
    Closed,
    /// The connection was a cancel request.
    #[error("cancel request")]
    Cancel,
    /// The client was told why.
    #[error(transparent)]
    Fatal(Box<Report>),
    /// The system ended it.
    #[error(transparent)]
    Io(io::Error),
}

/// Serves a client until the connection ends.
pub fn serve<T: Transport, H: Host>(transport: T, host: &H, limits: &Limits) -> End {
    let mut connection = Connection {
        channel: Channel::Plain(transport),
        inbox: Inbox::new(),
        out: Outbox::default(),
        limits: *limits,
    };
    let end = match connection.serve(host) {
        Ok(end) => end,
        Err(Stop::Done) => End::Terminated,
        Err(Stop::Gone(ReadError::Closed)) => End::Closed,
        Err(Stop::Gone(ReadError::Io(error))) => End::Io(error),
        Err(Stop::Gone(error @ (ReadError::Tag(_) | ReadError::Length(_)))) => {
            connection.tell(Report::fatal(SqlState::PROTOCOL_VIOLATION, error.to_string()))
        }
        Err(Stop::Gone(ReadError::Full(report))) => connection.tell(report.into_fatal()),
        Err(Stop::Fatal(report)) => connection.tell(report),
    };
    connection.channel.close();
    end
}

struct Connection<T: Transport> {
    channel: Channel<T>,
    inbox: Inbox,
    out: Outbox,
    limits: Limits,
}

impl<T: Transport> Connection<T> {
    fn serve<H: Host>(&mut self, host: &H) -> Result<End, Stop> {
        let Self { channel, inbox, out, limits } = self;
        let startup = match greet(channel, inbox, out, host.tls())? {
            Greeting::Start(startup) => startup,
            Greeting::Cancel { pid, key } => {
                host.cancel(pid, &key);
                return Ok(End::Cancel);
            }
        };
        authenticate(channel, inbox, out, host, &startup)?;
        let opened = host.open(&startup)?;
        drop(startup);
        for (name, value) in &opened.parameters {
            out.parameter_status(name, value);
        }
        out.backend_key(opened.pid, &opened.key);
        out.ready(opened.backend.status());
        out.flush(channel)?;
        let mut session = Session::new(opened.backend);
        loop {
            if let Some(report) = session.backend.interrupted() {
                return Err(report.into_fatal().into());
            }
            let backend = &mut session.backend;
            let mut room = |bytes| backend.hold_message(bytes);
            let frame = match inbox.next(channel, |tag| decode::limit(tag, limits), &mut room) {
                // the server ends a session by closing the way in; the way out is still there
                Err(ReadError::Closed) if let Some(report) = session.backend.interrupted() => {
                    return Err(report.into_fatal().into());
                }
                Err(ReadError::Io(error)) if Woken::is_reason(&error) => {
                    session.woken(&mut Reply::new(out, channel));
                    out.flush(channel)?;
                    continue;
                }
                frame => frame?,
            };
            // one statement runs at once; of a batch, the rows of the others are asked for meanwhile
            if frame.tag == b'B' && session.backend.looks_ahead() {
                session.look_ahead(inbox.ahead());
            }
            let last = inbox.peek() == Some(b'S');
            let body = inbox.bytes(&frame.body);
            match session.message(frame.tag, body, last, &mut Reply::new(out, channel))? {
                Next::Read => {}
                Next::Flush => out.flush(channel)?,
            }
        }
    }

    /// Tells the client why its connection ends.
    fn tell(&mut self, report: Box<Report>) -> End {
        self.out.report(&report);
        // whether it hears it is its own affair
        let _ = self.out.flush(&mut self.channel);
        End::Fatal(report)
    }
}
