//! Errors as clients see them: an SQLSTATE, a message, and what else PostgreSQL's protocol has fields for.

use std::borrow::Cow;
use std::fmt;

/// A result of SQL: most functions of this crate return one.
pub type Result<T> = std::result::Result<T, SqlError>;

/// The five characters that tell programs what went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// The state with these five characters.
    pub const fn new(code: &[u8; 5]) -> Self {
        Self(*code)
    }

    /// The five characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("XX000")
    }

    /// The class: the first two characters.
    pub fn class(&self) -> &str {
        &self.as_str()[..2]
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! states {
    ($($name:ident = $code:literal),* $(,)?) => {
        /// The states that have a name here, as PostgreSQL's appendix A calls them.
        impl SqlState {
            $(#[doc = concat!("`", $code, "`")]
            pub const $name: Self = match $code.as_bytes() {
                [a, b, c, d, e] => Self([*a, *b, *c, *d, *e]),
                _ => panic!("an SQLSTATE has five characters"),
            };)*
        }
    };
}

states! {
    SUCCESSFUL_COMPLETION = "00000",
    WARNING = "01000",
    NO_DATA = "02000",
    CONNECTION_EXCEPTION = "08000",
    CONNECTION_FAILURE = "08006",
    PROTOCOL_VIOLATION = "08P01",
    FEATURE_NOT_SUPPORTED = "0A000",
    CONFIG_FILE_ERROR = "F0000",
    CARDINALITY_VIOLATION = "21000",
    DATA_EXCEPTION = "22000",
    STRING_DATA_RIGHT_TRUNCATION = "22001",
    NUMERIC_VALUE_OUT_OF_RANGE = "22003",
    NULL_VALUE_NOT_ALLOWED = "22004",
    INVALID_DATETIME_FORMAT = "22007",
    DATETIME_FIELD_OVERFLOW = "22008",
    INVALID_TIME_ZONE_DISPLACEMENT = "22009",
    SUBSTRING_ERROR = "22011",
    DIVISION_BY_ZERO = "22012",
    INTERVAL_FIELD_OVERFLOW = "22015",
    INVALID_ESCAPE_CHARACTER = "22019",
    INVALID_REGULAR_EXPRESSION = "2201B",
    INVALID_ARGUMENT_FOR_LOG = "2201E",
    INVALID_ARGUMENT_FOR_POWER = "2201F",
    INVALID_ARGUMENT_FOR_WIDTH_BUCKET = "2201G",
    INVALID_ROW_COUNT_IN_LIMIT = "2201W",
    INVALID_ROW_COUNT_IN_OFFSET = "2201X",
    CHARACTER_NOT_IN_REPERTOIRE = "22021",
    INVALID_PARAMETER_VALUE = "22023",
    INVALID_ESCAPE_SEQUENCE = "22025",
    ARRAY_ELEMENT_ERROR = "2202E",
    INVALID_TEXT_REPRESENTATION = "22P02",
    INVALID_BINARY_REPRESENTATION = "22P03",
    BAD_COPY_FILE_FORMAT = "22P04",
    UNTRANSLATABLE_CHARACTER = "22P05",
    DUPLICATE_JSON_OBJECT_KEY_VALUE = "22030",
    INTEGRITY_CONSTRAINT_VIOLATION = "23000",
    RESTRICT_VIOLATION = "23001",
    NOT_NULL_VIOLATION = "23502",
    FOREIGN_KEY_VIOLATION = "23503",
    UNIQUE_VIOLATION = "23505",
    CHECK_VIOLATION = "23514",
    INVALID_CURSOR_STATE = "24000",
    INVALID_TRANSACTION_STATE = "25000",
    ACTIVE_SQL_TRANSACTION = "25001",
    READ_ONLY_SQL_TRANSACTION = "25006",
    NO_ACTIVE_SQL_TRANSACTION = "25P01",
    IN_FAILED_SQL_TRANSACTION = "25P02",
    IDLE_IN_TRANSACTION_SESSION_TIMEOUT = "25P03",
    INVALID_SQL_STATEMENT_NAME = "26000",
    INVALID_AUTHORIZATION_SPECIFICATION = "28000",
    INVALID_PASSWORD = "28P01",
    DEPENDENT_OBJECTS_STILL_EXIST = "2BP01",
    INVALID_CURSOR_NAME = "34000",
    SAVEPOINT_EXCEPTION = "3B000",
    INVALID_SAVEPOINT_SPECIFICATION = "3B001",
    INVALID_CATALOG_NAME = "3D000",
    INVALID_SCHEMA_NAME = "3F000",
    TRANSACTION_ROLLBACK = "40000",
    SERIALIZATION_FAILURE = "40001",
    STATEMENT_COMPLETION_UNKNOWN = "40003",
    DEADLOCK_DETECTED = "40P01",
    SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION = "42000",
    INSUFFICIENT_PRIVILEGE = "42501",
    SYNTAX_ERROR = "42601",
    INVALID_NAME = "42602",
    NAME_TOO_LONG = "42622",
    INVALID_COLUMN_DEFINITION = "42611",
    DUPLICATE_COLUMN = "42701",
    AMBIGUOUS_COLUMN = "42702",
    UNDEFINED_COLUMN = "42703",
    UNDEFINED_OBJECT = "42704",
    DUPLICATE_OBJECT = "42710",
    DUPLICATE_ALIAS = "42712",
    DUPLICATE_FUNCTION = "42723",
    AMBIGUOUS_FUNCTION = "42725",
    GROUPING_ERROR = "42803",
    DATATYPE_MISMATCH = "42804",
    WRONG_OBJECT_TYPE = "42809",
    INVALID_FOREIGN_KEY = "42830",
    CANNOT_COERCE = "42846",
    UNDEFINED_FUNCTION = "42883",
    GENERATED_ALWAYS = "428C9",
    RESERVED_NAME = "42939",
    UNDEFINED_TABLE = "42P01",
    UNDEFINED_PARAMETER = "42P02",
    DUPLICATE_CURSOR = "42P03",
    DUPLICATE_DATABASE = "42P04",
    DUPLICATE_PREPARED_STATEMENT = "42P05",
    DUPLICATE_SCHEMA = "42P06",
    DUPLICATE_TABLE = "42P07",
    AMBIGUOUS_PARAMETER = "42P08",
    INVALID_COLUMN_REFERENCE = "42P10",
    INVALID_TABLE_DEFINITION = "42P16",
    INDETERMINATE_DATATYPE = "42P18",
    WITH_CHECK_OPTION_VIOLATION = "44000",
    INSUFFICIENT_RESOURCES = "53000",
    DISK_FULL = "53100",
    OUT_OF_MEMORY = "53200",
    TOO_MANY_CONNECTIONS = "53300",
    CONFIGURATION_LIMIT_EXCEEDED = "53400",
    PROGRAM_LIMIT_EXCEEDED = "54000",
    STATEMENT_TOO_COMPLEX = "54001",
    TOO_MANY_COLUMNS = "54011",
    TOO_MANY_ARGUMENTS = "54023",
    OBJECT_NOT_IN_PREREQUISITE_STATE = "55000",
    OBJECT_IN_USE = "55006",
    CANT_CHANGE_RUNTIME_PARAM = "55P02",
    LOCK_NOT_AVAILABLE = "55P03",
    QUERY_CANCELED = "57014",
    ADMIN_SHUTDOWN = "57P01",
    CRASH_SHUTDOWN = "57P02",
    CANNOT_CONNECT_NOW = "57P03",
    SYSTEM_ERROR = "58000",
    IO_ERROR = "58030",
    INTERNAL_ERROR = "XX000",
    DATA_CORRUPTED = "XX001",
}

/// What a failed statement answers. One word wide: the fields are boxed, for errors are rare.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.message)]
pub struct SqlError(Box<Fields>);

/// The fields of an [`SqlError`], named as in PostgreSQL's protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The SQLSTATE.
    pub code: SqlState,
    /// One line that says what is wrong.
    pub message: Cow<'static, str>,
    /// More about it.
    pub detail: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// Where in the statement: a count of characters, from 1.
    pub position: Option<u32>,
    /// What was being done: "COPY t, line 3".
    pub context: Option<String>,
    /// The schema of the table.
    pub schema: Option<String>,
    /// The table.
    pub table: Option<String>,
    /// The column.
    pub column: Option<String>,
    /// The data type.
    pub data_type: Option<String>,
    /// The constraint that was violated.
    pub constraint: Option<String>,
}

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
    pub fn new(code: SqlState, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Fields {
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
        }))
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
    pub fn fields(&self) -> &Fields {
        &self.0
    }

    /// All fields, to be changed.
    pub fn fields_mut(&mut self) -> &mut Fields {
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
    pub fn invalid_text(type_name: &str, text: &str) -> Self {
        Self::new(
            SqlState::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type {type_name}: \"{text}\""),
        )
    }

    /// Bytes that are no value of the type: 22P03.
    #[cold]
    pub fn invalid_binary(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
    }

    /// A number that its type cannot hold: 22003.
    #[cold]
    pub fn out_of_range(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
    }

    /// `x / 0`: 22012.
    #[cold]
    pub fn division_by_zero() -> Self {
        Self::new(SqlState::DIVISION_BY_ZERO, "division by zero")
    }

    /// An argument that makes no sense: 22023.
    #[cold]
    pub fn invalid_parameter(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(SqlState::INVALID_PARAMETER_VALUE, message)
    }

    /// What ScaleDB does not do: 0A000.
    #[cold]
    pub fn unsupported(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(SqlState::FEATURE_NOT_SUPPORTED, message)
    }

    /// A bug of ours: XX000.
    #[cold]
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(SqlState::INTERNAL_ERROR, message)
    }
}
