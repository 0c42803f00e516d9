//! DROP .. IF EXISTS of kinds of objects that there are not: what set-up scripts, and dumps with `--clean`, begin with.

use super::cursor::Cursor;
use super::lex::{Kind, Lexer};
use super::utility::Utility;
use scaledb_types::{Result, SqlError, SqlState};

/// How a kind of objects names them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Names without schemas, perhaps several.
    Names,
    /// Names with schemas, perhaps several.
    Qualified,
    /// `a ON table`.
    OnTable,
    /// `a USING btree`.
    Using,
    /// `a(int)`, perhaps several.
    Calls,
    /// `=== (int, int)`, perhaps several.
    Operators,
    /// `(a AS b)`.
    Cast,
    /// `FOR a LANGUAGE b`.
    Transform,
    /// `FOR a SERVER b`.
    Mapping,
}

/// The words behind DROP, the tag, what messages call it, and how it is named.
#[rustfmt::skip]
const KINDS: &[(&str, &str, &str, Form)] = &[
    ("access method", "DROP ACCESS METHOD", "access method", Form::Names),
    ("aggregate", "DROP AGGREGATE", "aggregate", Form::Calls),
    ("cast", "DROP CAST", "cast", Form::Cast),
    ("collation", "DROP COLLATION", "collation", Form::Qualified),
    ("conversion", "DROP CONVERSION", "conversion", Form::Qualified),
    ("event trigger", "DROP EVENT TRIGGER", "event trigger", Form::Names),
    ("foreign data wrapper", "DROP FOREIGN DATA WRAPPER", "foreign-data wrapper", Form::Names),
    ("foreign table", "DROP FOREIGN TABLE", "foreign table", Form::Qualified),
    ("language", "DROP LANGUAGE", "language", Form::Names),
    ("procedural language", "DROP LANGUAGE", "language", Form::Names),
    ("operator class", "DROP OPERATOR CLASS", "operator class", Form::Using),
    ("operator family", "DROP OPERATOR FAMILY", "operator family", Form::Using),
    ("operator", "DROP OPERATOR", "operator", Form::Operators),
    ("publication", "DROP PUBLICATION", "publication", Form::Names),
    ("rule", "DROP RULE", "rule", Form::OnTable),
    ("server", "DROP SERVER", "server", Form::Names),
    ("statistics", "DROP STATISTICS", "statistics object", Form::Qualified),
    ("subscription", "DROP SUBSCRIPTION", "subscription", Form::Names),
    ("tablespace", "DROP TABLESPACE", "tablespace", Form::Names),
    ("text search configuration", "DROP TEXT SEARCH CONFIGURATION", "text search configuration", Form::Qualified),
    ("text search dictionary", "DROP TEXT SEARCH DICTIONARY", "text search dictionary", Form::Qualified),
    ("text search parser", "DROP TEXT SEARCH PARSER", "text search parser", Form::Qualified),
    ("text search template", "DROP TEXT SEARCH TEMPLATE", "text search template", Form::Qualified),
    ("transform", "DROP TRANSFORM", "transform", Form::Transform),
    ("user mapping", "DROP USER MAPPING", "user mapping", Form::Mapping),
];

/// Such objects that there are, of PostgreSQL or as if they were.
#[rustfmt::skip]
const THERE: &[(&str, &[&str])] = &[
    ("language", &["plpgsql", "sql", "c", "internal"]),
    ("collation", &["default", "C", "POSIX", "ucs_basic", "C.utf8", "en_US.utf8", "und-x-icu", "unicode"]),
    ("access method", &["heap", "btree", "hash", "gin", "gist", "spgist", "brin"]),
    ("tablespace", &["pg_default", "pg_global"]),
    ("text search parser", &["default"]),
    ("text search dictionary", &["simple", "english_stem"]),
    ("text search template", &["simple", "synonym", "ispell", "thesaurus", "snowball"]),
    ("text search configuration", &["simple", "english"]),
];

/// Objects that there are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropAbsent {
    pub tag: &'static str,
    pub objects: Vec<Absent>,
}

