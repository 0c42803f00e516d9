//! COPY and its options, in both forms that PostgreSQL has of them.

use super::cursor::{Cursor, names, parenthesized, value};
use super::lex::Kind;
use scaledb_types::{Result, SqlError, SqlState};

/// The format of a COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFormat {
    Text,
    Csv,
    Binary,
}

/// A COPY statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// A table with its columns, or a query.
    pub source: CopySource,
    pub into_table: bool,
    pub format: CopyFormat,
    pub delimiter: u8,
    pub null: String,
    pub header: bool,
    /// Whether its rows are to be frozen: nothing is done then, but the table has to be new.
    pub freeze: bool,
    /// Whether the names in the header must be those of the columns.
    pub matches: bool,
    pub quote: u8,
    pub escape: u8,
    pub force_quote_all: bool,
    pub force_quote: Vec<String>,
    pub force_not_null: Vec<String>,
    pub force_null: Vec<String>,
    /// Which rows go into the table.
    pub condition: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopySource {
    Table { schema: Option<String>, name: String, columns: Vec<String> },
    Query(String),
}

/// What stands behind COPY.
pub(super) fn copy(at: &mut Cursor<'_>) -> Result<Copy> {
    let source = if at.ahead.is_some_and(|t| t.is_sign(at.text, "(")) {
        CopySource::Query(parenthesized(at)?.to_owned())
    } else {
        at.accept("table");
        let mut name = at.name()?;
        let mut schema = None;
        if at.accept_sign(".") {
            schema = Some(std::mem::replace(&mut name, at.name()?));
        }
        let mut columns = Vec::new();
        if at.accept_sign("(") {
            columns.push(at.name()?);
            while at.accept_sign(",") {
                columns.push(at.name()?);
            }
            at.expect_sign(")")?;
        }
        CopySource::Table { schema, name, columns }
    };
    let into_table = at.accept("from");
    if !into_table {
        at.expect("to")?;
    }
    // either word means the client, whichever way the rows go
    if !at.accept("stdin") && !at.accept("stdout") {
        return Err(no_files());
    }
    let mut copy = Copy {
        source,
        into_table,
        format: CopyFormat::Text,
        delimiter: b'\t',
        null: "\\N".to_owned(),
        header: false,
        freeze: false,
        matches: false,
        quote: b'"',
        escape: b'"',
        force_quote_all: false,
        force_quote: Vec::new(),
        force_not_null: Vec::new(),
        force_null: Vec::new(),
        condition: None,
    };
    copy_options(at, &mut copy)?;
    if into_table && at.accept("where") {
        copy.condition = Some(at.rest().to_owned());
    }
    if into_table && matches!(copy.source, CopySource::Query(_)) {
        return Err(at.unexpected());
    }
    Ok(copy)
}

fn no_files() -> SqlError {
    SqlError::new(
        SqlState::INSUFFICIENT_PRIVILEGE,
        "COPY to or from a file or program of the server is not allowed",
    )
    .hint("COPY FROM STDIN and COPY TO STDOUT read and write at the client; so does psql's \\copy.")
}

