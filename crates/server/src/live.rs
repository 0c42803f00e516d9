//! The part of the configuration that a running server takes up again: on SIGHUP, and on `pg_reload_conf()`.

use crate::config::{Config, StartError};
use crate::rules::Rule;
use crate::tls;
use scaledb_pgwire::{Tls, Verifier};
use scaledb_sync::Arc;
use scaledb_sync::lock::Mutex;
use std::collections::HashMap;
use std::time::Duration;

/// What connections are admitted by. A connection keeps what was in force when it came.
pub(crate) struct Admission {
    pub(crate) rules: Vec<Rule>,
    pub(crate) users: HashMap<String, Verifier>,
    pub(crate) tls: Option<Tls>,
    pub(crate) max_connections: usize,
    pub(crate) max_unauthenticated: usize,
    pub(crate) max_message_bytes: usize,
    pub(crate) authentication_timeout: Duration,
    pub(crate) write_timeout: Duration,
    pub(crate) statement_timeout: Duration,
    pub(crate) idle_in_transaction_timeout: Duration,
    pub(crate) idle_in_transaction_memory_percent: u8,
    pub(crate) log_slow_statements: Duration,
    pub(crate) log_connections: bool,
    pub(crate) log_disconnections: bool,
}

impl Admission {
    /// Reads the files of the certificate, too.
    ///
    /// # Errors
    /// [`StartError::Open`], [`StartError::Tls`].
    pub(crate) fn of(config: &Config) -> Result<Self, StartError> {
        Ok(Self {
            rules: config.rules_in_force()?,
            users: config.users.clone(),
            tls: config.tls.as_ref().map(tls::load).transpose()?,
            max_connections: config.max_connections,
            max_unauthenticated: config.max_unauthenticated,
            max_message_bytes: config.max_message_bytes,
            authentication_timeout: config.authentication_timeout,
            write_timeout: config.write_timeout,
            statement_timeout: config.statement_timeout,
            idle_in_transaction_timeout: config.idle_in_transaction_timeout,
            idle_in_transaction_memory_percent: config.idle_in_transaction_memory_percent,
            log_slow_statements: config.log_slow_statements,
            log_connections: config.log_connections,
            log_disconnections: config.log_disconnections,
        })
    }
}

/// The configuration in force.
pub(crate) struct Live {
    admission: Mutex<Arc<Admission>>,
    /// As it was at the start: what is not in [`Admission`] stays so.
    started: Config,
}

impl Live {
    pub(crate) fn new(config: Config) -> Result<Self, StartError> {
        Ok(Self { admission: Mutex::new(Arc::new(Admission::of(&config)?)), started: config })
    }

    pub(crate) fn admission(&self) -> Arc<Admission> {
        self.admission.lock().clone()
    }

    /// Puts a configuration in force, as far as that can be done without a start. Returns the settings that differ
    /// from those at the start and need one.
    ///
    /// # Errors
    /// As [`Admission::of`]: everything stays as it was.
    pub(crate) fn reload(&self, config: &Config) -> Result<Vec<&'static str>, StartError> {
        let admission = Admission::of(config)?;
        *self.admission.lock() = Arc::new(admission);
        let then = &self.started;
        let differs = [
            ("engine", then.engine != config.engine),
            ("data", then.data != config.data),
            ("listen", then.listen != config.listen),
            ("socket", then.socket != config.socket),
            ("metrics", then.metrics != config.metrics),
            ("max_query_memory", then.max_query_memory != config.max_query_memory),
            ("temp_directory", then.temp_directory != config.temp_directory),
            ("max_temp_bytes", then.max_temp_bytes != config.max_temp_bytes),
            ("shutdown_grace", then.shutdown_grace != config.shutdown_grace),
        ];
        Ok(differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect())
    }
}
