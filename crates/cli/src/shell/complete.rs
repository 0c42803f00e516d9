//! What TAB offers: keywords, relations, columns, backslash commands, files.

use super::command;
use super::connection::{Connection, Transaction};
use super::help;
use super::printer::Keeper;
use super::rows::Rows;
use super::variables::quoted;
use rustyline::completion::FilenameCompleter;
use scaledb_sql::lex::{Kind, Lexer, name_of};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Words of SQL that are offered.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "add", "all", "alter", "analyze", "and", "any", "array", "as", "asc", "begin", "between", "bigint", "boolean",
    "by", "cascade", "case", "cast", "check", "coalesce", "column", "commit", "conflict", "constraint", "copy",
    "count", "create", "cross", "current_date", "current_timestamp", "date", "deallocate", "declare", "default",
    "deferrable", "deferred", "delete", "desc", "distinct", "do", "drop", "else", "end", "except", "execute",
    "exists", "explain", "false", "fetch", "filter", "first", "foreign", "from", "full", "generated", "group",
    "having", "identity", "ilike", "in", "index", "inner", "insert", "integer", "intersect", "interval", "into",
    "is", "join", "key", "last", "left", "like", "limit", "matched", "merge", "not", "nothing", "null", "nullif",
    "nulls", "numeric", "offset", "on", "only", "or", "order", "outer", "over", "partition", "prepare", "primary",
    "read", "references", "release", "rename", "reset", "restrict", "returning", "right", "rollback", "row",
    "savepoint", "select", "sequence", "serial", "set", "show", "start", "table", "text", "then", "timestamp",
    "timestamptz", "to", "transaction", "true", "truncate", "union", "unique", "update", "using", "uuid", "values",
    "varchar", "view", "when", "where", "window", "with", "write",
];

/// Words that a relation stands behind.
const BEFORE_RELATIONS: &[&str] =
    &["from", "join", "into", "update", "table", "copy", "view", "truncate", "references"];

/// A relation and its columns.
#[derive(Clone, Debug)]
struct Relation {
    name: String,
    system: bool,
    /// A table or view, not an index or sequence.
    rows: bool,
    columns: Vec<String>,
}

/// Knows what may come next.
pub(crate) struct Completer {
    connection: Rc<RefCell<Box<dyn Connection>>>,
    files: FilenameCompleter,
    /// As of the last look.
    relations: RefCell<Vec<Relation>>,
    /// What stands in the lines before.
    before: String,
}

impl Completer {
    pub(crate) fn new(connection: Rc<RefCell<Box<dyn Connection>>>) -> Self {
        let files = FilenameCompleter::new();
        Self { connection, files, relations: RefCell::default(), before: String::new() }
    }

    /// The statement that the line goes on with.
    pub(crate) fn before(&mut self, statement: &str) {
        statement.clone_into(&mut self.before);
    }

    /// Where the word at a place of a line begins, and what it may become.
    pub(crate) fn candidates(&self, line: &str, at: usize) -> (usize, Vec<String>) {
        let typed = &line[..at];
        if let Some(from) = typed.rfind('\\')
            && typed[..from].trim().is_empty()
        {
            return self.of_command(typed, from);
        }
        let start = word_start(typed);
        let word = &typed[start..];
        self.look();
        let relations = self.relations.borrow();
        let (qualifier, part) = match word.rsplit_once('.') {
            Some((qualifier, part)) => (Some(qualifier), part),
            None => (None, word),
        };
        let statement = format!("{}\n{line}", self.before);
        let found = match qualifier {
            Some(qualifier) => {
                let start = at - part.len();
                let table = tables_named(&statement, &relations).remove(&qualifier.to_lowercase());
                let columns = table.map(|table| table.columns.as_slice()).unwrap_or_default();
                return (start, fitting(columns.iter().map(|name| shown(name)), part));
            }
            None if BEFORE_RELATIONS.contains(&word_before(&typed[..start]).as_str()) => {
                fitting(named(&relations, part, true), part)
            }
            None => {
                let mut found = keywords(part);
                let tables = tables_named(&statement, &relations);
                let mut columns: Vec<String> =
                    tables.values().flat_map(|table| &table.columns).map(|name| shown(name)).collect();
                columns.extend(tables.keys().cloned());
                if tables.is_empty() {
                    columns.extend(named(&relations, part, true));
                }
                found.extend(fitting(columns.into_iter(), part));
                found
            }
        };
        (start, sorted(found))
    }

    /// Behind a backslash.
    fn of_command(&self, typed: &str, from: usize) -> (usize, Vec<String>) {
        let Some(space) = typed[from..].find(char::is_whitespace) else {
            return (from, fitting(command::NAMES.iter().map(|name| (*name).to_owned()), &typed[from..]));
        };
        let name = &typed[from + 1..from + space];
        let start = typed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let part = &typed[start..];
        let of = |words: &[&str]| fitting(words.iter().map(|word| (*word).to_owned()), part);
        let found = match name {
            "i" | "ir" | "o" | "cd" | "e" | "g" | "gx" => return self.file(typed),
            "copy" if matches!(word_before(&typed[..start]).as_str(), "from" | "to") => {
                return self.file(typed);
            }
            "copy" => {
                self.look();
                let mut found = fitting(named(&self.relations.borrow(), part, true), part);
                found.extend(keywords(part));
                found
            }
            "h" | "help" => {
                let topic = typed[from + space..].trim_start();
                let start = typed.len() - topic.len();
                let names =
                    help::names().filter(|name| name.to_lowercase().starts_with(&topic.to_lowercase()));
                return (start, names.map(str::to_owned).collect());
            }
            "x" => of(&["on", "off", "auto"]),
            "t" | "timing" => of(&["on", "off"]),
            "pset" => of(&["columns", "expanded", "fieldsep", "format", "null", "tuples_only"]),
            "set" | "unset" => of(&["ON_ERROR_STOP"]),
            name if name.starts_with('d') => {
                self.look();
                fitting(named(&self.relations.borrow(), part, false), part)
            }
            _ => Vec::new(),
        };
        (start, sorted(found))
    }

