//! `liboccult.so`: the server half of Occult as a module of Redis 7 and Valkey.
//!
//! ```text
//!  client ── OCCULT.WRITE slotkey key value known ──► commands ── Command::parse, Command::run ──► Shard (in slotkey)
//!                                                        │                                            │
//!                                                        │ Effect                                     ▼
//! ├── Shard::apply ──► Entry (in key) Planned { reply, effect }
//! └── OCCULT.APPLY slotkey effect ──► the server's own stream, AOF
//! ```
//!
//! What is decided is decided in `scaledb-occult`; here it is fitted to the server: where the state is stored
//! ([`types`]), how effects and beats travel ([`commands`], [`beat`]), and what plain commands do to stamped keys
//! ([`plain`]).
//!
//! A module runs in the thread of the server. [`state`] says what that means for shared data.

mod beat;
mod commands;
mod docs;
mod guard;
mod host;
mod load;
mod plain;
mod state;
mod store;
mod types;

// tests of this crate run without a server, and so without its allocator
#[cfg(not(test))]
#[global_allocator]
static ALLOCATOR: redis_module::alloc::RedisAlloc = redis_module::alloc::RedisAlloc;
