//! `\d` and its kin: questions to the system catalogs, which a PostgreSQL server would answer, too.

use super::command::fail;
use super::repl::{Done, Shell};
use super::rows::Rows;
use super::table;
use super::variables::literal;
use std::fmt::Write;

/// What kinds of relations a command is about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kinds {
    /// `\d`: one relation in detail if it has an argument, else all.
    Any,
    /// `\dt` and others: `pg_class.relkind`.
    Listed(Vec<char>),
    /// `\dn`.
    Schemas,
}

impl Kinds {
    /// What a command of this name is about.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let letters = name.strip_prefix('d')?.trim_end_matches(['+', 'S']);
        match letters {
            "" => Some(Self::Any),
            "n" => Some(Self::Schemas),
            _ => letters
                .chars()
                .map(|letter| match letter {
                    't' => Some('r'),
                    'i' => Some('i'),
                    's' => Some('S'),
                    'v' => Some('v'),
                    _ => None,
                })
                .collect::<Option<Vec<char>>>()
                .map(Self::Listed),
        }
    }
}

/// Runs one of the commands.
pub(crate) fn run(shell: &mut Shell, kinds: &Kinds, arguments: &[String]) -> Done {
    let pattern = arguments.first().map(|pattern| Pattern::new(pattern));
    match (kinds, pattern) {
        (Kinds::Any, Some(pattern)) => relations(shell, &pattern),
        (Kinds::Any, None) => list(shell, &['r', 'v', 'S'], None),
        (Kinds::Listed(kinds), pattern) => list(shell, kinds, pattern.as_ref()),
        (Kinds::Schemas, pattern) => schemas(shell, pattern.as_ref()),
    }
}

/// A pattern of names: `*` and `?` as in a shell, `schema.name`, quotes as in SQL.
struct Pattern {
    text: String,
    schema: Option<String>,
    name: String,
}

impl Pattern {
    /// Reads a pattern; both parts become regular expressions.
    fn new(text: &str) -> Self {
        let (mut schema, mut name, mut quoted) = (None, String::new(), false);
        for c in text.chars() {
            match c {
                '"' => quoted = !quoted,
                '.' if !quoted => schema = Some(std::mem::take(&mut name)),
                '*' if !quoted => name.push_str(".*"),
                '?' if !quoted => name.push('.'),
                c if c.is_alphanumeric() || c == '_' || c == ' ' => {
                    let folded = |c: char| if quoted { c } else { c.to_lowercase().next().unwrap_or(c) };
                    name.push(folded(c));
                }
                c => {
                    name.push('\\');
                    name.push(c);
                }
            }
        }
        let whole = |part: String| format!("^({part})$");
        Self { text: text.to_owned(), schema: schema.map(whole), name: whole(name) }
    }

    /// The condition on columns of a catalog.
    fn condition(&self, schema: &str, name: &str, visible: &str) -> String {
        let name = format!("{name} ~ {}", literal(&self.name));
        match &self.schema {
            Some(pattern) => format!("{name} AND {schema} ~ {}", literal(pattern)),
            None => format!("{name} AND {visible}"),
        }
    }
}

/// Where a relation of a question comes from.
const FROM_CLASS: &str =
    "FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace";

/// Lists relations.
fn list(shell: &mut Shell, kinds: &[char], pattern: Option<&Pattern>) -> Done {
    let indexes = kinds.contains(&'i');
    let kinds: Vec<String> = kinds.iter().map(|kind| format!("'{kind}'")).collect();
    let names = match pattern {
        Some(pattern) => pattern.condition("n.nspname", "c.relname", "pg_catalog.pg_table_is_visible(c.oid)"),
        None => "n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' \
                 AND pg_catalog.pg_table_is_visible(c.oid)"
            .to_owned(),
    };
    let (column, join) = if indexes {
        (
            ", c2.relname AS \"Table\"",
            " LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid \
             LEFT JOIN pg_catalog.pg_class c2 ON i.indrelid = c2.oid",
        )
    } else {
        ("", "")
    };
    let sql = format!(
        "SELECT n.nspname AS \"Schema\", c.relname AS \"Name\", \
         CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'i' THEN 'index' \
         WHEN 'S' THEN 'sequence' END AS \"Type\", pg_catalog.pg_get_userbyid(c.relowner) AS \"Owner\"{column} \
         {FROM_CLASS}{join} WHERE c.relkind IN ({}) AND {names} ORDER BY 1, 2",
        kinds.join(", ")
    );
    let Some(rows) = shell.query(&sql) else { return Done::Badly };
    if rows.len() == 0 {
        return nothing(shell, "relations", pattern);
    }
    show(shell, &rows, "List of relations", None)
}

