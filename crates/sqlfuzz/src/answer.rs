//! What a server says to a statement.

use std::fmt;

/// The answer to one statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It succeeded.
    Done {
        /// Names of columns, and the oids of their types.
        columns: Vec<(String, u32)>,
        /// Rows as text.
        rows: Vec<Vec<Option<String>>>,
        /// The command tag.
        tag: String,
    },
    /// It failed.
    Failed {
        /// The SQLSTATE; `panic` for a panic.
        code: String,
        /// The message.
        message: String,
    },
}

impl Answer {
    /// The SQLSTATE of a failure.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Done { .. } => None,
            Self::Failed { code, .. } => Some(code),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { code, message } => write!(f, "{code}: {message}"),
            Self::Done { columns, rows, tag } => {
                let names: Vec<String> = columns.iter().map(|(name, oid)| format!("{name}:{oid}")).collect();
                write!(f, "{tag} [{}]", names.join(", "))?;
                for row in rows.iter().take(20) {
                    let values: Vec<&str> =
                        row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect();
                    write!(f, "\n    {}", values.join(" | "))?;
                }
                if rows.len() > 20 {
                    write!(f, "\n    ... {} rows", rows.len())?;
                }
                Ok(())
            }
        }
    }
}
