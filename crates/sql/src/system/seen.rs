//! What the catalog keeps as text, as a search path reads it: names have the schemas that it does not lead to.

use super::Facts;
use scaledb_catalog::{Catalog, PUBLIC, Relation, ViewDesc};
use scaledb_parse::lex::{Kind, Lexer, quoted};
use scaledb_parse::named::{Named, Tokens};
use scaledb_planner::bind::names::split_text;
use scaledb_planner::bind::noted::Noted;
use scaledb_planner::bind::{Binder, names::Naming};
use scaledb_planner::functions::{SessionFn, is_aggregate, returns_set};
use scaledb_types::func::functions_named;
use scaledb_types::{Base, Env, Result, Type};
use sqlparser::ast::{Query, Select, SelectItem, SetExpr};
use sqlparser::tokenizer::Span;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// What a text that is kept means by a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Object {
    Relation(u32),
    Type(u32),
    Routine(u32),
}

/// A name in a text.
struct Mention {
    /// Its bytes.
    range: Range<usize>,
    schema: String,
    name: String,
    object: Object,
    /// Whether it is the content of a literal.
    literal: bool,
}

/// Where names without a schema are looked up.
#[derive(Clone, Copy)]
enum Whose<'v> {
    /// In `public`.
    Kept,
    /// Where they were found when the view was made.
    View(&'v ViewDesc),
}

/// Whether the search path leads to what has this name in a schema: it may meet another one before.
pub(super) fn leads_to(catalog: &Catalog, path: &[String], schema: &str, name: &str) -> bool {
    let has = |known: &&String| catalog.is_taken(known, name) || **known == schema;
    // what users make comes before what has its name in the system's schema
    let (system, own): (Vec<&String>, Vec<_>) = path.iter().partition(|known| *known == "pg_catalog");
    own.into_iter().chain(system).find(has).is_some_and(|first| *first == schema)
}

/// The name of a relation or a type, with its schema unless the search path leads to it.
pub(super) fn seen(facts: &dyn Facts, schema: &str, name: &str) -> String {
    match leads_to(facts.catalog(), facts.path(), schema, name) {
        true => quoted(name),
        false => format!("{}.{}", quoted(schema), quoted(name)),
    }
}

/// The name of a routine, with its schema unless the search path leads to it.
pub(super) fn seen_routine(facts: &dyn Facts, schema: &str, name: &str) -> String {
    match facts.path().iter().any(|known| known == schema) {
        true => quoted(name),
        false => format!("{}.{}", quoted(schema), quoted(name)),
    }
}

/// A type without its modifier, with its schema unless the search path leads to it.
pub(super) fn seen_type(facts: &dyn Facts, ty: Type) -> String {
    let own = own_oid(ty).and_then(|oid| facts.catalog().own_type(oid));
    match own {
        Some((schema, name)) => {
            let name = seen(facts, schema, name);
            if is_array(ty) { format!("{name}[]") } else { name }
        }
        None => ty.sql_name(),
    }
}

/// The oid of the domain or enum type that a type is, or has elements of.
pub(super) fn own_oid(ty: Type) -> Option<u32> {
    match (ty.domain, ty.base) {
        (Some(domain), _) => Some(domain.oid()),
        (None, Base::Enum(definition)) => Some(definition.oid()),
        _ => None,
    }
}

/// Whether a type is one of arrays: a domain over arrays is none.
pub(super) fn is_array(ty: Type) -> bool {
    ty.array && ty.as_domain().is_none()
}

/// An expression of the catalog.
pub(super) fn seen_expression(facts: &dyn Facts, text: &str) -> String {
    let mut edits = of_mentions(facts, Whose::Kept, text);
    edits.sort_by_key(|(range, _)| range.start);
    replaced(text, edits.into_iter())
}

