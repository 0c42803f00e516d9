//! Real Redis clusters on this machine, for the tests and the demonstration of Occult.
//!
//! ```text
//!  datacenter 0                            datacenter 1
//!  master 0 ──── delaying link ──────────► replica of 0
//!  replica of 1 ◄──── delaying link ────── master 1
//! ```
//!
//! Every server announces the address of its own [`link`](Link): what comes from the other datacenter, the stream of
//! replication above all, passes it, and a test can delay or cut it. A client in the same datacenter goes around it by
//! [`Lab::addresses`].

mod lab;
mod link;
mod node;

pub use lab::{Lab, Options, SLOTS, Shape, free_port};
pub use link::{Link, Weather};
pub use node::{Failure, Node, Ports, occult};

/// The module that the tests load, if the environment names one in `SCALEDB_OCCULT_MODULE`; `make test-occult` does.
///
/// Without it, or without a `redis-server`, tests with real servers cannot run: they say so and pass.
pub fn module() -> Option<std::path::PathBuf> {
    let path = std::path::PathBuf::from(std::env::var_os("SCALEDB_OCCULT_MODULE")?);
    assert!(path.is_file(), "SCALEDB_OCCULT_MODULE is {}: there is no such file", path.display());
    Some(path)
}

/// Where the server's program is: `SCALEDB_REDIS_SERVER`, or `redis-server` on the path.
pub fn server() -> Option<std::path::PathBuf> {
    if let Some(path) = std::env::var_os("SCALEDB_REDIS_SERVER") {
        return Some(path.into());
    }
    on_path("redis-server")
}

fn on_path(program: &str) -> Option<std::path::PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(program)).find(|file| file.is_file())
}
