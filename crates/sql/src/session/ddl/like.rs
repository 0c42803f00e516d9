//! CREATE TABLE .. (LIKE ..): columns as another table or view has them, with what is asked for of the rest.

use super::super::Session;
use super::expression::name_of_key;
use super::sequence::next_of;
use scaledb_catalog::{
    About, CheckDesc, ColumnDesc, CommentDesc, IncludedDesc, IndexDesc, KeyColumn, ObjectKind, PredicateDesc,
    PrimaryKeyDesc, Privileges, Relation, SequenceDesc, TableDesc,
};
use scaledb_engine::Engine;
use scaledb_parse::like::{Like, Part};
use scaledb_planner::bind::names::{find_relation, shown};
use scaledb_types::{Result, SqlError, SqlState};
use std::collections::HashMap;
use std::sync::Arc;

/// What is copied when all columns of the new table are known.
pub(super) struct Copied {
    from: Arc<TableDesc>,
    like: Like,
    /// The numbers that the copies of columns have.
    numbers: HashMap<i16, i16>,
}

impl<E: Engine> Session<E> {
    /// Adds the columns that a LIKE means.
    ///
    /// # Errors
    /// 42P01, 42701; 42809 for a sequence.
    pub(super) fn like_columns(&mut self, desc: &mut TableDesc, like: Like) -> Result<Option<Copied>> {
        let found =
            find_relation(&self.state.catalog, &self.state.path, like.schema.as_deref(), &like.name).cloned();
        match found {
            Some(Relation::Table(from)) => {
                self.state.check_privilege(ObjectKind::Table, from.oid, Privileges::SELECT)?;
                let mut numbers = HashMap::new();
                for column in from.visible() {
                    let mut copy = column.clone();
                    if !like.includes(Part::Defaults) || column.identity.is_some() {
                        copy.default = None;
                    }
                    if !like.includes(Part::Identity) {
                        copy.identity = None;
                    }
                    if !like.includes(Part::Generated) {
                        copy.generated = None;
                    }
                    numbers.insert(column.attnum, self.copy_column(desc, copy)?);
                }
                Ok(Some(Copied { from, like, numbers }))
            }
            Some(Relation::View(view)) => {
                self.state.check_privilege(ObjectKind::Table, view.oid, Privileges::SELECT)?;
                for (name, type_oid, typmod) in &view.columns {
                    let column = ColumnDesc::new(name.clone(), 0, *type_oid, *typmod);
                    self.copy_column(desc, column)?;
                }
                Ok(None)
            }
            Some(Relation::Sequence(sequence)) => {
                let what = format!("relation \"{}\" is invalid in LIKE clause", sequence.name);
                let detail = "This operation is not supported for sequences.";
                Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what).detail(detail))
            }
            None => {
                let named = shown(like.schema.as_deref(), &like.name);
                let what = format!("relation \"{named}\" does not exist");
                Err(SqlError::new(SqlState::UNDEFINED_TABLE, what))
            }
        }
    }

    /// Adds a copy of a column; the number that it has.
    fn copy_column(&self, desc: &mut TableDesc, mut column: ColumnDesc) -> Result<i16> {
        if !column.hidden && desc.column(&column.name).is_some() {
            let what = format!("column \"{}\" specified more than once", column.name);
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
        }
        column.attnum = desc.next_attnum;
        desc.next_attnum += 1;
        desc.columns.push(column);
        Ok(desc.next_attnum - 1)
    }

    /// Adds what a LIKE includes besides columns.
    pub(super) fn like_rest(&mut self, desc: &mut TableDesc, copied: Copied) -> Result<()> {
        let Copied { from, like, mut numbers } = copied;
        let commented = |about: About| from.comments.iter().find(|comment| comment.about == about);
        let mut comments: Vec<(Option<&CommentDesc>, About)> = Vec::new();
        if like.includes(Part::Identity) {
            for column in from.visible().filter(|column| column.identity.is_some()) {
                self.copy_sequence(desc, &from, column.attnum, numbers[&column.attnum])?;
            }
        }
        for column in from.visible() {
            comments.push((commented(About::Column(column.attnum)), About::Column(numbers[&column.attnum])));
        }
        if like.includes(Part::Constraints) {
            for check in &from.checks {
                if desc.has_constraint(&check.name) {
                    let what = format!("check constraint \"{}\" already exists", check.name);
                    return Err(SqlError::new(SqlState::DUPLICATE_OBJECT, what));
                }
                let oid = self.state.new_oid(&desc.schema);
                comments.push((commented(About::Constraint(check.oid)), About::Constraint(oid)));
                let (name, expression) = (check.name.clone(), check.expression.clone());
                // no row is there that might not fulfil it
                desc.checks.push(CheckDesc { oid, name, expression, validated: true });
            }
        }
        if like.includes(Part::Indexes) {
            if let Some(key) = &from.primary_key {
                super::constraint::one_primary_key(desc)?;
                let columns = copied_key(&key.columns, &numbers);
                super::constraint::not_null(desc, &columns);
                let table = desc.name.clone();
                let (oid, name) = (self.state.new_oid(&desc.schema), self.free_name(desc, &[&table], "pkey"));
                comments.push((commented(About::Index(key.oid)), About::Index(oid)));
                copy_included(desc, &from, key.oid, oid, &numbers);
                desc.primary_key = Some(PrimaryKeyDesc { oid, name, columns });
            }
            for index in &from.indexes {
                // what its expressions and its condition are kept in
                let hidden = index.columns.iter().map(|key| key.attnum);
                for attnum in hidden.chain(index.predicate.iter().map(|predicate| predicate.marker)) {
                    let column = from.columns.iter().find(|column| column.attnum == attnum);
                    if let Some(column) = column.filter(|column| column.hidden)
                        && !numbers.contains_key(&attnum)
                    {
                        let copy = self.copy_column(desc, column.clone())?;
                        numbers.insert(attnum, copy);
                    }
                }
                let copy = self.copy_index(desc, &from, index, &numbers)?;
                comments.push((commented(About::Index(index.oid)), About::Index(copy.oid)));
                copy_included(desc, &from, index.oid, copy.oid, &numbers);
                desc.indexes.push(copy);
            }
        }
        if like.includes(Part::Comments) {
            let kept =
                comments.into_iter().filter_map(|(comment, about)| Some((comment?.text.clone(), about)));
            desc.comments.extend(kept.map(|(text, about)| CommentDesc { about, text }));
        }
        Ok(())
    }

    fn copy_index(
        &mut self,
        desc: &mut TableDesc,
        from: &TableDesc,
        index: &IndexDesc,
        numbers: &HashMap<i16, i16>,
    ) -> Result<IndexDesc> {
        let columns = copied_key(&index.columns, numbers);
        if index.primary {
            super::constraint::one_primary_key(desc)?;
            super::constraint::not_null(desc, &columns);
        }
        let mut parts = vec![desc.name.clone()];
        let of_columns = index.columns.iter().map(|key| {
            let column = from.columns.iter().find(|column| column.attnum == key.attnum);
            match column.map(|column| (&column.name, &column.key)) {
                Some((_, Some(key))) => {
                    scaledb_parse::expression(key).map_or_else(|_| "expr".to_owned(), |ast| name_of_key(&ast))
                }
                Some((name, None)) => name.clone(),
                None => "expr".to_owned(),
            }
        });
        let suffix = match (index.primary, index.constraint) {
            (true, _) => "pkey",
            (false, true) if index.exclusion.is_some() => "excl",
            (false, true) => "key",
            (false, false) => "idx",
        };
        if !index.primary {
            parts.extend(of_columns);
            let included = from.included_by(index.oid).iter();
            parts.extend(included.map(|attnum| from.column_name(*attnum).to_owned()));
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let name = self.free_name(desc, &parts, suffix);
        let predicate = index.predicate.as_ref().map(|predicate| PredicateDesc {
            text: predicate.text.clone(),
            marker: numbers[&predicate.marker],
        });
        Ok(IndexDesc {
            oid: self.state.new_oid(&desc.schema),
            name,
            columns,
            engine: String::new(),
            predicate,
            ..index.clone()
        })
    }

    /// Makes the sequence of a copy of an identity column, with the options of that of the other one.
    fn copy_sequence(&mut self, desc: &mut TableDesc, from: &TableDesc, of: i16, to: i16) -> Result<()> {
        let owned = |relation: &Relation| match relation {
            Relation::Sequence(sequence) if sequence.owned_by == Some((from.oid, of)) => {
                Some(sequence.clone())
            }
            _ => None,
        };
        let Some(sequence) = self.state.catalog.relations().find_map(owned) else { return Ok(()) };
        let at = desc.position(to).ok_or_else(|| SqlError::internal("no such column"))?;
        let column = desc.columns[at].name.clone();
        let copy = SequenceDesc {
            oid: self.state.new_oid(&desc.schema),
            schema: desc.schema.clone(),
            name: self.free_name(desc, &[&desc.name, &column], "seq"),
            owned_by: Some((desc.oid, to)),
            restarted_as: None,
            comments: Vec::new(),
            ..(*sequence).clone()
        };
        desc.columns[at].default = Some(next_of(&copy));
        self.put(Relation::Sequence(Arc::new(copy)))
    }
}

/// Notes the columns that the copy of an index includes.
fn copy_included(desc: &mut TableDesc, from: &TableDesc, index: u32, copy: u32, numbers: &HashMap<i16, i16>) {
    let columns: Vec<i16> =
        from.included_by(index).iter().filter_map(|of| numbers.get(of).copied()).collect();
    if !columns.is_empty() {
        desc.included.push(IncludedDesc { index: copy, columns });
    }
}

fn copied_key(columns: &[KeyColumn], numbers: &HashMap<i16, i16>) -> Vec<KeyColumn> {
    columns.iter().map(|key| KeyColumn { attnum: numbers[&key.attnum], ..*key }).collect()
}
