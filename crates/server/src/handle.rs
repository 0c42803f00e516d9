//! A running server, as signals and functions of SQL control it.

use crate::config::{Config, StartError};
use crate::live::Live;
use crate::registry::Registry;
use scaledb_sync::Arc;
use std::net::SocketAddr;

/// A handle of a running server. Clones are the same server.
#[derive(Clone)]
pub struct Handle {
    pub(crate) live: Arc<Live>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) addresses: Arc<[SocketAddr]>,
    /// Tells sessions of a configuration that is in force now.
    pub(crate) reload: Arc<dyn Fn(&Config) + Send + Sync>,
}

impl Handle {
    /// Puts a configuration in force: rules, users, certificates, time limits, bounds on clients. It holds for
    /// connections that come from now on; what is logged of statements, for those that are there, too. Returns the
    /// settings that differ and need a start of the server.
    ///
    /// # Errors
    /// What is wrong with it; then the one before stays in force.
    pub fn reload(&self, config: &Config) -> Result<Vec<&'static str>, StartError> {
        let later = self.live.reload(config)?;
        (self.reload)(config);
        Ok(later)
    }

    /// Cancels what a session runs. False: there is no such session.
    pub fn cancel(&self, pid: i32) -> bool {
        let session = self.registry.session(pid);
        session.inspect(|control| control.cancel(crate::control::Cancel::Request)).is_some()
    }

    /// Ends a session: its client is told 57P01. False: there is no such session.
    pub fn terminate(&self, pid: i32) -> bool {
        self.registry.session(pid).inspect(|control| control.terminate()).is_some()
    }

    /// Names and values for operators.
    pub fn status(&self) -> Vec<(String, String)> {
        let admission = self.live.admission();
        let listening: Vec<String> = self.addresses.iter().map(SocketAddr::to_string).collect();
        let encryption = if admission.tls.is_some() { "offered" } else { "off" };
        [
            ("sessions", self.registry.sessions().to_string()),
            ("max_connections", admission.max_connections.to_string()),
            ("listening at", listening.join(", ")),
            ("encryption", encryption.to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}