/// What is to stand in place of the names in a text, and of types, functions and values of the system, which print as
/// PostgreSQL does.
fn of_mentions(facts: &dyn Facts, whose: Whose<'_>, text: &str) -> Vec<(Range<usize>, String)> {
    let all = mentions(facts.catalog(), whose, text);
    let mut edits: Vec<_> =
        all.iter().map(|mention| (mention.range.clone(), printed(facts, mention))).collect();
    let of_system = types_of_system(text).into_iter().chain(words_of_system(text));
    edits
        .extend(of_system.filter(|(range, _)| !all.iter().any(|mention| mention.range.start == range.start)));
    edits
}

/// Values that have names, which PostgreSQL prints in upper case.
const NAMED_VALUES: [&str; 10] = [
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "session_user",
];

/// What looks like a function and is none in PostgreSQL's grammar, so that it prints in upper case.
const FORMS: [&str; 5] = ["coalesce", "greatest", "grouping", "least", "nullif"];

/// Words that a call may begin with, and that are printed with words between the arguments.
const SPELLED: [&str; 5] = ["extract", "overlay", "position", "substring", "trim"];

/// The functions and named values of the system in a text, if they are not written as PostgreSQL prints them.
fn words_of_system(text: &str) -> Vec<(Range<usize>, String)> {
    let tokens = Tokens::of(text);
    let mut found = Vec::new();
    for (at, token) in tokens.all.iter().enumerate().filter(|(_, token)| token.kind == Kind::Word) {
        let word = token.of(text);
        let folded = word.to_ascii_lowercase();
        let name = folded.as_str();
        let is_alias = at > 0 && (tokens.sign(at - 1, ".") || tokens.is(at - 1, "as"));
        let has_precision = || tokens.all.get(at + 2).is_some_and(|token| token.kind == Kind::Number);
        let printed = match tokens.sign(at + 1, "(") {
            _ if is_alias => continue,
            true if FORMS.contains(&name) => name.to_ascii_uppercase(),
            called if NAMED_VALUES.contains(&name) && (!called || has_precision()) => {
                name.to_ascii_uppercase()
            }
            true if !SPELLED.contains(&name) && is_function(name) => folded,
            _ => continue,
        };
        if printed != word {
            found.push((token.start..token.end, printed));
        }
    }
    found
}

/// Whether the system has a function of this name.
fn is_function(name: &str) -> bool {
    !functions_named(name).is_empty() || is_aggregate(name) || SessionFn::is_named(name) || returns_set(name)
}

/// The words of types of the system in a text: the syntax tree prints them in upper case.
fn types_of_system(text: &str) -> Vec<(Range<usize>, String)> {
    let tokens = Tokens::of(text);
    let plain = |at: usize| tokens.all.get(at).filter(|token| token.kind == Kind::Word);
    let mut found = Vec::new();
    for at in (0..tokens.all.len()).filter(|&at| tokens.begins_type(at) && !tokens.sign(at + 1, ".")) {
        let Some(first) = plain(at) else { continue };
        let mut last = at;
        while plain(last + 1).is_some_and(|_| {
            ["with", "without", "time", "zone", "varying", "precision"]
                .iter()
                .any(|word| tokens.is(last + 1, word))
        }) {
            last += 1;
        }
        let mut words = text[first.start..tokens.all[last].end].to_lowercase();
        let mut modifier = "";
        if tokens.sign(last + 1, "(")
            && let Some(close) = (last + 2..tokens.all.len()).find(|&at| tokens.sign(at, ")"))
        {
            // of a time it stands in the middle
            modifier = &text[tokens.all[last + 1].start..tokens.all[close].end];
            last = close;
            while ["with", "without", "time", "zone"].iter().any(|word| tokens.is(last + 1, word)) {
                last += 1;
                words = format!("{words} {}", tokens.all[last].of(text).to_lowercase());
            }
        }
        let ty = Type::parse(&words).ok().filter(|_| words != "bpchar");
        let name = ty.map_or(words, Type::sql_name);
        let printed = match name.split_once(' ') {
            Some((head, rest)) if head.starts_with("time") && !modifier.is_empty() => {
                format!("{head}{modifier} {rest}")
            }
            _ => format!("{name}{modifier}"),
        };
        found.push((first.start..tokens.all[last].end, printed));
    }
    found
}

