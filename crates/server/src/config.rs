//! The configuration file.
//!
//! ```toml
//! database = "shop"
//! listen = ["127.0.0.1:5432"]
//! socket = "/run/scaledb"
//! max_connections = 1000
//!
//! [tls]
//! certificate = "server.crt"
//! key = "server.key"
//!
//! [users]
//! ann = "SCRAM-SHA-256$4096:..."
//!
//! [[rule]]
//! over = "tls"
//! address = "10.0.0.0/8"
//! method = "scram"
//! ```

use crate::rules::{Over, Rule, Verdict};
use scaledb_engines::EngineKind;
use scaledb_pgwire::Verifier;
use serde::Deserialize;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a server is told. Times of zero mean: never.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The engine of the database.
    pub engine: EngineKind,
    /// The directory that the database is kept in; in memory only without one.
    pub data: Option<PathBuf>,
    /// The name of the database. A client that names another is refused, unless that is its own name, which is what
    /// clients say that were told none.
    pub database: String,
    /// TCP addresses to listen at.
    pub listen: Vec<SocketAddr>,
    /// The directory of a Unix socket `.s.PGSQL.<port>`.
    pub socket: Option<PathBuf>,
    /// Where metrics are served, as Prometheus reads them.
    pub metrics: Option<SocketAddr>,
    /// Clients at most.
    pub max_connections: usize,
    /// Clients at most that have not authenticated.
    pub max_unauthenticated: usize,
    /// Bytes of one message of a client at most.
    pub max_message_bytes: usize,
    /// Bytes that the statements of all sessions may use together for sorts, groups, joins, cursors and bound values.
    pub max_query_memory: usize,
    /// Where statements put rows that do not fit it, a directory for nothing else. Without it, one in the directory of
    /// the data; for a database in memory, none: such statements fail.
    pub temp_directory: Option<PathBuf>,
    /// Bytes that may lie there at a time, those of all sessions together.
    pub max_temp_bytes: u64,
    /// How long a client may take to authenticate.
    #[serde(with = "seconds")]
    pub authentication_timeout: Duration,
    /// How long a client may take to accept what it is sent.
    #[serde(with = "seconds")]
    pub write_timeout: Duration,
    /// How long a statement may run; sessions may `SET` it.
    #[serde(with = "seconds")]
    pub statement_timeout: Duration,
    /// How long a client may leave a transaction open and idle; sessions may `SET` it.
    #[serde(with = "seconds")]
    pub idle_in_transaction_timeout: Duration,
    /// When so many percent of the memory of rows and indexes are in use, the transaction that keeps memory from being
    /// used again is ended if it idles; 0 is never.
    pub idle_in_transaction_memory_percent: u8,
    /// Batches of statements that take at least so long are logged.
    #[serde(with = "seconds")]
    pub log_slow_statements: Duration,
    /// Statements that are logged when they begin; sessions may `SET` it.
    pub log_statement: LogStatement,
    /// Statements that take so many milliseconds are logged with their texts; 0 is all, -1 none. Sessions may `SET` it.
    pub log_min_duration_statement: i32,
    /// Whether new connections are logged, with their users.
    pub log_connections: bool,
    /// Whether the end of sessions is logged.
    pub log_disconnections: bool,
    /// Whether the runs of statements are timed and counted; sessions may `SET` it.
    pub track_statements: bool,
    /// How long statements may go on when the server ends.
    #[serde(with = "seconds")]
    pub shutdown_grace: Duration,
    /// Encryption.
    pub tls: Option<TlsFiles>,
    /// The users who may do everything although no role has been made for them. Without the list, all such users are;
    /// with it, others need a role.
    pub superusers: Option<Vec<String>>,
    /// Verifiers of passwords, by user.
    #[serde(deserialize_with = "users")]
    pub users: HashMap<String, Verifier>,
    /// Who may connect, and how: the first rule that fits decides. Without rules, those on this machine may.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
}

/// Statements that are logged, whatever comes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogStatement {
    /// None.
    #[default]
    None,
    /// Statements that change the catalog.
    Ddl,
    /// and those that change rows.
    Mod,
    /// All.
    All,
}

impl LogStatement {
    /// As a setting of a session has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Ddl => "ddl",
            Self::Mod => "mod",
            Self::All => "all",
        }
    }
}