fn copy_options(at: &mut Cursor<'_>, copy: &mut Copy) -> Result<()> {
    let (mut delimiter, mut null, mut escape) = (None, None, None);
    let mut given: Vec<String> = Vec::new();
    at.accept("with");
    let list = at.accept_sign("(");
    loop {
        let ended = at.ahead.is_none_or(|token| token.is(at.text, "where"));
        if ended && !list || list && at.accept_sign(")") {
            break;
        }
        let option = at.name()?;
        if given.contains(&option) && option != "force" {
            let what = "conflicting or redundant options";
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        given.push(option.clone());
        match option.as_str() {
            "format" => {
                copy.format = match value(at)?.as_str() {
                    "text" => CopyFormat::Text,
                    "csv" => CopyFormat::Csv,
                    "binary" => CopyFormat::Binary,
                    other => {
                        let what = format!("COPY format \"{other}\" not recognized");
                        return Err(SqlError::invalid_parameter(what));
                    }
                }
            }
            "csv" if !list => copy.format = CopyFormat::Csv,
            "binary" if !list => copy.format = CopyFormat::Binary,
            "freeze" => copy.freeze = flag(at)?,
            "header" if at.accept("match") => {
                if !copy.into_table {
                    return Err(SqlError::unsupported("cannot use \"match\" with HEADER in COPY TO"));
                }
                (copy.header, copy.matches) = (true, true);
            }
            "header" => copy.header = flag(at)?,
            "delimiter" | "delimiters" => {
                at.accept("as");
                delimiter = Some(byte(&value(at)?, "delimiter")?);
            }
            "null" => {
                at.accept("as");
                null = Some(value(at)?);
            }
            "quote" => {
                at.accept("as");
                copy.quote = byte(&value(at)?, "quote")?;
            }
            "escape" => {
                at.accept("as");
                escape = Some(byte(&value(at)?, "escape")?);
            }
            "encoding" => {
                value(at)?;
            }
            "force" if !list => {
                let not = at.accept("not");
                if not {
                    at.expect("null")?;
                    copy.force_not_null = names(at, false)?;
                } else if at.accept("null") {
                    copy.force_null = names(at, false)?;
                } else {
                    at.expect("quote")?;
                    copy.force_quote_all = at.accept_sign("*");
                    if !copy.force_quote_all {
                        copy.force_quote = names(at, false)?;
                    }
                }
            }
            "force_quote" => {
                copy.force_quote_all = at.accept_sign("*");
                if !copy.force_quote_all {
                    copy.force_quote = names(at, true)?;
                }
            }
            "force_not_null" => copy.force_not_null = names(at, true)?,
            "force_null" => copy.force_null = names(at, true)?,
            other => {
                let what = format!("option \"{other}\" not recognized");
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
            }
        }
        if list && !at.accept_sign(",") {
            at.expect_sign(")")?;
            break;
        }
    }
    if copy.format == CopyFormat::Csv {
        copy.delimiter = b',';
        copy.null = String::new();
        copy.escape = escape.unwrap_or(copy.quote);
    }
    copy.delimiter = delimiter.unwrap_or(copy.delimiter);
    copy.null = null.unwrap_or_else(|| std::mem::take(&mut copy.null));
    Ok(())
}

fn flag(at: &mut Cursor<'_>) -> Result<bool> {
    for (word, on) in [("on", true), ("true", true), ("off", false), ("false", false)] {
        if at.accept(word) {
            return Ok(on);
        }
    }
    Ok(match at.ahead.filter(|t| t.kind == Kind::Number).map(|t| t.of(at.text)) {
        Some(number) => {
            let on = number != "0";
            at.next();
            on
        }
        None => true,
    })
}

fn byte(text: &str, what: &str) -> Result<u8> {
    match text.as_bytes() {
        [b] if *b != b'\n' && *b != b'\r' => Ok(*b),
        _ => Err(SqlError::unsupported(format!("COPY {what} must be a single one-byte character"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::{Utility, parse};

    fn parsed(text: &str) -> Utility {
        parse(text).expect("a utility statement").unwrap()
    }

    #[test]
    fn copy_takes_both_forms_of_options() {
        let Utility::Copy(copy) =
            parsed("copy s.t (a, \"B\") from stdin with (freeze on, format csv, header)")
        else {
            panic!()
        };
        assert!(copy.into_table && copy.header && copy.format == CopyFormat::Csv && copy.delimiter == b',');
        let Utility::Copy(copy) = parsed("COPY (select ')' from t) TO STDOUT CSV DELIMITER ';' NULL 'x'")
        else {
            panic!()
        };
        assert_eq!(copy.source, CopySource::Query("select ')' from t".to_owned()));
        assert_eq!((copy.delimiter, copy.null.as_str()), (b';', "x"));
    }

    #[test]
    fn either_word_is_the_client() {
        for (text, into_table) in [("COPY t TO STDIN BINARY", false), ("COPY t FROM STDOUT", true)] {
            let Utility::Copy(copy) = parsed(text) else { panic!() };
            assert_eq!(copy.into_table, into_table, "{text}");
        }
        assert!(parse("COPY t TO 'file'").is_some_and(|copy| copy.is_err()));
    }
}
