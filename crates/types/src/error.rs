//! Errors as clients see them: an SQLSTATE, a message, and what else PostgreSQL's protocol has fields for.

pub use scaledb_base::sqlstate::{ErrorFields, SqlState};
use std::borrow::Cow;
use std::fmt;

/// A result of SQL: most functions of this crate return one.
pub type Result<T> = std::result::Result<T, SqlError>;

/// What a failed statement answers. One word wide: the fields are boxed, for errors are rare.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.message)]
pub struct SqlError(Box<ErrorFields>);

impl fmt::Debug for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)?;
        if let Some(detail) = &self.0.detail {
            write!(f, " ({detail})")?;
        }
        Ok(())
    }
}

impl SqlError {
    /// An error with a state and a message.
    #[cold]
    #[track_caller]
    pub fn new(code: SqlState, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(ErrorFields::new(code, message)))
    }

    /// The SQLSTATE.
    pub fn code(&self) -> SqlState {
        self.0.code
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// All fields.
    pub fn fields(&self) -> &ErrorFields {
        &self.0
    }

    /// All fields, taken out.
    pub fn into_fields(self) -> ErrorFields {
        *self.0
    }

    /// All fields, to be changed.
    pub fn fields_mut(&mut self) -> &mut ErrorFields {
        &mut self.0
    }

    /// With a detail.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// With a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// With a position in the statement: a count of characters, from 1. One that is set stays.
    #[must_use]
    pub fn position(mut self, position: u32) -> Self {
        self.0.position.get_or_insert(position);
        self
    }

    /// In a text that has so many characters in front of the statement.
    #[must_use]
    pub fn shift(mut self, characters: u32) -> Self {
        if let Some(position) = &mut self.0.position {
            *position += characters;
        }
        self
    }

    /// With the text of a statement that is not the client's: its position is one in that, or else it was being run.
    #[must_use]
    pub fn in_statement(mut self, text: &str) -> Self {
        if let Some(position) = self.0.position.take() {
            self.0.internal.get_or_insert_with(|| (position, text.to_owned()));
            return self;
        }
        self.within(format!("SQL statement \"{text}\""))
    }

    /// With one more line of what was being done, around what has been said of it. The last ones of many are left out,
    /// as functions may call themselves.
    #[must_use]
    pub fn within(mut self, line: String) -> Self {
        const MOST: usize = 64 << 10;
        match &mut self.0.context {
            Some(context) if context.len() + line.len() > MOST => {
                if !context.ends_with("\n...") {
                    context.push_str("\n...");
                }
            }
            Some(context) => {
                context.push('\n');
                context.push_str(&line);
            }
            context => *context = Some(line),
        }
        self
    }

    /// With what was being done.
    #[must_use]
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.0.context = Some(context.into());
        self
    }

    /// With the schema and table that it is about.
    #[must_use]
    pub fn table(mut self, schema: impl Into<String>, table: impl Into<String>) -> Self {
        self.0.schema = Some(schema.into());
        self.0.table = Some(table.into());
        self
    }

    /// With the column that it is about.
    #[must_use]
    pub fn column(mut self, column: impl Into<String>) -> Self {
        self.0.column = Some(column.into());
        self
    }

    /// With the schema of what it is about.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.0.schema = Some(schema.into());
        self
    }

    /// With the data type that it is about.
    #[must_use]
    pub fn data_type(mut self, data_type: impl Into<String>) -> Self {
        self.0.data_type = Some(data_type.into());
        self
    }

    /// With the constraint that it is about.
    #[must_use]
    pub fn constraint(mut self, constraint: impl Into<String>) -> Self {
        self.0.constraint = Some(constraint.into());
        self
    }

    /// Text that is no value of the type: 22P02.
    #[cold]
    #[track_caller]
    pub fn invalid_text(type_name: &str, text: &str) -> Self {
        Self::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type {type_name}: \"{text}\""),
        )
    }

    /// Bytes that are no value of the type: 22P03.
    #[cold]
    #[track_caller]
    pub fn invalid_binary(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
    }

    /// A number that its type cannot hold: 22003.
    #[cold]
    #[track_caller]
    pub fn out_of_range(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
    }

    /// `x / 0`: 22012.
    #[cold]
    #[track_caller]
    pub fn division_by_zero() -> Self {
        Self::new(SqlState::DIVISION_BY_ZERO, "division by zero")
    }

    /// An argument that makes no sense: 22023.
    #[cold]
    #[track_caller]
    pub fn invalid_parameter(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(SqlState::INVALID_PARAMETER_VALUE, message)
    }

    /// What ScaleDB does not do: 0A000.
    #[cold]
    #[track_caller]
    pub fn unsupported(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(SqlState::FEATURE_NOT_SUPPORTED, message)
    }

    /// A bug of ours: XX000.
    #[cold]
    #[track_caller]
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(SqlState::INTERNAL_ERROR, message)
    }
}
