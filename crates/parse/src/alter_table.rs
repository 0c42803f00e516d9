//! Forms of ALTER TABLE and ALTER INDEX that the parser does not know. The syntax tree has no place for them: they are
//! properties of tables of another database, which no statement gets otherwise.

use super::alter_sequence::{self, Options};
use super::cursor::Cursor;
use super::marked;
use super::sequence::add_identity;
use scaledb_types::SqlError;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    AlterColumnOperation, AlterIndexOperation, AlterTable, AlterTableOperation, Expr, Ident, ObjectName,
    ObjectNamePart, SqlOption, Statement,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// A change of one of these forms.
pub enum Own {
    /// ALTER COLUMN .. DROP IDENTITY.
    DropIdentity { column: Ident, if_exists: bool },
    /// ALTER COLUMN .. SET GENERATED, SET of an option of its sequence, RESTART.
    Identity { column: Ident, always: Option<bool>, options: Options },
    /// ALTER CONSTRAINT .. DEFERRABLE: whether it may be deferred, and whether it is at first.
    Constraint { name: Ident, deferrable: bool, deferred: bool },
    /// What says how PostgreSQL keeps rows: a column or an index that it is about, and parameters, with values if they
    /// are set.
    Storage { column: Option<Ident>, index: Option<Ident>, parameters: Vec<String> },
    /// What there is not: the words for it.
    Absent(String),
}

const DROP_IDENTITY: &str = "DROP IDENTITY";
const IDENTITY: &str = "IDENTITY";
const CONSTRAINT: &str = "CONSTRAINT";
const STORAGE: &str = "STORAGE";
const KEPT: &str = "KEPT";
const ABSENT: &str = "ABSENT";

/// What stands before the name of an index that there may not be.
pub const IF_EXISTS: &str = "IF EXISTS";
/// The new name of an index that gets other parameters.
pub const PARAMETERS: &str = "PARAMETERS";

/// The kind of a change, and what it is about.
fn own_operation(kind: &str, parts: Vec<Ident>) -> AlterTableOperation {
    let key = Ident::new(kind);
    let table_properties = vec![SqlOption::KeyValue { key, value: Expr::CompoundIdentifier(parts) }];
    AlterTableOperation::SetTblProperties { table_properties }
}

/// A change that is none of the parser's.
///
/// # Errors
/// 42601 and 22003 for options of a sequence, 22023 for what no column has.
pub fn own(operation: &AlterTableOperation) -> scaledb_types::Result<Option<Own>> {
    let AlterTableOperation::SetTblProperties { table_properties } = operation else { return Ok(None) };
    let [SqlOption::KeyValue { key, value: Expr::CompoundIdentifier(parts) }] = &table_properties[..] else {
        return Ok(None);
    };
    let text = |part: &Ident| part.value.clone();
    let named = |part: &Ident| (!part.value.is_empty()).then(|| part.clone());
    Ok(Some(match (key.value.as_str(), &parts[..]) {
        (DROP_IDENTITY, [column, if_exists]) => {
            Own::DropIdentity { column: column.clone(), if_exists: !if_exists.value.is_empty() }
        }
        (IDENTITY, [column, generated, options]) => Own::Identity {
            column: column.clone(),
            always: named(generated).map(|word| word.value == "ALWAYS"),
            options: match options.value.as_str() {
                "" => Options::default(),
                text => alter_sequence::options(&mut Cursor::new(text))?,
            },
        },
        (CONSTRAINT, [name, deferrable, deferred]) => Own::Constraint {
            name: name.clone(),
            deferrable: !deferrable.value.is_empty(),
            deferred: !deferred.value.is_empty(),
        },
        (STORAGE, [column, index, parameters @ ..]) => Own::Storage {
            column: named(column),
            index: named(index),
            parameters: parameters.iter().map(text).collect(),
        },
        (KEPT, [column, what, value]) => {
            check_kept(&what.value, &value.value)?;
            Own::Storage { column: named(column), index: None, parameters: Vec::new() }
        }
        (ABSENT, [words]) => Own::Absent(text(words)),
        _ => return Err(SqlError::internal("a change of another kind")),
    }))
}

