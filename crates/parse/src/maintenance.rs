//! VACUUM, ANALYZE, REINDEX and CLUSTER. But for ANALYZE nothing is to be done, but what they name has to be there.

use super::cursor::{Cursor, names, value};
use super::lex::Kind;
use super::utility::Utility;
use scaledb_types::{Result, SqlError, SqlState};

/// What a statement is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Maintained {
    /// Tables that VACUUM names, and whether it looks at their rows as ANALYZE does.
    Vacuumed { tables: Vec<Subject>, analyzes: bool },
    /// Tables that ANALYZE names.
    Analyzed(Vec<Subject>),
    /// A table that CLUSTER names, perhaps with an index.
    Clustered(Option<(Name, Option<String>)>),
    /// What REINDEX names, and whether it says CONCURRENTLY.
    Reindexed(Indexed, bool),
}

/// What has the indexes that REINDEX is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Indexed {
    Table(Name),
    Index(Name),
    Schema(String),
    Database(Option<String>),
    /// The system's tables of a database, which have no indexes.
    System(Option<String>),
}

/// A schema and a name.
pub type Name = (Option<String>, String);

/// A table, and the columns of it that are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub name: Name,
    pub columns: Vec<String>,
}

impl Maintained {
    /// The tag of the statement, and what is told of it if it has done nothing.
    pub fn told(&self) -> (&'static str, &'static str) {
        match self {
            Self::Vacuumed { .. } => {
                ("VACUUM", "VACUUM does nothing: row versions are cleaned up in the background")
            }
            Self::Analyzed(_) => ("ANALYZE", "ANALYZE has found no table"),
            Self::Clustered(_) => {
                ("CLUSTER", "CLUSTER does nothing: rows are in memory, and have no order there")
            }
            Self::Reindexed(..) => (
                "REINDEX",
                "REINDEX does nothing: indexes are made anew at each start, and keep no dead entries",
            ),
        }
    }

    /// What the statement is called, if it stands in no transaction block.
    pub fn alone(&self) -> Option<&'static str> {
        match self {
            Self::Vacuumed { .. } => Some("VACUUM"),
            Self::Clustered(None) => Some("CLUSTER"),
            Self::Reindexed(Indexed::Schema(_), _) => Some("REINDEX SCHEMA"),
            Self::Reindexed(Indexed::Database(_), _) => Some("REINDEX DATABASE"),
            Self::Reindexed(Indexed::System(_), _) => Some("REINDEX SYSTEM"),
            Self::Reindexed(_, true) => Some("REINDEX CONCURRENTLY"),
            Self::Clustered(Some(_)) | Self::Analyzed(_) | Self::Reindexed(_, false) => None,
        }
    }
}

fn qualified(at: &mut Cursor<'_>) -> Result<Name> {
    let mut name = at.name()?;
    let mut schema = None;
    if at.accept_sign(".") {
        schema = Some(std::mem::replace(&mut name, at.name()?));
    }
    Ok((schema, name))
}

fn opens(at: &Cursor<'_>) -> bool {
    at.ahead.is_some_and(|token| token.is_sign(at.text, "("))
}

fn syntax(what: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, what.into())
}

/// Options in parentheses, of those that a statement has.
struct Options(Vec<(String, Option<String>)>);

impl Options {
    /// Those that are next, if a parenthesis is.
    ///
    /// # Errors
    /// 42601, for an option that there is not, too.
    fn read(at: &mut Cursor<'_>, statement: &str, known: &[&str]) -> Result<Option<Self>> {
        if !opens(at) {
            return Ok(None);
        }
        at.next();
        let mut all = Vec::new();
        loop {
            let word = at.ahead.filter(|token| matches!(token.kind, Kind::Word | Kind::Quoted));
            let mut name = word.map(|_| value(at)).ok_or_else(|| at.unexpected())??;
            if name == "analyse" {
                name = "analyze".to_owned();
            }
            let ends =
                at.ahead.is_none_or(|token| token.is_sign(at.text, ",") || token.is_sign(at.text, ")"));
            let given = if ends { None } else { Some(value(at)?) };
            all.push((name, given));
            if !at.accept_sign(",") {
                break;
            }
        }
        at.expect_sign(")")?;
        if let Some((name, _)) = all.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            return Err(syntax(format!("unrecognized {statement} option \"{name}\"")));
        }
        Ok(Some(Self(all)))
    }

    fn get(&self, name: &str) -> Option<&Option<String>> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, given)| given)
    }

    /// Whether an option is on.
    ///
    /// # Errors
    /// 42601.
    fn flag(&self, name: &str) -> Result<Option<bool>> {
        match self.get(name).map(|given| given.as_deref().map(str::to_lowercase)) {
            None => Ok(None),
            Some(given) => match given.as_deref() {
                None | Some("on" | "true" | "1") => Ok(Some(true)),
                Some("off" | "false" | "0") => Ok(Some(false)),
                Some(_) => Err(syntax(format!("{name} requires a Boolean value"))),
            },
        }
    }
}

/// Tables between commas, perhaps with columns.
fn subjects(at: &mut Cursor<'_>) -> Result<Vec<Subject>> {
    let mut tables = Vec::new();
    while at.ahead.is_some() {
        let name = qualified(at)?;
        let columns = if opens(at) { names(at, true)? } else { Vec::new() };
        tables.push(Subject { name, columns });
        if !at.accept_sign(",") {
            break;
        }
        if at.ahead.is_none() {
            return Err(at.unexpected());
        }
    }
    at.end()?;
    Ok(tables)
}