/// An object that there is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Absent {
    /// Its schema, which may not be there either.
    pub schema: Option<String>,
    /// The table that it would be on.
    pub table: Option<(Option<String>, String)>,
    /// Types that it would be of: their texts.
    pub types: Vec<String>,
    /// The name of a relation that there may be, and is of another kind.
    pub other: Option<String>,
    /// Whether it is a cast from the first of the types to the second.
    pub is_cast: bool,
    /// What the notice says of it.
    pub what: String,
}

/// Whether a statement is one of these.
pub(super) fn is_about(text: &str) -> bool {
    let mut at = Cursor::new(text);
    at.accept("drop") && kind(&mut at).is_some() && at.accept("if")
}

/// The kind whose words come next.
fn kind(at: &mut Cursor<'_>) -> Option<(&'static str, &'static str, Form)> {
    let rest = at.ahead.map_or("", |token| &at.text[token.start..]);
    let words: Vec<String> = Lexer::new(rest)
        .take_while(|token| token.kind == Kind::Word)
        .take(4)
        .map(|token| token.of(rest).to_ascii_lowercase())
        .collect();
    let found = KINDS.iter().find(|(name, ..)| {
        let mut given = words.iter();
        name.split(' ').all(|word| given.next().is_some_and(|given| given == word))
    })?;
    found.0.split(' ').for_each(|_| {
        at.next();
    });
    Some((found.1, found.2, found.3))
}

/// Reads what stands behind DROP.
pub(super) fn drop_absent(at: &mut Cursor<'_>) -> Result<Utility> {
    let (tag, called, form) = kind(at).ok_or_else(|| at.unexpected())?;
    at.expect("if")?;
    at.expect("exists")?;
    let mut objects = Vec::new();
    loop {
        objects.push(object(at, called, form)?);
        let several = matches!(form, Form::Names | Form::Qualified | Form::Calls | Form::Operators);
        if !several || !at.accept_sign(",") {
            break;
        }
    }
    let _ = at.accept("cascade") || at.accept("restrict");
    at.end()?;
    Ok(Utility::DropAbsent(Box::new(DropAbsent { tag, objects })))
}

/// Looks at what COMMENT ON names, if it is of one of these kinds: whether that is there.
///
/// # Errors
/// 42704 and its kin for what is not.
pub(super) fn commented(at: &mut Cursor<'_>) -> Result<()> {
    let Some((_, called, form)) = kind(at) else { return Ok(()) };
    let code = match called {
        "aggregate" | "operator" => SqlState::UNDEFINED_FUNCTION,
        "foreign table" => SqlState::UNDEFINED_TABLE,
        _ => SqlState::UNDEFINED_OBJECT,
    };
    match object(at, called, form) {
        // what PostgreSQL brings along
        Err(error) if error.code() == SqlState::DEPENDENT_OBJECTS_STILL_EXIST => Ok(()),
        Err(error) => Err(error),
        Ok(absent) if absent.is_cast => Ok(()),
        Ok(absent) if form == Form::Using => Err(SqlError::new(code, absent.what)),
        Ok(absent) => Err(SqlError::new(code, format!("{} does not exist", absent.what))),
    }
}

