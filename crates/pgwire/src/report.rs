//! What a client is told: errors and notices, with their fields.

pub use scaledb_base::sqlstate::{ErrorFields, SqlState};
use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

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
    const ALL: [Self; 8] = [
        Self::Error,
        Self::Fatal,
        Self::Panic,
        Self::Warning,
        Self::Notice,
        Self::Info,
        Self::Debug,
        Self::Log,
    ];

    /// The one of this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == word)
    }

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

/// An error or a notice.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: {} ({})", severity.as_str(), fields.message, fields.code)]
pub struct Report {
    /// `S` and `V`
    pub severity: Severity,
    /// All others.
    pub fields: ErrorFields,
}

impl Deref for Report {
    type Target = ErrorFields;

    fn deref(&self) -> &ErrorFields {
        &self.fields
    }
}

impl DerefMut for Report {
    fn deref_mut(&mut self) -> &mut ErrorFields {
        &mut self.fields
    }
}

/// A result whose error a client is told.
pub type Result<T, E = Box<Report>> = std::result::Result<T, E>;

impl Report {
    /// A report with nothing but its message.
    #[track_caller]
    pub fn new(severity: Severity, code: SqlState, message: impl Into<Cow<'static, str>>) -> Self {
        Self { severity, fields: ErrorFields::new(code, message) }
    }

    /// A statement failed.
    #[track_caller]
    pub fn error(code: SqlState, message: impl Into<Cow<'static, str>>) -> Box<Self> {
        Box::new(Self::new(Severity::Error, code, message))
    }

    /// The connection ends.
    #[track_caller]
    pub fn fatal(code: SqlState, message: impl Into<Cow<'static, str>>) -> Box<Self> {
        Box::new(Self::new(Severity::Fatal, code, message))
    }

    /// A message that is not as the protocol says; the stream of messages is intact.
    #[track_caller]
    pub fn protocol(message: impl Into<Cow<'static, str>>) -> Box<Self> {
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
