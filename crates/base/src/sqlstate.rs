//! What clients are told: SQLSTATEs, and the fields of errors and notices. One table for SQL, the wire protocol and the
//! server.

use std::borrow::Cow;
use std::fmt;
use std::panic::Location;

/// An SQLSTATE: the five characters that tell programs what went wrong.
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

            /// The state of a condition's name, in lower case: `unique_violation`.
            pub fn of_condition(name: &str) -> Option<Self> {
                let states = [$((stringify!($name), Self::$name)),*];
                states.into_iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, state)| state)
            }
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
    STACKED_DIAGNOSTICS_ACCESSED_WITHOUT_ACTIVE_HANDLER = "0Z002",
    CASE_NOT_FOUND = "20000",
    CARDINALITY_VIOLATION = "21000",
    DATA_EXCEPTION = "22000",
    STRING_DATA_RIGHT_TRUNCATION = "22001",
    NUMERIC_VALUE_OUT_OF_RANGE = "22003",
    NULL_VALUE_NOT_ALLOWED = "22004",
    ERROR_IN_ASSIGNMENT = "22005",
    INVALID_DATETIME_FORMAT = "22007",
    DATETIME_FIELD_OVERFLOW = "22008",
    INVALID_TIME_ZONE_DISPLACEMENT = "22009",
    SEQUENCE_GENERATOR_LIMIT_EXCEEDED = "2200H",
    SUBSTRING_ERROR = "22011",
    DIVISION_BY_ZERO = "22012",
    INVALID_PRECEDING_OR_FOLLOWING_SIZE = "22013",
    INVALID_ARGUMENT_FOR_NTILE = "22014",
    INTERVAL_FIELD_OVERFLOW = "22015",
    INVALID_ARGUMENT_FOR_NTH_VALUE = "22016",
    INVALID_USE_OF_ESCAPE_CHARACTER = "2200C",
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
    STRING_DATA_LENGTH_MISMATCH = "22026",
    ARRAY_ELEMENT_ERROR = "2202E",
    DUPLICATE_JSON_OBJECT_KEY_VALUE = "22030",
    INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION = "22031",
    INVALID_JSON_TEXT = "22032",
    INVALID_SQL_JSON_SUBSCRIPT = "22033",
    MORE_THAN_ONE_SQL_JSON_ITEM = "22034",
    NO_SQL_JSON_ITEM = "22035",
    NON_NUMERIC_SQL_JSON_ITEM = "22036",
    NON_UNIQUE_KEYS_IN_A_JSON_OBJECT = "22037",
    SINGLETON_SQL_JSON_ITEM_REQUIRED = "22038",
    SQL_JSON_ARRAY_NOT_FOUND = "22039",
    SQL_JSON_MEMBER_NOT_FOUND = "2203A",
    SQL_JSON_NUMBER_NOT_FOUND = "2203B",
    SQL_JSON_OBJECT_NOT_FOUND = "2203C",
    TOO_MANY_JSON_ARRAY_ELEMENTS = "2203D",
    TOO_MANY_JSON_OBJECT_MEMBERS = "2203E",
    SQL_JSON_SCALAR_REQUIRED = "2203F",
    INVALID_TEXT_REPRESENTATION = "22P02",
    INVALID_BINARY_REPRESENTATION = "22P03",
    BAD_COPY_FILE_FORMAT = "22P04",
    UNTRANSLATABLE_CHARACTER = "22P05",
    INTEGRITY_CONSTRAINT_VIOLATION = "23000",
    RESTRICT_VIOLATION = "23001",
    NOT_NULL_VIOLATION = "23502",
    FOREIGN_KEY_VIOLATION = "23503",
    UNIQUE_VIOLATION = "23505",
    CHECK_VIOLATION = "23514",
    EXCLUSION_VIOLATION = "23P01",
    INVALID_CURSOR_STATE = "24000",
    INVALID_TRANSACTION_STATE = "25000",
    ACTIVE_SQL_TRANSACTION = "25001",
    READ_ONLY_SQL_TRANSACTION = "25006",
    NO_ACTIVE_SQL_TRANSACTION = "25P01",
    IN_FAILED_SQL_TRANSACTION = "25P02",
    IDLE_IN_TRANSACTION_SESSION_TIMEOUT = "25P03",
    INVALID_SQL_STATEMENT_NAME = "26000",
    TRIGGERED_DATA_CHANGE_VIOLATION = "27000",
    INVALID_AUTHORIZATION_SPECIFICATION = "28000",
    INVALID_PASSWORD = "28P01",
    DEPENDENT_OBJECTS_STILL_EXIST = "2BP01",
    INVALID_TRANSACTION_TERMINATION = "2D000",
    FUNCTION_EXECUTED_NO_RETURN_STATEMENT = "2F005",
    INVALID_CURSOR_NAME = "34000",
    EXTERNAL_ROUTINE_INVOCATION_EXCEPTION = "39000",
    TRIGGER_PROTOCOL_VIOLATED = "39P01",
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
    INVALID_COLUMN_DEFINITION = "42611",
    NAME_TOO_LONG = "42622",
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
    INVALID_GRANT_OPERATION = "0LP01",
    PRIVILEGE_NOT_GRANTED = "01007",
    PRIVILEGE_NOT_REVOKED = "01006",
    UNDEFINED_TABLE = "42P01",
    UNDEFINED_PARAMETER = "42P02",
    DUPLICATE_CURSOR = "42P03",
    DUPLICATE_DATABASE = "42P04",
    DUPLICATE_PREPARED_STATEMENT = "42P05",
    DUPLICATE_SCHEMA = "42P06",
    DUPLICATE_TABLE = "42P07",
    AMBIGUOUS_PARAMETER = "42P08",
    INVALID_COLUMN_REFERENCE = "42P10",
    INVALID_FUNCTION_DEFINITION = "42P13",
    INVALID_TABLE_DEFINITION = "42P16",
    INVALID_OBJECT_DEFINITION = "42P17",
    INDETERMINATE_DATATYPE = "42P18",
    INVALID_RECURSION = "42P19",
    WINDOWING_ERROR = "42P20",
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
    SNAPSHOT_TOO_OLD = "72000",
    CONFIG_FILE_ERROR = "F0000",
    PLPGSQL_ERROR = "P0000",
    RAISE_EXCEPTION = "P0001",
    NO_DATA_FOUND = "P0002",
    TOO_MANY_ROWS = "P0003",
    ASSERT_FAILURE = "P0004",
    INTERNAL_ERROR = "XX000",
    DATA_CORRUPTED = "XX001",
}