/// What SET STORAGE, STATISTICS or COMPRESSION says of a column.
///
/// # Errors
/// 22023.
fn check_kept(what: &str, value: &str) -> scaledb_types::Result<()> {
    let is_one = |of: &[&str]| of.iter().any(|known| value.eq_ignore_ascii_case(known));
    let wrong = match what {
        "STORAGE" if !is_one(&["plain", "external", "extended", "main"]) => {
            format!("invalid storage type \"{value}\"")
        }
        "COMPRESSION" if !is_one(&["pglz", "lz4", "default"]) => {
            format!("invalid compression method \"{}\"", value.to_lowercase())
        }
        "STATISTICS" if value.starts_with('-') && value != "-1" => {
            format!("statistics target {value} is too low")
        }
        _ => return Ok(()),
    };
    Err(SqlError::invalid_parameter(wrong))
}

/// ALTER TABLE or ALTER INDEX, if the parser is at one.
pub(super) fn statement(parser: &mut Parser<'_>) -> Option<Result<Statement, ParserError>> {
    if parser.parse_keywords(&[Keyword::ALTER, Keyword::INDEX]) {
        return Some(index(parser));
    }
    parser.parse_keywords(&[Keyword::ALTER, Keyword::TABLE]).then(|| table(parser))
}

fn index(parser: &mut Parser<'_>) -> Result<Statement, ParserError> {
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let mut name = parser.parse_object_name(false)?;
    if if_exists {
        name.0.insert(0, ObjectNamePart::Identifier(Ident::new(IF_EXISTS)));
        name.0.insert(0, ObjectNamePart::Identifier(Ident::new("")));
    }
    let index_name = if parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
        parser.parse_object_name(false)?
    } else {
        if parser.parse_keyword(Keyword::ALTER) {
            let _ = parser.parse_keyword(Keyword::COLUMN);
            parser.parse_number_value()?;
            parser.expect_keyword_is(Keyword::SET)?;
            if !word(parser, "STATISTICS") {
                return parser.expected_ref("STATISTICS", parser.peek_token_ref());
            }
            number(parser)?;
        } else {
            parser.expect_one_of_keywords(&[Keyword::SET, Keyword::RESET])?;
            parameters(parser)?;
        }
        ObjectName::from(vec![Ident::new(""), Ident::new(PARAMETERS)])
    };
    Ok(Statement::AlterIndex { name, operation: AlterIndexOperation::RenameIndex { index_name } })
}

/// Takes IF EXISTS from the name of an index.
pub fn split_if_exists(name: &ObjectName) -> (ObjectName, bool) {
    match &name.0[..] {
        [ObjectNamePart::Identifier(none), ObjectNamePart::Identifier(mark), rest @ ..]
            if none.value.is_empty() && none.quote_style.is_none() && mark.value == IF_EXISTS =>
        {
            (ObjectName(rest.to_vec()), true)
        }
        _ => (name.clone(), false),
    }
}

/// Whether the new name of an index stands for other parameters.
pub fn is_about_parameters(name: &ObjectName) -> bool {
    marked::mark_of(name) == Some(PARAMETERS)
}

fn table(parser: &mut Parser<'_>) -> Result<Statement, ParserError> {
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let only = parser.parse_keyword(Keyword::ONLY);
    let parenthesized = only && parser.consume_token(&Token::LParen);
    let name = parser.parse_object_name(false)?;
    if parenthesized {
        parser.expect_token(&Token::RParen)?;
    }
    let _ = !only && parser.consume_token(&Token::Mul);
    let operations = parser.parse_comma_separated(|parser| {
        add_identity(parser)
            .or_else(|| column(parser).transpose())
            .or_else(|| table_form(parser).transpose())
            .unwrap_or_else(|| parser.parse_alter_table_operation())
    })?;
    let end_token = AttachedToken(parser.get_current_token().clone());
    let (location, on_cluster, table_type) = (None, None, None);
    let alter = AlterTable { name, if_exists, only, operations, location, on_cluster, table_type, end_token };
    Ok(Statement::AlterTable(alter))
}

/// Whether a word comes, which is passed over then.
fn word(parser: &mut Parser<'_>, wanted: &str) -> bool {
    let is = matches!(&parser.peek_token_ref().token,
        Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted));
    if is {
        parser.advance_token();
    }
    is
}

