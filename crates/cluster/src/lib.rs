//! A running cluster: nodes that keep the rows, the network between them, and the metadata store that says who is a
//! member.
//!
//! ```text
//!   engine, SQL ──► Session ──► Member { Node of scaledb-scar } ◄── Network ──► other members
//!                                  │
//!                                  └── MetadataStore: views and leases, asked only when members change
//! ```
//!
//! What an operator asks for (`steer`) is noted beside the view; the leader carries it out, a view at a time
//! (`placement`).
//!
//! The protocol is `scaledb-scar`, a state machine without I/O; this crate runs it.

mod asking;
pub mod backup;
mod beat;
pub mod codec;
mod durable;
pub mod engine;
mod local;
mod locks;
mod mailboxes;
mod member;
pub mod membership;
mod network;
mod numbers;
mod open;
pub mod placement;
mod rows;
mod session;
mod settings;
mod state;
pub mod steer;
mod store;
pub mod tcp;
mod watch;

pub use asking::{Asked, Told};
pub use durable::{DirectoryError, OnDisk, Owner};
pub use local::{Channels, LocalCluster};
pub use mailboxes::Lost;
pub use member::{Member, StartError, may_retry};
pub use network::{Network, Packet};
pub use numbers::Numbers;
pub use open::{Founding, NodeConfig, open};
pub use rows::{Key, Rows, Value};
pub use session::{NoAnswer, Session};
pub use settings::Settings;
pub use state::{Ear, Entrance};
pub use store::{ClusterView, Etcd, InMemory, Life, MetadataStore, NodeReport, StoreError};