/// What an error or a notice says, with the fields of PostgreSQL's protocol. What is `None` is not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorFields {
    /// The SQLSTATE (`C`).
    pub code: SqlState,
    /// One line that says what is wrong (`M`).
    pub message: Cow<'static, str>,
    /// More about it (`D`).
    pub detail: Option<String>,
    /// What to do (`H`).
    pub hint: Option<String>,
    /// Where in the statement: a count of characters, from 1 (`P`).
    pub position: Option<u32>,
    /// What was being done: "COPY t, line 3" (`W`).
    pub context: Option<String>,
    /// The schema of the table (`s`).
    pub schema: Option<String>,
    /// The table (`t`).
    pub table: Option<String>,
    /// The column (`c`).
    pub column: Option<String>,
    /// The data type (`d`).
    pub data_type: Option<String>,
    /// The constraint that was violated (`n`).
    pub constraint: Option<String>,
    /// The function of PostgreSQL's source that raises it (`R`): drivers tell some errors by it.
    pub routine: Option<&'static str>,
    /// Where in a text that is not the client's, as one in a function: a count of characters from 1 (`p`), and that
    /// text (`q`).
    pub internal: Option<(u32, String)>,
    /// Where in our source it was made (`F`, `L`, and `R` if there is no other).
    pub origin: Origin,
}

/// Where in our source an error was made. It makes no two errors differ.
#[derive(Clone, Copy, Debug)]
pub struct Origin(&'static Location<'static>);

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Origin {}

impl Origin {
    /// The file, from the name of its crate on.
    pub fn file(&self) -> &'static str {
        let file = self.0.file();
        file.rfind("crates/").map_or(file, |at| &file[at + "crates/".len()..])
    }

    /// The line in the file.
    pub fn line(&self) -> u32 {
        self.0.line()
    }

    /// The module that the file is, as the name of the routine: `sql::exec::scan`.
    pub fn module(&self) -> String {
        let path = self.file().trim_end_matches(".rs").trim_end_matches("/mod").trim_end_matches("/lib");
        path.replace("/src/", "::").trim_end_matches("/src").replace('/', "::")
    }
}

impl ErrorFields {
    /// A state and a message, and nothing more but from where it was called.
    #[track_caller]
    pub fn new(code: SqlState, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
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
            routine: None,
            internal: None,
            origin: Origin(Location::caller()),
        }
    }
}