/// Whether the token behind this many others is a word.
fn is_word(parser: &Parser<'_>, at: usize, wanted: &str) -> bool {
    matches!(&parser.peek_nth_token_ref(at).token,
        Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

/// A number, perhaps with a sign.
fn number(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    let minus = parser.consume_token(&Token::Minus);
    let _ = !minus && parser.consume_token(&Token::Plus);
    let number = parser.parse_number_value()?;
    Ok(if minus { format!("-{number}") } else { number.to_string() })
}

/// `(a, b.c = 5, d)`: the names, with their values.
fn parameters(parser: &mut Parser<'_>) -> Result<Vec<Ident>, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let names = parser.parse_comma_separated(|parser| {
        let mut name = parser.parse_identifier()?;
        if parser.consume_token(&Token::Period) {
            name = Ident::new(format!("{}.{}", name.value, parser.parse_identifier()?.value));
        }
        let name = name.value.to_lowercase();
        Ok(Ident::new(if parser.consume_token(&Token::Eq) {
            format!("{name}={}", parser.parse_expr()?.to_string().trim_matches('\''))
        } else {
            name
        }))
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(names)
}

type Operation = Result<Option<AlterTableOperation>, ParserError>;

/// `CLUSTER ON i`, `SET (..)` and other forms of the table itself.
fn table_form(parser: &mut Parser<'_>) -> Operation {
    let none = || Ident::new("");
    let absent = |words: &str| Ok(Some(own_operation(ABSENT, vec![Ident::new(words)])));
    let storage = |index: Ident, parameters: Vec<Ident>| {
        let mut parts = vec![none(), index];
        parts.extend(parameters);
        Ok(Some(own_operation(STORAGE, parts)))
    };
    let resets = is_word(parser, 0, "RESET");
    if (resets || is_word(parser, 0, "SET")) && parser.peek_nth_token_ref(1).token == Token::LParen {
        parser.advance_token();
        let parameters = parameters(parser)?;
        return storage(none(), parameters);
    }
    let begins = |words: &[&str]| words.iter().enumerate().all(|(at, word)| is_word(parser, at, word));
    let forms: [(&[&str], &str); 14] = [
        (&["CLUSTER", "ON"], ""),
        (&["SET", "WITHOUT", "CLUSTER"], ""),
        (&["SET", "WITHOUT", "OIDS"], ""),
        (&["SET", "LOGGED"], ""),
        (&["SET", "ACCESS", "METHOD"], ""),
        (&["ALTER", "CONSTRAINT"], ""),
        (&["SET", "UNLOGGED"], "UNLOGGED tables are"),
        (&["SET", "TABLESPACE"], "tablespaces are"),
        (&["NO", "INHERIT"], "inheritance is"),
        (&["INHERIT"], "inheritance is"),
        (&["OF"], "tables of a type are"),
        (&["NOT", "OF"], "tables of a type are"),
        (&["ATTACH", "PARTITION"], "partitions that are tables of their own are"),
        (&["DETACH", "PARTITION"], "partitions that are tables of their own are"),
    ];
    let Some((words, missing)) = forms.iter().find(|(words, _)| begins(words)) else { return Ok(None) };
    words.iter().for_each(|_| parser.advance_token());
    if !missing.is_empty() {
        while !matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon | Token::Comma) {
            parser.advance_token();
        }
        return absent(missing);
    }
    match words {
        ["CLUSTER", _] => {
            let index = parser.parse_identifier()?;
            storage(index, Vec::new())
        }
        ["SET", "ACCESS", _] => {
            parser.parse_identifier()?;
            storage(none(), Vec::new())
        }
        ["ALTER", _] => {
            let name = parser.parse_identifier()?;
            let (mut deferrable, mut deferred) = (None, None);
            loop {
                let (what, says) = if parser.parse_keywords(&[Keyword::NOT, Keyword::DEFERRABLE]) {
                    (&mut deferrable, false)
                } else if parser.parse_keyword(Keyword::DEFERRABLE) {
                    (&mut deferrable, true)
                } else if parser.parse_keywords(&[Keyword::INITIALLY, Keyword::DEFERRED]) {
                    (&mut deferred, true)
                } else if parser.parse_keywords(&[Keyword::INITIALLY, Keyword::IMMEDIATE]) {
                    (&mut deferred, false)
                } else {
                    break;
                };
                if what.replace(says).is_some_and(|before| before != says) {
                    return Err(ParserError::ParserError("conflicting constraint properties".to_owned()));
                }
            }
            if (deferrable, deferred) == (Some(false), Some(true)) {
                let what = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
                return Err(ParserError::ParserError(what.to_owned()));
            }
            let deferred = deferred == Some(true);
            let deferrable = deferrable.unwrap_or(deferred);
            let flag = |on: bool| Ident::new(if on { "yes" } else { "" });
            Ok(Some(own_operation(CONSTRAINT, vec![name, flag(deferrable), flag(deferred)])))
        }
        _ => storage(none(), Vec::new()),
    }
}

/// ALTER COLUMN in a form that the parser does not know.
fn column(parser: &mut Parser<'_>) -> Operation {
    if !is_word(parser, 0, "ALTER") || is_word(parser, 1, "CONSTRAINT") {
        return Ok(None);
    }
    let at = if is_word(parser, 1, "COLUMN") { 2 } else { 1 };
    let is = |words: &[&str]| words.iter().enumerate().all(|(n, word)| is_word(parser, at + 1 + n, word));
    let of_type = if is(&["TYPE"]) {
        1
    } else if is(&["SET", "DATA", "TYPE"]) {
        3
    } else {
        0
    };
    let sets_parameters =
        (is(&["SET"]) || is(&["RESET"])) && parser.peek_nth_token_ref(at + 2).token == Token::LParen;
    let of_storage = ["STORAGE", "STATISTICS", "COMPRESSION"].into_iter().find(|word| is(&["SET", word]));
    let drops = is(&["DROP", "IDENTITY"]);
    let of_identity = is(&["RESTART"])
        || is(&["SET"])
            && [
                "GENERATED",
                "RESTART",
                "INCREMENT",
                "START",
                "MINVALUE",
                "MAXVALUE",
                "CACHE",
                "CYCLE",
                "NO",
                "AS",
            ]
            .iter()
            .any(|word| is(&["SET", word]));
    if of_type == 0 && !sets_parameters && of_storage.is_none() && !drops && !of_identity {
        return Ok(None);
    }
    (0..at).for_each(|_| parser.advance_token());
    let column = parser.parse_identifier()?;
    let storage = |column: Ident, parameters: Vec<Ident>| {
        let mut parts = vec![column, Ident::new("")];
        parts.extend(parameters);
        Ok(Some(own_operation(STORAGE, parts)))
    };
    if of_type > 0 {
        (0..of_type).for_each(|_| parser.advance_token());
        let data_type = parser.parse_data_type()?;
        if parser.parse_keyword(Keyword::COLLATE) {
            parser.parse_object_name(false)?;
        }
        let using = parser.parse_keyword(Keyword::USING).then(|| parser.parse_expr()).transpose()?;
        let op = AlterColumnOperation::SetDataType { data_type, using, had_set: of_type > 1 };
        return Ok(Some(AlterTableOperation::AlterColumn { column_name: column, op }));
    }
    parser.advance_token();
    if sets_parameters {
        let parameters = parameters(parser)?;
        return storage(column, parameters);
    }
    if let Some(of_storage) = of_storage {
        parser.advance_token();
        let value = match of_storage {
            "STATISTICS" => number(parser)?,
            _ => parser.parse_identifier()?.value,
        };
        return Ok(Some(own_operation(KEPT, vec![column, Ident::new(of_storage), Ident::new(value)])));
    }
    if drops {
        parser.advance_token();
        let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
        let flag = Ident::new(if if_exists { "yes" } else { "" });
        return Ok(Some(own_operation(DROP_IDENTITY, vec![column, flag])));
    }
    identity(parser, column).map(Some)
}

/// What stands behind the name of an identity column and its first word.
fn identity(parser: &mut Parser<'_>, column: Ident) -> Result<AlterTableOperation, ParserError> {
    let (mut generated, mut options) = ("", String::new());
    let is_set = |parser: &Parser<'_>| matches!(&parser.get_current_token().token, Token::Word(word) if word.keyword == Keyword::SET);
    let mut sets = is_set(parser);
    loop {
        if sets && generated.is_empty() && parser.parse_keyword(Keyword::GENERATED) {
            generated = if parser.parse_keyword(Keyword::ALWAYS) {
                "ALWAYS"
            } else {
                parser.expect_keywords(&[Keyword::BY, Keyword::DEFAULT])?;
                "BY DEFAULT"
            };
        } else {
            // the words of one option
            let mut begun = !sets;
            options.push_str(if sets { "" } else { " RESTART" });
            loop {
                let restarts = begun && is_word(parser, 0, "RESTART");
                let ended =
                    matches!(parser.peek_token_ref().token, Token::EOF | Token::SemiColon | Token::Comma);
                if ended || restarts || is_word(parser, 0, "SET") {
                    break;
                }
                options.push(' ');
                options.push_str(&parser.next_token().token.to_string());
                begun = true;
            }
        }
        if !parser.parse_keyword(Keyword::RESTART) && !parser.parse_keyword(Keyword::SET) {
            break;
        }
        sets = is_set(parser);
    }
    Ok(own_operation(IDENTITY, vec![column, Ident::new(generated), Ident::new(options.trim())]))
}
