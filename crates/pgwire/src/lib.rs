//! The PostgreSQL protocol, version 3.0 and 3.2, the server's side. It knows no SQL, opens no sockets and
//! starts no threads: a connection is [`serve`]d on its caller's thread, over anything that reads and writes.
//!
//! ```text
//!                  bytes                 messages                      calls
//!  ┌───────────┐         ┌────────────┐           ┌───────────┐                ┌──────────────────┐
//!  │ Transport │───────► │ inbox      │ decode ─► │ session   │ ─────────────► │ Backend          │
//!  │ (plain or │         └────────────┘           │ order,    │                │ parse, bind,     │
//!  │  TLS)     │         ┌────────────┐           │ pipelines,│    Reply       │ execute, copy,   │
//!  │           │◄─────── │ outbox     │ ◄──────── │ COPY      │ ◄───────────── │ sync             │
//!  └───────────┘ one     └────────────┘  rows are └───────────┘  columns, rows └──────────────────┘
//!                write per Sync          written in place
//! ```
//!
//! * [`Host`] is the server as the first packets see it: TLS, users, cancel requests, new sessions.
//! * [`Backend`] is a session that runs SQL. Dispatch is static, and nothing is allocated per message or row.
//!
//! The stream is hand-cut rather than by a codec crate: values stay where they arrived, rows are encoded where
//! they leave from, and what a client declares allocates nothing.

mod auth;
mod backend;
mod channel;
mod connection;
mod decode;
mod inbox;
mod limits;
mod outbox;
mod reply;
mod report;
mod scram;
mod session;
mod startup;

pub use auth::Method;
pub use backend::{Backend, Host, Opened, Step};
pub use channel::{Tls, Transport, Woken};
pub use connection::{End, serve};
pub use decode::{Bind, Formats, Oids, Values, utf8};
pub use limits::{
    FLUSH_BYTES, HOLD_BYTES, Limits, MAX_AUTH_BYTES, MAX_REPLY_BYTES, MAX_SMALL_BYTES, MAX_STARTUP_BYTES,
};
pub use outbox::{Column, Format, Status, Tag};
pub use reply::{Reply, Row};
pub use report::{ErrorFields, Report, Result, Severity, SqlState};
pub use scram::{Verifier, random};
pub use startup::Startup;