/// VACUUM.
pub(super) fn vacuum(at: &mut Cursor<'_>) -> Result<Utility> {
    const FLAGS: [&str; 8] = [
        "verbose",
        "skip_locked",
        "analyze",
        "freeze",
        "full",
        "disable_page_skipping",
        "process_toast",
        "truncate",
    ];
    let mut known = FLAGS.to_vec();
    known.extend(["index_cleanup", "parallel"]);
    let mut analyzes = false;
    if let Some(options) = Options::read(at, "VACUUM", &known)? {
        for flag in FLAGS {
            options.flag(flag)?;
        }
        analyzes = options.flag("analyze")? == Some(true);
        let full = options.flag("full")? == Some(true);
        let refused = |what: &'static str| Err(SqlError::unsupported(what));
        if let Some(workers) = options.get("parallel") {
            let Some(workers) = workers else {
                return Err(syntax("parallel option requires a value between 0 and 1024"));
            };
            let number = workers.parse::<i32>().ok();
            let number = number.ok_or_else(|| syntax("parallel requires an integer value"))?;
            if !(0..=1024).contains(&number) {
                return Err(syntax("parallel workers for vacuum must be between 0 and 1024"));
            }
            if full && number > 0 {
                return refused("VACUUM FULL cannot be performed in parallel");
            }
        }
        if full && options.flag("disable_page_skipping")? == Some(true) {
            return refused("VACUUM option DISABLE_PAGE_SKIPPING cannot be used with FULL");
        }
        if full && options.flag("process_toast")? == Some(false) {
            return refused("PROCESS_TOAST required with VACUUM FULL");
        }
        if !matches!(options.get("index_cleanup"), Some(Some(way)) if way.eq_ignore_ascii_case("auto")) {
            options.flag("index_cleanup")?;
        }
    } else {
        for word in ["full", "freeze", "verbose"] {
            at.accept(word);
        }
        for word in ["analyze", "analyse"] {
            analyzes |= at.accept(word);
        }
    }
    let tables = subjects(at)?;
    if !analyzes && tables.iter().any(|table| !table.columns.is_empty()) {
        let what = "ANALYZE option must be specified when a column list is provided";
        return Err(SqlError::unsupported(what));
    }
    Ok(Utility::Maintain(Box::new(Maintained::Vacuumed { tables, analyzes })))
}

/// `ANALYZE [VERBOSE] [(..)] [table [(columns)], ..]`.
pub(super) fn analyze(at: &mut Cursor<'_>) -> Result<Utility> {
    match Options::read(at, "ANALYZE", &["verbose", "skip_locked"])? {
        Some(options) => {
            options.flag("verbose")?;
            options.flag("skip_locked")?;
        }
        None => {
            at.accept("verbose");
        }
    }
    Ok(Utility::Maintain(Box::new(Maintained::Analyzed(subjects(at)?))))
}

/// REINDEX.
pub(super) fn reindex(at: &mut Cursor<'_>) -> Result<Utility> {
    let options = Options::read(at, "REINDEX", &["verbose", "concurrently", "tablespace"])?;
    let kinds = ["index", "table", "schema", "database", "system"];
    let Some(kind) = kinds.into_iter().find(|kind| at.accept(kind)) else { return Err(at.unexpected()) };
    let mut concurrently = at.accept("concurrently");
    if let Some(options) = options {
        options.flag("verbose")?;
        concurrently |= options.flag("concurrently")? == Some(true);
        match options.get("tablespace") {
            None => {}
            Some(Some(name)) if name == "pg_default" => {}
            Some(Some(name)) => {
                let what = format!("tablespace \"{name}\" does not exist");
                return Err(SqlError::new(SqlState::UNDEFINED_OBJECT, what));
            }
            Some(None) => return Err(syntax("tablespace requires a parameter")),
        }
    }
    let database = |at: &mut Cursor<'_>| at.ahead.is_some().then(|| at.name()).transpose();
    let about = match kind {
        "index" => Indexed::Index(qualified(at)?),
        "table" => Indexed::Table(qualified(at)?),
        "schema" => Indexed::Schema(at.name()?),
        "system" => Indexed::System(database(at)?),
        _ => Indexed::Database(database(at)?),
    };
    at.end()?;
    if concurrently && matches!(about, Indexed::System(_)) {
        return Err(SqlError::unsupported("cannot reindex system catalogs concurrently"));
    }
    Ok(Utility::Maintain(Box::new(Maintained::Reindexed(about, concurrently))))
}

/// CLUSTER.
pub(super) fn cluster(at: &mut Cursor<'_>) -> Result<Utility> {
    match Options::read(at, "CLUSTER", &["verbose"])? {
        Some(options) => {
            options.flag("verbose")?;
        }
        None => {
            at.accept("verbose");
        }
    }
    if at.ahead.is_none() {
        return Ok(Utility::Maintain(Box::new(Maintained::Clustered(None))));
    }
    let first = qualified(at)?;
    // the index came first, once
    let about = if at.accept("on") {
        (qualified(at)?, Some(first.1))
    } else if at.accept("using") {
        (first, Some(at.name()?))
    } else {
        (first, None)
    };
    at.end()?;
    Ok(Utility::Maintain(Box::new(Maintained::Clustered(Some(about)))))
}