/// What an expression of the catalog names.
pub(super) fn objects_of(catalog: &Catalog, text: &str) -> Vec<Object> {
    mentions(catalog, Whose::Kept, text).into_iter().map(|mention| mention.object).collect()
}

/// The query of a view, with its stars written out, and the names that the view gives its columns.
///
/// # Errors
/// What is wrong with the query.
pub(super) fn seen_query(facts: &dyn Facts, view: &Arc<ViewDesc>) -> Result<String> {
    let text = view.query.as_str();
    let (output, noted) = bound(facts, view)?;
    let mut edits: Vec<(Range<usize>, String)> =
        noted.into_iter().filter_map(|noted| edit(facts, text, noted)).collect();
    edits.extend(of_mentions(facts, Whose::View(view), text));
    // a query that is recursive is bound twice
    edits.sort_by_key(|(range, _)| range.start);
    edits.dedup_by_key(|(range, _)| range.start);
    let text = replaced(text, edits.into_iter());
    let same = output.iter().zip(&view.columns).all(|(output, (name, ..))| output == name);
    Ok(if same { text } else { renamed(&text, view)? })
}

/// The condition that begins at a byte of the query of a view, and ends it, as who looks at it finds the names.
///
/// # Errors
/// What is wrong with the query.
pub(super) fn seen_condition(facts: &dyn Facts, view: &Arc<ViewDesc>, begin: usize) -> Result<String> {
    let text = view.query.as_str();
    let (_, noted) = bound(facts, view)?;
    let mut edits: Vec<(Range<usize>, String)> =
        noted.into_iter().filter_map(|noted| edit(facts, text, noted)).collect();
    edits.extend(of_mentions(facts, Whose::View(view), text));
    edits.retain(|(range, _)| range.start >= begin);
    edits.sort_by_key(|(range, _)| range.start);
    edits.dedup_by_key(|(range, _)| range.start);
    Ok(replaced(text, edits.into_iter()).split_off(begin))
}

/// What the query of a view calls its columns, and what names and stars in it mean.
fn bound(facts: &dyn Facts, view: &Arc<ViewDesc>) -> Result<(Vec<String>, Vec<Noted>)> {
    let query = scaledb_parse::query(&view.query)?;
    let env = Env::default();
    let mut binder = Binder::new(facts.catalog(), facts.lookup(), &env, Vec::new());
    binder.known_columns.clone_from(&view.known);
    binder.noted = Some(Vec::new());
    binder.policies.off = true;
    let bound = binder.apart(Naming::View(view.clone()), |binder| binder.query(&query))?;
    let output = bound.output.into_iter().map(|output| output.name).collect();
    Ok((output, binder.noted.take().unwrap_or_default()))
}

/// Relations by their oids, and columns by the oids of their tables and their numbers.
type UsedByView = (BTreeSet<u32>, BTreeSet<(u32, i16)>);

/// The relations that the query of a view names, by their oids, and columns that it reads, by the oids of their tables
/// and their numbers: a column of a view is one of the table that it comes from.
///
/// # Errors
/// What is wrong with the query.
pub(super) fn used_by_view(facts: &dyn Facts, view: &Arc<ViewDesc>) -> Result<UsedByView> {
    let (mut relations, mut columns) = (BTreeSet::new(), BTreeSet::new());
    for noted in bound(facts, view)?.1 {
        match noted {
            Noted::Relation(_, oid, _) => drop(relations.insert(oid)),
            // of a view it is told what tables it reads
            Noted::Column(_, (of, _), _) if matches!(facts.catalog().get(of), Some(Relation::View(_))) => {}
            Noted::Column(_, origin, _) => columns.extend([origin]),
            Noted::Star(_, of) => columns.extend(of.into_iter().map(|column| column.origin)),
        }
    }
    Ok((relations, columns))
}

