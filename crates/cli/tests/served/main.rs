//! `scaledb serve` as a process, with clients that come over the network: killed, with a disk that fails,
//! crowded, and with clients that mean it no good.
//!
//! `SCALEDB_KILLS` sets how often the server is killed (default 4).
#![cfg(target_os = "linux")]

mod control_group;
mod crowd;
mod deaf;
mod disk_fails;
mod encrypted;
mod floods;
mod hostile;
mod idle;
mod kills;
mod logged;
mod process;
mod raw;
mod serial;
mod steered;
