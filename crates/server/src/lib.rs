//! The server: sockets, threads, encryption, users, limits and metrics around sessions that speak the
//! PostgreSQL protocol.
//!
//! ```text
//!  listeners ──► a thread per client ──► pgwire::serve ──► Guarded session ──► the database
//!   TCP, Unix          ▲                  Door: rules,         │ its phase, counts
//!                      │                  users, TLS           ▼
//!                    watch ◄──────────────────────────── Control, Registry ◄── cancel requests, metrics
//! ```
//!
//! Whatever waits is bounded: clients and those among them that have not authenticated, the time to authenticate
//! it, the time that a transaction may be left idle, the time that a client may leave its answers unread. The
//! *watch*, one thread, keeps these times by closing sockets, so that the threads of clients set no timers.

mod config;
mod control;
mod door;
mod guard;
mod handle;
#[cfg(debug_assertions)]
mod instances;
mod live;
mod metrics;
mod numbers;
mod registry;
mod rules;
mod server;
mod sql;
mod stream;
mod tls;
mod waiting;

pub use config::{Config, LogStatement, StartError, TlsFiles};
pub use control::{Canceller, Cancels};
pub use door::{Measure, NewSession, Sessions};
pub use guard::Limited;
pub use handle::Handle;
#[doc(hidden)]
#[cfg(debug_assertions)]
pub use instances::one_of_each;
pub use numbers::{Family, Histogram, Labels, Numbers};
pub use rules::{Over, Rule, Verdict};
pub use scaledb_engines::EngineKind;
pub use server::Server;
pub use sql::{Sql, SqlSession};
pub use waiting::Waiting;
