//! `scaledb serve` as a process, with clients that come over the network: killed, with a disk that fails, crowded.
//!
//! `SCALEDB_KILLS` sets how often the server is killed (default 4).
#![cfg(target_os = "linux")]

mod crowd;
mod disk_fails;
mod kills;
mod process;
