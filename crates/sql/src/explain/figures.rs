//! What operators have done, as it is shown.

use super::nodes::Describer;
use super::{Data, Detail, Figures, Shown, average};
use crate::exec::measure::{Measure, MergedRows};
use scaledb_planner::plan::expr::{Expr, Subquery};
use scaledb_planner::plan::{Merge, Modify, Node};

/// Bytes in kB, of which there is one at least.
fn kilobytes(bytes: u64) -> u64 {
    bytes.div_ceil(1_024)
}

/// An operator that is none here has the rows of those below it.
pub(super) fn together(shown: &mut Shown) {
    let below: Option<Vec<Figures>> = shown.children.iter().map(|child| child.node.figures).collect();
    let Some([first, rest @ ..]) = below.as_deref() else { return };
    let add = |sum: Figures, more: &Figures| {
        let times = sum.times.zip(more.times).map(|(sum, more)| (sum.0, sum.1 + more.1));
        Figures { rows: sum.rows + more.rows, times, ..sum }
    };
    shown.figures = Some(rest.iter().fold(*first, add));
}

impl<'p> Describer<'p> {
    /// Says what an operator has done.
    pub(super) fn measured(&self, node: &'p Node, shown: &mut Shown) {
        let Some(measures) = self.measures else { return };
        let measure = measures.of(node).unwrap_or_default();
        let times = measures.timing.then_some((measure.first, measure.total));
        shown.figures = Some(Figures { loops: measure.loops, rows: measure.rows, times });
        match node {
            Node::Sort { .. } if measure.loops > 0 => shown.details.push(sorted(&measure)),
            // a hash join has an operator of its own for what it keeps
            Node::HashJoin(_) => {}
            Node::ModifyTable(modify) => {
                if let Modify::Merge(merge) = &**modify {
                    self.merged(merge, &measure, shown);
                }
            }
            _ => self.memory_of(node, shown),
        }
    }

    /// What a MERGE has done with the rows of its source.
    fn merged(&self, merge: &Merge, measure: &Measure, shown: &mut Shown) {
        let MergedRows { inserted, updated, deleted } = measure.merged;
        let total = self.measures.and_then(|measures| measures.of(&merge.source));
        let total = total.map_or(0, |source| source.rows);
        let skipped = total.saturating_sub(inserted + updated + deleted);
        let all = [("inserted", inserted), ("updated", updated), ("deleted", deleted), ("skipped", skipped)];
        let some = all.iter().filter(|(_, rows)| *rows > 0).map(|(what, rows)| format!(" {what}={rows}"));
        let line = (total > 0).then(|| format!("Tuples:{}", some.collect::<String>()));
        let names = ["Tuples Inserted", "Tuples Updated", "Tuples Deleted", "Tuples Skipped"];
        let fields = names.into_iter().zip(all).map(|(name, (_, rows))| (name, Data::Count(rows)));
        shown.details.push(Detail { line, fields: fields.collect() });
    }

    /// How often an operator was run.
    pub(super) fn loops(&self, node: &Node) -> u64 {
        self.measures.and_then(|measures| measures.of(node)).map_or(0, |measure| measure.loops)
    }

    /// The memory that an operator has held, and the files that it has written.
    pub(super) fn memory_of(&self, node: &Node, shown: &mut Shown) {
        let Some(measure) = self.measures.and_then(|measures| measures.of(node)) else { return };
        if measure.memory == 0 && measure.disk == 0 {
            return;
        }
        let (memory, batches) = (kilobytes(measure.memory as u64), measure.batches as u64 + 1);
        let mut line = format!("Memory Usage: {memory}kB");
        let mut fields = vec![("Peak Memory Usage", Data::Count(memory))];
        let name = match shown.kind {
            "Aggregate" => Some("HashAgg Batches"),
            "Hash" => Some("Hash Batches"),
            _ => None,
        };
        if let Some(name) = name {
            line = format!("Batches: {batches}  {line}");
            fields.insert(0, (name, Data::Count(batches)));
        }
        if measure.disk > 0 {
            let disk = kilobytes(measure.disk);
            line.push_str(&format!("  Disk Usage: {disk}kB"));
            fields.push(("Disk Usage", Data::Count(disk)));
        }
        shown.details.push(Detail { line: Some(line), fields });
    }

    /// The rows that a condition has dropped, on an average of the runs of its operator.
    pub(super) fn removed(&self, key: &'static str, condition: &Expr, loops: u64, shown: &mut Shown) {
        let Some(measures) = self.measures.filter(|_| loops > 0) else { return };
        let removed = measures.dropped_by(condition);
        let each = average(removed, loops);
        let line = (removed > 0).then(|| format!("{key}: {each}"));
        shown.details.push(Detail { line, fields: vec![(key, Data::Count(each))] });
    }

    /// All rows of a subquery that were read once, if they were: it is then answered from these.
    pub(super) fn kept_rows(&mut self, sub: &'p Subquery) -> Option<Shown> {
        let (measures, lookup) = (self.measures?, sub.lookup.as_deref()?);
        measures.of(&lookup.node)?;
        let mut shown = self.query(&lookup.node, &[]);
        let answered = measures.answered(sub);
        let line = Some(format!("Lookups: {answered}"));
        shown.details.push(Detail { line, fields: vec![("Lookups", Data::Count(answered))] });
        Some(shown)
    }
}

/// How rows were sorted, and where.
fn sorted(measure: &Measure) -> Detail {
    let (method, place, bytes) = match (measure.disk, measure.bounded) {
        (0, false) => ("merge sort", "Memory", measure.memory as u64),
        (0, true) => ("top-N sort", "Memory", measure.memory as u64),
        (disk, _) => ("external merge", "Disk", disk),
    };
    let space = kilobytes(bytes);
    Detail {
        line: Some(format!("Sort Method: {method}  {place}: {space}kB")),
        fields: vec![
            ("Sort Method", Data::Text(method.to_owned())),
            ("Sort Space Used", Data::Count(space)),
            ("Sort Space Type", Data::Text(place.to_owned())),
        ],
    }
}