fn nothing(shell: &mut Shell, what: &str, pattern: Option<&Pattern>) -> Done {
    match pattern {
        Some(pattern) => fail(shell, &format!("Did not find any {what} named \"{}\".", pattern.text)),
        None => fail(shell, &format!("Did not find any {what}.")),
    }
}

fn schemas(shell: &mut Shell, pattern: Option<&Pattern>) -> Done {
    let names = match pattern {
        Some(pattern) => format!("n.nspname ~ {}", literal(&pattern.name)),
        None => "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'".to_owned(),
    };
    let sql = format!(
        "SELECT n.nspname AS \"Name\", pg_catalog.pg_get_userbyid(n.nspowner) AS \"Owner\" \
         FROM pg_catalog.pg_namespace n WHERE {names} ORDER BY 1"
    );
    let Some(rows) = shell.query(&sql) else { return Done::Badly };
    show(shell, &rows, "List of schemas", None)
}

/// `\l`.
pub(crate) fn databases(shell: &mut Shell) -> Done {
    let sql = "SELECT d.datname AS \"Name\", pg_catalog.pg_get_userbyid(d.datdba) AS \"Owner\", \
               pg_catalog.pg_encoding_to_char(d.encoding) AS \"Encoding\", d.datcollate AS \"Collate\", \
               d.datctype AS \"Ctype\" FROM pg_catalog.pg_database d ORDER BY 1";
    let Some(rows) = shell.query(sql) else { return Done::Badly };
    show(shell, &rows, "List of databases", None)
}

/// Prints a table of the shell's own.
fn show(shell: &mut Shell, rows: &Rows, title: &str, footers: Option<&[String]>) -> Done {
    let Shell { out, settings, .. } = shell;
    match table::aligned(&mut **out, rows, settings, Some(title), footers) {
        Ok(()) => Done::Well,
        Err(error) => Done::Exit(super::unwritten(&error)),
    }
}

/// `\d NAME`: each relation that fits, in detail.
fn relations(shell: &mut Shell, pattern: &Pattern) -> Done {
    let names = pattern.condition("n.nspname", "c.relname", "pg_catalog.pg_table_is_visible(c.oid)");
    let sql = format!(
        "SELECT c.oid, n.nspname, c.relname, c.relkind {FROM_CLASS} \
         WHERE c.relkind IN ('r', 'v', 'S', 'i') AND {names} ORDER BY 2, 3"
    );
    let Some(found) = shell.query(&sql) else { return Done::Badly };
    if found.len() == 0 {
        return fail(shell, &format!("Did not find any relation named \"{}\".", pattern.text));
    }
    for row in 0..found.len() {
        let oid = found.text(row, 0);
        let name = format!("{}.{}", found.text(row, 1), found.text(row, 2));
        let done = match found.text(row, 3) {
            "S" => sequence(shell, oid, &name),
            "i" => index(shell, oid, &name),
            kind => columns(shell, oid, &name, kind == "v"),
        };
        let done = done.unwrap_or(Done::Badly);
        if done != Done::Well {
            return done;
        }
    }
    Done::Well
}