fn object(at: &mut Cursor<'_>, called: &str, form: Form) -> Result<Absent> {
    let mut absent = Absent::default();
    match form {
        Form::Operators => {
            let mut sign = None;
            while let Some(token) = at.ahead.filter(|token| !token.is_sign(at.text, "(")) {
                sign = Some(token.of(at.text));
                at.next();
            }
            let sign = sign.ok_or_else(|| at.unexpected())?;
            absent.types = types(at)?.into_iter().filter(|ty| !ty.eq_ignore_ascii_case("none")).collect();
            if !scaledb_types::func::functions_named(sign).is_empty() {
                return Err(there(&format!("operator {sign}")));
            }
            absent.what = format!("operator {sign}");
            return Ok(absent);
        }
        Form::Cast => {
            at.expect_sign("(")?;
            let from = type_name(at)?;
            at.expect("as")?;
            let to = type_name(at)?;
            at.expect_sign(")")?;
            absent.what = format!("cast from type {from} to type {to}");
            absent.types = vec![from, to];
            absent.is_cast = true;
            return Ok(absent);
        }
        Form::Transform => {
            at.expect("for")?;
            let ty = type_name(at)?;
            at.expect("language")?;
            absent.what = format!("transform for type {} language \"{}\"", written(&ty), at.name()?);
            absent.types = vec![ty];
            return Ok(absent);
        }
        Form::Mapping => {
            at.expect("for")?;
            at.name()?;
            at.expect("server")?;
            absent.what = format!("server \"{}\"", at.name()?);
            return Ok(absent);
        }
        _ => {}
    }
    let mut name = at.name()?;
    if at.accept_sign(".") {
        absent.schema = Some(std::mem::replace(&mut name, at.name()?));
    }
    let shown = absent.schema.as_ref().map_or_else(|| name.clone(), |schema| format!("{schema}.{name}"));
    let known =
        THERE.iter().find(|(kind, _)| *kind == called).is_some_and(|(_, all)| all.contains(&&name[..]));
    if known || called == "aggregate" && scaledb_types::is_aggregate(&name) {
        return Err(there(&format!("{called} {name}")));
    }
    absent.what = format!("{called} \"{shown}\"");
    match form {
        Form::Qualified if called == "foreign table" => absent.other = Some(name),
        Form::OnTable => {
            at.expect("on")?;
            let (mut table, mut schema) = (at.name()?, None);
            if at.accept_sign(".") {
                schema = Some(std::mem::replace(&mut table, at.name()?));
            }
            absent.what = format!("{called} \"{name}\" for relation \"{table}\"");
            absent.table = Some((schema, table));
        }
        Form::Using => {
            at.expect("using")?;
            let method = at.name()?;
            if !["btree", "hash", "gist", "gin", "spgist", "brin"].contains(&&method[..]) {
                let what = format!("access method \"{method}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what));
            }
            absent.what = format!("{called} \"{shown}\" does not exist for access method \"{method}\"");
        }
        Form::Calls => {
            absent.types = types(at)?;
            let listed: Vec<String> = absent.types.iter().map(|ty| written(ty)).collect();
            absent.what = format!("{called} {shown}({})", listed.join(","));
        }
        _ => {}
    }
    Ok(absent)
}

/// 2BP01: what PostgreSQL brings along stays.
#[cold]
pub fn there(what: &str) -> SqlError {
    let what = format!("cannot drop {what} because it is required by the database system");
    SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, what)
}

/// Types in parentheses; `*` is none.
fn types(at: &mut Cursor<'_>) -> Result<Vec<String>> {
    at.expect_sign("(")?;
    let mut types = Vec::new();
    if at.accept_sign("*") || at.ahead.is_some_and(|token| token.is_sign(at.text, ")")) {
        at.expect_sign(")")?;
        return Ok(types);
    }
    loop {
        types.push(type_name(at)?);
        if !at.accept_sign(",") {
            at.expect_sign(")")?;
            return Ok(types);
        }
    }
}

/// The text of a type, up to what may follow one.
fn type_name(at: &mut Cursor<'_>) -> Result<String> {
    let (mut depth, mut place) = (0_usize, None);
    while let Some(token) = at.ahead {
        let sign = |sign: &str| token.is_sign(at.text, sign);
        let ends = sign(",") || sign(")") || token.is(at.text, "as") || token.is(at.text, "language");
        if depth == 0 && ends {
            break;
        }
        depth = if sign("(") { depth + 1 } else { depth.saturating_sub(usize::from(sign(")"))) };
        place = Some((place.map_or(token.start, |(from, _)| from), token.end));
        at.next();
    }
    let (from, to) = place.ok_or_else(|| at.unexpected())?;
    Ok(at.text[from..to].to_owned())
}

/// A type as PostgreSQL's notices have it, which print what its grammar made of the words.
fn written(ty: &str) -> String {
    let lower = ty.split_ascii_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let own = match lower.as_str() {
        "int" | "integer" => "int4",
        "bigint" => "int8",
        "smallint" => "int2",
        "real" => "float4",
        "float" | "double precision" => "float8",
        "boolean" => "bool",
        "numeric" | "decimal" | "dec" => "numeric",
        "char" | "character" => "bpchar",
        "varchar" | "character varying" => "varchar",
        "timestamp" | "timestamp without time zone" => "timestamp",
        "timestamp with time zone" => "timestamptz",
        "time" | "time without time zone" => "time",
        "time with time zone" => "timetz",
        "bit" => "bit",
        "varbit" | "bit varying" => "varbit",
        "interval" => "interval",
        _ => return lower,
    };
    format!("pg_catalog.{own}")
}
