//! Occult for applications: causal consistency and transactions over a Redis or Valkey cluster with `liboccult.so`.
//!
//! ```no_run
//! # async fn run() -> Result<(), scaledb_occult_client::Error> {
//! use scaledb_occult_client::{Client, Options};
//!
//! let client = Client::connect(Options::new(["redis://127.0.0.1:6379"]).in_datacenter(0)).await?;
//! let mut alice = client.session();
//! alice.set("album:access", "friends without Bob").await?;
//! alice.set("album:photo", "spring break").await?;
//!
//! // whoever sees the photo sees the access list that was before it, in whichever datacenter
//! let mut bob = client.session();
//! if bob.get("album:photo").await?.is_some() {
//!     assert!(bob.get("album:access").await?.is_some());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//!  Session ── Operation (scaledb-occult) ──► drive ──► Servers ──► a connection to each server (crate redis)
//!     what is known       Step, Event                     │
//!                                                         └── Topology: who serves which slot, and where he stands
//! ```
//!
//! What a session knows, when a read is stale and what a commit does is decided in `scaledb-occult`; here is what it
//! needs of a network. A write is sent once: whether a lost connection has carried it is told by
//! [`is_unknown`](Error::is_unknown).

mod drive;
mod error;
mod options;
mod servers;
mod session;
mod topology;
mod transaction;

pub use error::Error;
pub use options::Options;
#[cfg(feature = "tls")]
pub use options::Tls;
pub use scaledb_occult::client::{Config, Conflict, Error as OperationError, Metrics};
pub use scaledb_occult::{BadToken, Micros, Refused, Shape};
pub use session::{Client, Session};
pub use topology::Address;
pub use transaction::Transaction;

/// Bytes of a key or a value. A clone shares them.
pub type Bytes = scaledb_occult::Value;