/// What is to stand in place of what was noted.
fn edit(facts: &dyn Facts, text: &str, noted: Noted) -> Option<(Range<usize>, String)> {
    let start = |span: Span| scaledb_parse::offset_of(text, span.start.line, span.start.column);
    match noted {
        Noted::Column(..) => None,
        Noted::Relation(span, oid, _) => {
            let relation = facts.catalog().get(oid)?;
            let start = start(span);
            let end = end_of_name(text, start);
            Some((start..end, seen(facts, relation.schema(), relation.name())))
        }
        Noted::Star(span, columns) => {
            let start = start(span);
            let star = Lexer::starting_at(text, start).find(|token| token.is_sign(text, "*"))?;
            let columns = columns.iter().map(|column| match &column.table {
                Some(table) => format!("{}.{}", quoted(table), quoted(&column.name)),
                None => quoted(&column.name),
            });
            Some((start..star.end, columns.collect::<Vec<_>>().join(", ")))
        }
    }
}

/// The byte behind a name that may have a schema.
pub(crate) fn end_of_name(text: &str, start: usize) -> usize {
    let mut end = start;
    let mut tokens = Lexer::starting_at(text, start);
    while let Some(name) = tokens.next() {
        end = name.end;
        if !tokens.next().is_some_and(|sign| sign.is_sign(text, ".")) {
            break;
        }
    }
    end
}

