//! What a client is told: errors and notices, with their fields.

use std::fmt;

/// A five-character SQLSTATE code.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState(pub [u8; 5]);

impl SqlState {
    /// successful_completion
    pub const SUCCESS: Self = Self(*b"00000");
    /// connection_failure
    pub const CONNECTION_FAILURE: Self = Self(*b"08006");
    /// protocol_violation
    pub const PROTOCOL_VIOLATION: Self = Self(*b"08P01");
    /// feature_not_supported
    pub const NOT_SUPPORTED: Self = Self(*b"0A000");
    /// character_not_in_repertoire
    pub const BAD_ENCODING: Self = Self(*b"22021");
    /// invalid_parameter_value
    pub const INVALID_PARAMETER: Self = Self(*b"22023");
    /// invalid_sql_statement_name
    pub const NO_STATEMENT: Self = Self(*b"26000");
    /// invalid_authorization_specification
    pub const INVALID_AUTHORIZATION: Self = Self(*b"28000");
    /// invalid_password
    pub const INVALID_PASSWORD: Self = Self(*b"28P01");
    /// invalid_cursor_name
    pub const NO_PORTAL: Self = Self(*b"34000");
    /// in_failed_sql_transaction
    pub const IN_FAILED_TRANSACTION: Self = Self(*b"25P02");
    /// duplicate_cursor
    pub const DUPLICATE_PORTAL: Self = Self(*b"42P03");
    /// duplicate_prepared_statement
    pub const DUPLICATE_STATEMENT: Self = Self(*b"42P05");
    /// too_many_connections
    pub const TOO_MANY_CONNECTIONS: Self = Self(*b"53300");
    /// configuration_limit_exceeded
    pub const LIMIT_EXCEEDED: Self = Self(*b"53400");
    /// program_limit_exceeded
    pub const PROGRAM_LIMIT: Self = Self(*b"54000");
    /// query_canceled
    pub const QUERY_CANCELED: Self = Self(*b"57014");
    /// admin_shutdown
    pub const ADMIN_SHUTDOWN: Self = Self(*b"57P01");
    /// cannot_connect_now
    pub const CANNOT_CONNECT_NOW: Self = Self(*b"57P03");

    /// The code as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("XX000")
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How much a report weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The statement failed.
    Error,
    /// The connection ends.
    Fatal,
    /// The server ends.
    Panic,
    /// Something is likely wrong.
    Warning,
    /// Something to know.
    Notice,
    /// Something asked for.
    Info,
    /// Something for developers.
    Debug,
    /// Something for the log.
    Log,
}

impl Severity {
    /// The word in the message.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
            Self::Panic => "PANIC",
            Self::Warning => "WARNING",
            Self::Notice => "NOTICE",
            Self::Info => "INFO",
            Self::Debug => "DEBUG",
            Self::Log => "LOG",
        }
    }
}

/// An error or a notice. What is `None` is not sent.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: {message} ({})", severity.as_str(), code.as_str())]
pub struct Report {
    /// `S` and `V`
    pub severity: Severity,
    /// `C`
    pub code: SqlState,
    /// `M`
    pub message: String,
    /// `D`
    pub detail: Option<String>,
    /// `H`
    pub hint: Option<String>,
    /// `P`: the character of the statement, counted from 1
    pub position: Option<u32>,
    /// `W`
    pub context: Option<String>,
    /// `s`
    pub schema: Option<String>,
    /// `t`
    pub table: Option<String>,
    /// `c`
    pub column: Option<String>,
    /// `d`
    pub data_type: Option<String>,
    /// `n`
    pub constraint: Option<String>,
}

/// A result whose error a client is told.
pub type Result<T, E = Box<Report>> = std::result::Result<T, E>;

impl Report {
    /// A report with nothing but its message.
    pub fn new(severity: Severity, code: SqlState, message: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            context: None,
            schema: None,
            table: None,
            column: None,
            data_type: None,
            constraint: None,
        }
    }

    /// A statement failed.
    pub fn error(code: SqlState, message: impl Into<String>) -> Box<Self> {
        Box::new(Self::new(Severity::Error, code, message))
    }

    /// The connection ends.
    pub fn fatal(code: SqlState, message: impl Into<String>) -> Box<Self> {
        Box::new(Self::new(Severity::Fatal, code, message))
    }

    /// A message that is not as the protocol says; the stream of messages is intact.
    pub fn protocol(message: impl Into<String>) -> Box<Self> {
        Self::error(SqlState::PROTOCOL_VIOLATION, message)
    }

    /// The same with a detail.
    pub fn with_detail(mut self: Box<Self>, detail: impl Into<String>) -> Box<Self> {
        self.detail = Some(detail.into());
        self
    }

    /// The same with a hint.
    pub fn with_hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }

    /// The same, and the connection ends.
    pub fn into_fatal(mut self: Box<Self>) -> Box<Self> {
        self.severity = Severity::Fatal;
        self
    }

    /// Whether the connection ends after it.
    pub fn is_fatal(&self) -> bool {
        matches!(self.severity, Severity::Fatal | Severity::Panic)
    }
}