    /// Files that the last word may name.
    fn file(&self, typed: &str) -> (usize, Vec<String>) {
        match self.files.complete_path(typed, typed.len()) {
            Ok((start, pairs)) => (start, pairs.into_iter().map(|pair| pair.replacement).collect()),
            Err(_) => (typed.len(), Vec::new()),
        }
    }

    /// Reads the catalogs, unless that would become a part of the user's transaction.
    fn look(&self) {
        let Ok(mut connection) = self.connection.try_borrow_mut() else { return };
        if connection.transaction() != Transaction::Idle {
            return;
        }
        let mut ask = |sql: &str| {
            let mut keeper = Keeper::default();
            connection.run(sql, &mut keeper).ok().map(|()| keeper.rows)
        };
        let relations =
            ask("SELECT c.oid, c.relname, c.relkind, c.relnamespace = 11 FROM pg_catalog.pg_class c \
             WHERE c.relkind IN ('r', 'v', 'S', 'i') AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2");
        let columns = ask(
            "SELECT attrelid, attname FROM pg_catalog.pg_attribute WHERE attnum > 0 AND NOT attisdropped",
        );
        if let (Some(relations), Some(columns)) = (relations, columns) {
            *self.relations.borrow_mut() = joined(&relations, &columns);
        }
    }
}

fn joined(relations: &Rows, columns: &Rows) -> Vec<Relation> {
    let mut found: HashMap<&str, Vec<String>> = HashMap::new();
    for row in 0..columns.len() {
        found.entry(columns.text(row, 0)).or_default().push(columns.text(row, 1).to_owned());
    }
    let relation = |row| Relation {
        name: relations.text(row, 1).to_owned(),
        system: relations.text(row, 3) == "t",
        rows: matches!(relations.text(row, 2), "r" | "v"),
        columns: found.remove(relations.text(row, 0)).unwrap_or_default(),
    };
    (0..relations.len()).map(relation).collect()
}

/// Names of relations; those of the system catalogs where their schema is typed.
fn named<'a>(relations: &'a [Relation], part: &str, rows: bool) -> impl Iterator<Item = String> + 'a {
    let system = part.starts_with("pg_");
    let chosen =
        relations.iter().filter(move |relation| (system || !relation.system) && (relation.rows || !rows));
    chosen.map(|relation| shown(&relation.name))
}

/// The tables that a statement names, by their names and aliases.
fn tables_named<'a>(statement: &str, relations: &'a [Relation]) -> HashMap<String, &'a Relation> {
    let mut found = HashMap::new();
    let mut last: Option<&Relation> = None;
    for token in Lexer::new(statement) {
        if token.is(statement, "as") {
            continue;
        }
        let name = name_of(token, statement);
        // a word behind a table is its alias, unless it is one of SQL's
        if let (Some(table), Some(alias)) = (last, &name)
            && KEYWORDS.binary_search(&alias.as_str()).is_err()
        {
            found.insert(alias.clone(), table);
        }
        last = name.and_then(|name| relations.iter().find(|relation| relation.rows && relation.name == name));
        if let Some(table) = last {
            found.insert(table.name.clone(), table);
        }
    }
    found
}

/// The keywords that a word may become, in its case.
fn keywords(part: &str) -> Vec<String> {
    if part.is_empty() {
        return Vec::new();
    }
    let upper = part.chars().all(|c| !c.is_lowercase());
    let lower = part.to_lowercase();
    let fits = KEYWORDS.iter().filter(|word| word.starts_with(&lower));
    fits.map(|word| if upper { word.to_uppercase() } else { (*word).to_owned() }).collect()
}

fn fitting(names: impl Iterator<Item = String>, part: &str) -> Vec<String> {
    let lower = part.to_lowercase();
    names.filter(|name| name.to_lowercase().starts_with(&lower)).collect()
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names.dedup();
    names
}

/// A name as it has to be written.
fn shown(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit())
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if plain { name.to_owned() } else { quoted(name) }
}

/// Where the word begins that a text ends in, qualifiers included.
fn word_start(text: &str) -> usize {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '"');
    text.rfind(|c| !part(c)).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8))
}

/// The last word of a text, in lower case.
fn word_before(text: &str) -> String {
    let last = Lexer::new(text).filter(|token| token.kind != Kind::Punct).last();
    last.filter(|token| token.kind == Kind::Word).map_or(String::new(), |token| token.of(text).to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relations() -> Vec<Relation> {
        let columns = vec!["id".to_owned(), "owner".to_owned()];
        vec![Relation { name: "accounts".to_owned(), system: false, rows: true, columns }]
    }

    #[test]
    fn keywords_are_sorted_and_keep_the_case() {
        assert!(KEYWORDS.is_sorted());
        assert_eq!(keywords("sel"), ["select"]);
        assert_eq!(keywords("SEL"), ["SELECT"]);
    }

    #[test]
    fn aliases_name_their_table() {
        let relations = relations();
        let named = tables_named("select a. from accounts a where x", &relations);
        let mut names: Vec<&String> = named.keys().collect();
        names.sort();
        assert_eq!(names, ["a", "accounts"]);
        assert!(tables_named("select 1 from accounts as b", &relations).contains_key("b"));
    }

    #[test]
    fn words_are_found_behind_wide_characters() {
        assert_eq!(word_start("select ü"), 7);
        assert_eq!(word_start("select ·x"), 9);
        assert_eq!(word_before("select * from "), "from");
    }
}