/// A query whose columns have the names that those of the view have.
fn renamed(text: &str, view: &ViewDesc) -> Result<String> {
    let mut query = scaledb_parse::query(text)?;
    let names = || view.columns.iter().map(|(name, ..)| name.as_str());
    let own = first_select(&mut query).filter(|select| select.projection.len() == view.columns.len());
    let Some(select) = own else {
        let names: Vec<String> = names().map(quoted).collect();
        if matches!(*query.body, SetExpr::Values(_)) && query.with.is_none() && query.order_by.is_none() {
            // as PostgreSQL prints it
            let columns = (1..).zip(&names).map(|(at, name)| format!("\"*VALUES*\".column{at} AS {name}"));
            let columns = columns.collect::<Vec<_>>().join(", ");
            return Ok(format!("SELECT {columns} FROM ({text}) \"*VALUES*\""));
        }
        let view = quoted(&view.name);
        return Ok(format!("SELECT {0} FROM ({text}) AS {view} ({0})", names.join(", ")));
    };
    for (item, name) in select.projection.iter_mut().zip(names()) {
        let quotes = (quoted(name) != name).then_some('"');
        let alias =
            sqlparser::ast::Ident { value: name.to_owned(), quote_style: quotes, span: Span::empty() };
        match item {
            SelectItem::UnnamedExpr(expr) => {
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
            SelectItem::ExprWithAlias { alias: known, .. } => *known = alias,
            _ => {}
        }
    }
    Ok(query.to_string())
}

/// The select list that names the columns of a query.
fn first_select(query: &mut Query) -> Option<&mut Select> {
    let mut body = &mut query.body;
    loop {
        match &mut **body {
            SetExpr::Select(select) => return Some(select),
            SetExpr::SetOperation { left, .. } => body = left,
            SetExpr::Query(query) => body = &mut query.body,
            _ => return None,
        }
    }
}

/// A text with other words at some places, which are in their order.
fn replaced(text: &str, edits: impl Iterator<Item = (Range<usize>, String)>) -> String {
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for (range, new) in edits.filter(|(range, _)| !range.is_empty()) {
        if range.start < copied {
            continue;
        }
        out.push_str(&text[copied..range.start]);
        out.push_str(&new);
        copied = range.end;
    }
    out.push_str(&text[copied..]);
    out
}

fn printed(facts: &dyn Facts, mention: &Mention) -> String {
    let (schema, name) = (mention.schema.as_str(), mention.name.as_str());
    let shown = match mention.object {
        Object::Routine(_) => seen_routine(facts, schema, name),
        Object::Relation(_) | Object::Type(_) => seen(facts, schema, name),
    };
    if mention.literal { format!("'{}'", shown.replace('\'', "''")) } else { shown }
}

/// The types, routines and what else literals name in a text, in their order.
fn mentions(catalog: &Catalog, whose: Whose<'_>, text: &str) -> Vec<Mention> {
    let tokens = Tokens::of(text);
    let mut found = Vec::new();
    for at in 0..tokens.all.len() {
        let token = tokens.all[at];
        if matches!(token.kind, Kind::Text | Kind::Special) {
            let named = tokens.named_by(at).and_then(|named| Some((named, tokens.literal(at)?)));
            let named = named.and_then(|(named, literal)| named_by(catalog, whose, named, &literal));
            found.extend(named.map(|(schema, name, object)| {
                let range = token.start..token.end;
                Mention { range, schema, name, object, literal: true }
            }));
            continue;
        }
        let Some(first) = tokens.word(at).filter(|_| !at.checked_sub(1).is_some_and(|b| tokens.sign(b, ".")))
        else {
            continue;
        };
        let second = if tokens.sign(at + 1, ".") { tokens.word(at + 2) } else { None };
        let last = if second.is_some() { at + 2 } else { at };
        let (schema, name) = match second {
            Some(name) => (Some(first), name),
            None => (None, first),
        };
        let object = if tokens.begins_type(at) {
            type_of(catalog, whose, schema.as_deref(), &name)
        } else if tokens.sign(last + 1, "(") && !is_alias(&tokens, at) {
            routine_of(catalog, whose, schema.as_deref(), &name)
        } else {
            None
        };
        found.extend(object.map(|(schema, object)| {
            let range = token.start..tokens.all[last].end;
            Mention { range, schema, name, object, literal: false }
        }));
    }
    found
}

/// Whether a name in front of a parenthesis names what stands in it or before, and is not called.
fn is_alias(tokens: &Tokens<'_>, at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return false };
    ["as", "with", "recursive"].iter().any(|word| tokens.is(before, word))
}

/// An enum type or a domain, or arrays of one, and its schema.
fn type_of(
    catalog: &Catalog,
    whose: Whose<'_>,
    schema: Option<&str>,
    name: &str,
) -> Option<(String, Object)> {
    let find = |schema: &str| {
        let own = catalog.own_type_named(schema, name);
        own.or_else(|| catalog.own_type_named(schema, name.strip_prefix('_')?))
    };
    let oid = match (schema, whose) {
        (Some(schema), _) => find(schema),
        (None, Whose::Kept) => find(PUBLIC),
        (None, Whose::View(view)) => {
            path_of(view).find_map(|schema| find(schema).filter(|oid| view.uses.contains(oid)))
        }
    }?;
    let (schema, _) = catalog.own_type(oid)?;
    Some((schema.to_owned(), Object::Type(oid)))
}

fn path_of(view: &ViewDesc) -> impl Iterator<Item = &str> {
    let before_schemas = view.path.is_empty().then_some(PUBLIC);
    view.path.iter().map(String::as_str).chain(before_schemas)
}

/// A routine, and its schema.
fn routine_of(
    catalog: &Catalog,
    whose: Whose<'_>,
    schema: Option<&str>,
    name: &str,
) -> Option<(String, Object)> {
    // a function of the system may be the one that is called
    if !functions_named(name).is_empty() {
        return None;
    }
    let found = catalog.routines_named(name).find(|desc| match (schema, whose) {
        (Some(schema), _) => desc.schema == schema,
        (None, Whose::Kept) => desc.schema == PUBLIC,
        (None, Whose::View(view)) => view.uses.contains(&desc.oid),
    })?;
    Some((found.schema.clone(), Object::Routine(found.oid)))
}

/// What a literal names.
fn named_by(
    catalog: &Catalog,
    whose: Whose<'_>,
    named: Named,
    literal: &str,
) -> Option<(String, String, Object)> {
    let (schema, name) = split_text(literal)?;
    match named {
        Named::Relation => {
            let relation = catalog.lookup(schema.as_deref().unwrap_or(PUBLIC), &name)?;
            let object = Object::Relation(relation.oid());
            Some((relation.schema().to_owned(), relation.name().to_owned(), object))
        }
        Named::Type => {
            let (schema, object) = type_of(catalog, whose, schema.as_deref(), &name)?;
            Some((schema, name, object))
        }
    }
}