/// Files of a certificate, in PEM.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// The certificate, and behind it those that it is signed with.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            engine: EngineKind::default(),
            data: None,
            database: "postgres".to_owned(),
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 5432))],
            socket: None,
            metrics: None,
            max_connections: 1_000,
            max_unauthenticated: 200,
            max_message_bytes: 64 << 20,
            max_query_memory: scaledb_sql::default_query_memory(),
            temp_directory: None,
            max_temp_bytes: 16 << 30,
            authentication_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(60),
            statement_timeout: Duration::ZERO,
            idle_in_transaction_timeout: Duration::from_secs(600),
            idle_in_transaction_memory_percent: 85,
            log_slow_statements: Duration::ZERO,
            log_statement: LogStatement::None,
            log_min_duration_statement: -1,
            log_connections: false,
            log_disconnections: false,
            track_statements: true,
            shutdown_grace: Duration::from_secs(10),
            tls: None,
            superusers: None,
            users: HashMap::new(),
            rules: Vec::new(),
        }
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The configuration is none.
    #[error("{}:{line}: {what}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong. The text of the file is not in it: it may hold secrets.
        what: String,
    },
    /// The certificate or its key cannot be used.
    #[error("the certificate cannot be used: {0}")]
    Tls(String),
    /// Others than those on this machine could connect, and nothing says who may.
    #[error("{0} can be reached from other machines: say in the configuration who may connect ([[rule]])")]
    Open(SocketAddr),
    /// An address cannot be listened at.
    #[error("cannot listen at {at}: {error}")]
    Listen {
        /// The address or path.
        at: String,
        /// Why.
        error: std::io::Error,
    },
    /// The system gives no threads or random numbers.
    #[error("cannot start: {0}")]
    System(String),
}

impl Config {
    /// Reads a file. Paths in it are relative to it.
    ///
    /// # Errors
    ///
    /// [`StartError::Read`], [`StartError::Parse`].
    pub fn read(path: &Path) -> Result<Self, StartError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| StartError::Read { path: path.to_owned(), error })?;
        let mut config: Self = toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or("");
            let line = 1 + before.matches('\n').count();
            StartError::Parse { path: path.to_owned(), line, what: error.message().to_owned() }
        })?;
        let directory = path.parent().unwrap_or(Path::new(""));
        config.data = config.data.map(|data| directory.join(data));
        config.temp_directory = config.temp_directory.map(|temporary| directory.join(temporary));
        if let Some(tls) = &mut config.tls {
            tls.certificate = directory.join(&tls.certificate);
            tls.key = directory.join(&tls.key);
        }
        Ok(config)
    }

    /// Where statements put rows that do not fit their memory, if there is such a place.
    pub fn temporary(&self) -> Option<PathBuf> {
        let beside = || self.data.as_ref().map(|data| data.join("temporary"));
        self.temp_directory.clone().or_else(beside)
    }

    /// The rules, or those that hold when there are none.
    ///
    /// # Errors
    ///
    /// [`StartError::Open`]: without rules, only this machine may be listened to.
    pub(crate) fn rules_in_force(&self) -> Result<Vec<Rule>, StartError> {
        if !self.rules.is_empty() {
            return Ok(self.rules.clone());
        }
        if let Some(open) = self.listen.iter().find(|address| !address.ip().is_loopback()) {
            return Err(StartError::Open(*open));
        }
        let here = |over| Rule { over, ..Rule::of(Verdict::Trust) };
        Ok(vec![here(Over::Local), here(Over::Tcp)])
    }
}

fn users<'de, D: serde::Deserializer<'de>>(from: D) -> Result<HashMap<String, Verifier>, D::Error> {
    let texts = HashMap::<String, String>::deserialize(from)?;
    let verifiers = texts.into_iter().map(|(name, text)| match Verifier::parse(&text) {
        Some(verifier) => Ok((name, verifier)),
        None => Err(serde::de::Error::custom(format!(
            "the verifier of user {name} is not of the form SCRAM-SHA-256$<iterations>:<salt>$<key>:<key>"
        ))),
    });
    verifiers.collect()
}

mod seconds {
    use super::{Deserialize, Duration};

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(from)?;
        Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn a_configuration_is_read() {
        let verifier = Verifier::of("secret").unwrap();
        let text = format!(
            "engine = 'cicada'\ndata = 'd'\nlisten = ['0.0.0.0:1']\nstatement_timeout = 1.5\n[users]\nann = '{verifier}'\n\
             [[rule]]\nover = 'tls'\naddress = '10.0.0.0/8'\nusers = ['ann']\nmethod = 'scram'\n"
        );
        let config = parse(&text).unwrap();
        assert_eq!(config.statement_timeout, Duration::from_millis(1_500));
        assert_eq!((config.engine, config.data.as_deref()), (EngineKind::Cicada, Some(Path::new("d"))));
        assert!(config.users["ann"].fits("secret"));
        assert_eq!(config.rules_in_force().unwrap().len(), 1);
    }

    #[test]
    fn what_is_misspelt_is_not_passed_over() {
        for text in [
            "lisen = []",
            "engine = 'acid'",
            "[[rule]]\nmethod = 'trusted'",
            "[[rule]]\nover = 'tls'",
            "[users]\nann = 'secret'",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_without_the_text_of_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scaledb.toml");
        std::fs::write(&path, "listen = []\n[users]\nann = 'SCRAM-SHA-256$4096:c2VjcmV0\n").unwrap();
        let error = Config::read(&path).unwrap_err().to_string();
        assert!(error.contains("scaledb.toml:3: ") && !error.contains("c2VjcmV0"), "{error}");
    }

    #[test]
    fn no_rules_open_nothing_to_others() {
        let mut config = Config::default();
        assert_eq!(config.rules_in_force().unwrap().len(), 2);
        config.listen.push("0.0.0.0:5432".parse().unwrap());
        assert!(matches!(config.rules_in_force(), Err(StartError::Open(_))));
    }
}