/// A table or view.
fn columns(shell: &mut Shell, oid: &str, name: &str, view: bool) -> Option<Done> {
    let rows = shell.query(&format!(
        "SELECT a.attname AS \"Column\", pg_catalog.format_type(a.atttypid, a.atttypmod) AS \"Type\", \
         (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type t WHERE c.oid = a.attcollation \
         AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS \"Collation\", \
         CASE WHEN a.attnotnull THEN 'not null' ELSE '' END AS \"Nullable\", \
         CASE a.attidentity WHEN 'a' THEN 'generated always as identity' \
         WHEN 'd' THEN 'generated by default as identity' ELSE (SELECT CASE WHEN a.attgenerated = 's' \
         THEN 'generated always as (' || pg_catalog.pg_get_expr(d.adbin, d.adrelid) || ') stored' \
         ELSE pg_catalog.pg_get_expr(d.adbin, d.adrelid) END FROM pg_catalog.pg_attrdef d \
         WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef) END AS \"Default\" \
         FROM pg_catalog.pg_attribute a WHERE a.attrelid = '{oid}' AND a.attnum > 0 AND NOT a.attisdropped \
         ORDER BY a.attnum"
    ))?;
    // psql shows what is missing here as empty, whatever NULL is shown as
    let mut plain = Rows::of_text(&["Column", "Type", "Collation", "Nullable", "Default"]);
    for row in 0..rows.len() {
        let cells: Vec<&str> = (0..5).map(|column| rows.text(row, column)).collect();
        plain.push(&cells);
    }
    let mut footers = Vec::new();
    if !view {
        indexes(shell, oid, &mut footers)?;
        constraints(shell, oid, &mut footers)?;
    }
    let title = format!("{} \"{name}\"", if view { "View" } else { "Table" });
    Some(show(shell, &plain, &title, Some(&footers)))
}

/// The indexes of a table.
fn indexes(shell: &mut Shell, oid: &str, footers: &mut Vec<String>) -> Option<()> {
    let rows = shell.query(&format!(
        "SELECT c2.relname, i.indisprimary, i.indisunique, \
         pg_catalog.pg_get_indexdef(i.indexrelid, 0, true), con.contype, con.condeferrable, con.condeferred \
         FROM pg_catalog.pg_class c2, pg_catalog.pg_index i LEFT JOIN pg_catalog.pg_constraint con ON \
         (con.conrelid = i.indrelid AND con.conindid = i.indexrelid AND con.contype IN ('p', 'u')) \
         WHERE i.indrelid = '{oid}' AND i.indexrelid = c2.oid ORDER BY i.indisprimary DESC, c2.relname"
    ))?;
    if rows.len() > 0 {
        footers.push("Indexes:".to_owned());
    }
    for row in 0..rows.len() {
        let kind = match (rows.text(row, 1), rows.text(row, 2), rows.text(row, 4)) {
            ("t", ..) => " PRIMARY KEY,",
            (_, "t", "u") => " UNIQUE CONSTRAINT,",
            (_, "t", _) => " UNIQUE,",
            _ => "",
        };
        let definition = rows.text(row, 3);
        let how = definition.split_once(" USING ").map_or(definition, |(_, how)| how);
        let mut line = format!("    \"{}\"{kind} {how}", rows.text(row, 0));
        if rows.text(row, 5) == "t" {
            line.push_str(" DEFERRABLE");
        }
        if rows.text(row, 6) == "t" {
            line.push_str(" INITIALLY DEFERRED");
        }
        footers.push(line);
    }
    Some(())
}

