//! COMMENT ON: what is said about relations and their parts is kept in their descriptors.

use super::super::Session;
use super::position;
use crate::api::{Severity, Tag};
use scaledb_catalog::{About, CommentDesc, Relation};
use scaledb_engine::Engine;
use scaledb_parse::comment::{Comment, Subject};
use scaledb_parse::lex::quoted;
use scaledb_planner::bind::names::{no_schema, parse_type, shown};
use scaledb_types::{Result, SqlError, SqlState};
use std::sync::Arc;

impl<E: Engine> Session<E> {
    /// COMMENT ON.
    ///
    /// # Errors
    /// 42P01, 42703, 42704 and 42809 if there is no such thing.
    pub(in crate::session) fn comment(&mut self, comment: &Comment) -> Result<Tag> {
        let (relation, about) = match &comment.subject {
            Subject::Relation { kind: "index", schema, name } => {
                let within = self.schema_of_index(schema.as_deref(), name);
                let found = within.and_then(|schema| self.state.catalog.index(&schema, name));
                let Some((table, index)) = found else {
                    self.commented(schema.as_deref(), name)?;
                    return Err(wrong_kind(name, "an index"));
                };
                let primary = table.primary_key.as_ref().map_or(0, |key| key.oid);
                let oid = index.map_or(primary, |index| index.oid);
                (Relation::Table(table.clone()), About::Index(oid))
            }
            Subject::Relation { kind, schema, name } => {
                let relation = self.commented(schema.as_deref(), name)?;
                if relation.kind() != *kind {
                    return Err(wrong_kind(name, &format!("a {kind}")));
                }
                (relation, About::Relation)
            }
            Subject::Column { schema, relation, column } => {
                let relation = self.commented(schema.as_deref(), relation)?;
                let number = match &relation {
                    Relation::Table(table) => table.columns[position(table, column)?].attnum,
                    Relation::View(view) => {
                        let at = view.columns.iter().position(|(name, ..)| name == column);
                        let at = at.and_then(|at| i16::try_from(at + 1).ok());
                        at.ok_or_else(|| {
                            let what =
                                format!("column \"{column}\" of relation \"{}\" does not exist", view.name);
                            SqlError::new(SqlState::UNDEFINED_COLUMN, what)
                        })?
                    }
                    Relation::Sequence(sequence) => {
                        let what = format!("cannot set comment on relation \"{}\"", sequence.name);
                        return Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what)
                            .detail("This operation is not supported for sequences."));
                    }
                };
                (relation, About::Column(number))
            }
            Subject::Constraint { name, schema, table } => {
                let relation = self.commented(schema.as_deref(), table)?;
                let none = || {
                    let what = format!("constraint \"{name}\" for table \"{table}\" does not exist");
                    SqlError::new(SqlState::UNDEFINED_OBJECT, what)
                };
                let Relation::Table(desc) = &relation else { return Err(none()) };
                let oid = desc.constraints().find(|(known, _)| known == name).ok_or_else(none)?.1;
                (relation, About::Constraint(oid))
            }
            Subject::Routine { kinds, routine } => {
                self.begin_change()?;
                self.comment_on_routine(*kinds, routine, comment.text.as_deref())?;
                return Ok(Tag::plain("COMMENT"));
            }
            Subject::Domain { name, constraint } => {
                self.begin_change()?;
                self.comment_on_domain(name, constraint.as_deref(), comment.text.as_deref())?;
                return Ok(Tag::plain("COMMENT"));
            }
            Subject::Type(name) if self.is_domain(name) => {
                self.begin_change()?;
                self.comment_on_domain(name, None, comment.text.as_deref())?;
                return Ok(Tag::plain("COMMENT"));
            }
            Subject::Trigger { name, schema, table } => {
                self.begin_change()?;
                self.comment_on_trigger(name, &(schema.clone(), table.clone()), comment.text.as_deref())?;
                return Ok(Tag::plain("COMMENT"));
            }
            Subject::Policy { name, schema, table } => {
                self.begin_change()?;
                self.comment_on_policy(name, &(schema.clone(), table.clone()), comment.text.as_deref())?;
                return Ok(Tag::plain("COMMENT"));
            }
            Subject::Database(name) => {
                self.comment_on_database(name, comment.text.as_deref())?;
                return Ok(Tag::plain("COMMENT"));
            }
            Subject::Role(role) => {
                self.begin_change()?;
                self.comment_on_role(role, comment.text.as_deref())?;
                return Ok(Tag::plain("COMMENT"));
            }
            Subject::Extension(name) => {
                self.begin_change()?;
                self.comment_on_extension(name, comment.text.as_deref())?;
                return Ok(Tag::plain("COMMENT"));
            }
            Subject::Other | Subject::Type(_) | Subject::Schema(_) => {
                self.check_commented(&comment.subject)?;
                let what = "comments are kept for tables, views, sequences, indexes, columns, constraints, domains, functions, triggers, policies and roles only";
                self.state.notice(Severity::Warning, SqlError::new(SqlState::WARNING, what));
                return Ok(Tag::plain("COMMENT"));
            }
        };
        self.state.check_owner(relation.oid())?;
        self.begin_change()?;
        self.put(with_comment(&relation, about, comment.text.as_deref()))?;
        Ok(Tag::plain("COMMENT"))
    }

    /// Looks whether what has no comments is there.
    fn check_commented(&self, subject: &Subject) -> Result<()> {
        match subject {
            Subject::Type((schema, name)) => {
                let named = |name: &str| {
                    let schema = schema.as_deref().map(quoted);
                    let text = shown(schema.as_deref(), name);
                    parse_type(&self.state.catalog, &self.state.path, &text)
                };
                // one whose name is a word of SQL
                named(name).or_else(|_| named(&quoted(name))).map(drop)
            }
            Subject::Schema(name) => {
                let own = matches!(name.as_str(), "pg_catalog" | "information_schema" | "pg_toast");
                match own || self.state.catalog.schema_oid(name).is_some() {
                    true => Ok(()),
                    false => Err(no_schema(name)),
                }
            }
            _ => Ok(()),
        }
    }

    fn commented(&self, schema: Option<&str>, name: &str) -> Result<Relation> {
        let found = match schema {
            Some(schema) => super::own_schema(&self.state.path, schema)
                .and_then(|schema| self.state.catalog.lookup(schema, name)),
            None => self.state.path.iter().find_map(|schema| self.state.catalog.lookup(schema, name)),
        };
        found.cloned().ok_or_else(|| {
            if self.schema_of_index(schema, name).is_some() {
                return SqlError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is an index"));
            }
            undefined(&scaledb_planner::bind::names::shown(schema, name))
        })
    }
}

fn undefined(name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
}

fn wrong_kind(name: &str, kind: &str) -> SqlError {
    SqlError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not {kind}"))
}

/// A relation with another comment; without one if there is no text, or an empty one.
fn with_comment(relation: &Relation, about: About, text: Option<&str>) -> Relation {
    let change = |comments: &mut Vec<CommentDesc>| {
        comments.retain(|comment| comment.about != about);
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            comments.push(CommentDesc { about, text: text.to_owned() });
        }
    };
    match relation {
        Relation::Table(desc) => {
            let mut desc = (**desc).clone();
            change(&mut desc.comments);
            Relation::Table(Arc::new(desc))
        }
        Relation::View(desc) => {
            let mut desc = (**desc).clone();
            change(&mut desc.comments);
            Relation::View(Arc::new(desc))
        }
        Relation::Sequence(desc) => {
            let mut desc = (**desc).clone();
            change(&mut desc.comments);
            Relation::Sequence(Arc::new(desc))
        }
    }
}
