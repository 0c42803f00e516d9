//! Simulation of Occult: the shards and clients of `scaledb-occult`, unchanged, on servers, links and clocks that a
//! seed decides about.
//!
//! ```text
//!   Client ── Ask, after a delay ──► Cluster: slot ► group ► its copy nearby, or its master ── Effect ──► log of the group
//!     ▲                                   │                                                                 │
//!     └────── Answer, or none ◄───────────┘             replicas apply the log, each at its own pace ◄──────┘
//! ```
//!
//! Masters fail and lose what no replica has, slots move key by key, clocks differ, clients die in the middle of a
//! commit, answers get lost and commands arrive late. [`versions`] says what is checked at each step.
//!
//! It is a crate of its own, not a part of `scaledb-verify`: that one builds the engines of the SQL database, and
//! this one needs none of them.

pub mod cluster;
pub mod explore;
pub mod history;
pub mod keys;
pub mod plan;
pub mod queue;
pub mod versions;
pub mod world;
