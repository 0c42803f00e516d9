//! A blocking client of the PostgreSQL protocol: of the shell, and of the benchmark.
//!
//! ```text
//!   Config (conninfo, URL) ──► connect ──► Session ──┬─► Socket: messages out, messages in
//!        Encryption, password ───┘                   └─► Canceller
//! ```
//!
//! The drivers that there are allocate for each statement and row, or hand each message from thread to thread, and then
//! a benchmark on one machine measures them; they also hide what a shell shows: the state of the transaction, the types
//! of a simple query's columns, notices in their place. So this stops at messages: what they are about is their user's.

mod address;
mod error;
pub mod message;
mod socket;
mod startup;
mod tls;

pub use address::Address;
pub use error::Error;
pub use socket::Socket;
pub use startup::{Canceller, Login, Session, connect};
pub use tls::Encryption;
pub use tokio_postgres::Config;
pub use tokio_postgres::config::SslMode;

/// Reads connection parameters as libpq does: a URL, or `host=... user=...`.
///
/// # Errors
/// [`Error::Parameters`].
pub fn parse(parameters: &str) -> Result<Config, Error> {
    parameters.parse().map_err(|error: tokio_postgres::Error| {
        let cause = std::error::Error::source(&error).map_or(String::new(), |cause| format!(": {cause}"));
        Error::Parameters(format!("{error}{cause}"))
    })
}