/// The constraints of a table, and those of others that name it.
fn constraints(shell: &mut Shell, oid: &str, footers: &mut Vec<String>) -> Option<()> {
    let rows = shell.query(&format!(
        "SELECT r.conname, pg_catalog.pg_get_constraintdef(r.oid, true), r.contype, \
         CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END, \
         r.conrelid = '{oid}', r.confrelid = '{oid}' \
         FROM pg_catalog.pg_constraint r JOIN pg_catalog.pg_class c ON c.oid = r.conrelid \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE (r.conrelid = '{oid}' OR r.confrelid = '{oid}') AND r.contype IN ('c', 'f') ORDER BY 1"
    ))?;
    let mut part = |title: &str, choose: &dyn Fn(usize) -> bool, line: &dyn Fn(usize) -> String| {
        let chosen: Vec<usize> = (0..rows.len()).filter(|row| choose(*row)).collect();
        if !chosen.is_empty() {
            footers.push(title.to_owned());
            footers.extend(chosen.into_iter().map(line));
        }
    };
    let is =
        |row: usize, kind: &str, column: usize| rows.text(row, 2) == kind && rows.text(row, column) == "t";
    let own = |row: usize| format!("    \"{}\" {}", rows.text(row, 0), rows.text(row, 1));
    part("Check constraints:", &|row| is(row, "c", 4), &own);
    part("Foreign-key constraints:", &|row| is(row, "f", 4), &own);
    part("Referenced by:", &|row| is(row, "f", 5), &|row| {
        let (table, name, definition) = (rows.text(row, 3), rows.text(row, 0), rows.text(row, 1));
        format!("    TABLE \"{table}\" CONSTRAINT \"{name}\" {definition}")
    });
    Some(())
}

/// A sequence.
fn sequence(shell: &mut Shell, oid: &str, name: &str) -> Option<Done> {
    let rows = shell.query(&format!(
        "SELECT pg_catalog.format_type(seqtypid, NULL) AS \"Type\", seqstart AS \"Start\", \
         seqmin AS \"Minimum\", seqmax AS \"Maximum\", seqincrement AS \"Increment\", \
         CASE WHEN seqcycle THEN 'yes' ELSE 'no' END AS \"Cycles?\", seqcache AS \"Cache\" \
         FROM pg_catalog.pg_sequence WHERE seqrelid = '{oid}'"
    ))?;
    Some(show(shell, &rows, &format!("Sequence \"{name}\""), Some(&[])))
}

/// An index.
fn index(shell: &mut Shell, oid: &str, name: &str) -> Option<Done> {
    let rows = shell.query(&format!(
        "SELECT i.indisprimary, i.indisunique, n.nspname, c.relname, i.indnkeyatts \
         FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indrelid \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE i.indexrelid = '{oid}'"
    ))?;
    let columns: usize = rows.text(0, 4).parse().unwrap_or(0);
    let mut definitions = String::from("SELECT ''");
    for column in 1..=columns {
        // writing to a string does not fail
        let _ = write!(definitions, ", pg_catalog.pg_get_indexdef('{oid}', {column}, true)");
    }
    let found = shell.query(&definitions)?;
    let mut list = Rows::of_text(&["Key?", "Definition"]);
    for column in 1..=columns {
        list.push(&["yes", found.text(0, column)]);
    }
    let kind = match (rows.text(0, 0), rows.text(0, 1)) {
        ("t", _) => "primary key, ",
        (_, "t") => "unique, ",
        _ => "",
    };
    let footer = format!("{kind}btree, for table \"{}.{}\"", rows.text(0, 2), rows.text(0, 3));
    Some(show(shell, &list, &format!("Index \"{name}\""), Some(&[footer])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_psql() {
        let parts = |text: &str| {
            let pattern = Pattern::new(text);
            (pattern.schema, pattern.name)
        };
        assert_eq!(parts("T*"), (None, "^(t.*)$".to_owned()));
        assert_eq!(parts("\"A.b\""), (None, "^(A\\.b)$".to_owned()));
        assert_eq!(parts("public.x?"), (Some("^(public)$".to_owned()), "^(x.)$".to_owned()));
        assert_eq!(parts("a|b'("), (None, "^(a\\|b\\'\\()$".to_owned()));
    }

    #[test]
    fn letters_name_kinds() {
        assert_eq!(Kinds::of("d"), Some(Kinds::Any));
        assert_eq!(Kinds::of("dtv+"), Some(Kinds::Listed(vec!['r', 'v'])));
        assert_eq!(Kinds::of("df"), None);
    }
}
