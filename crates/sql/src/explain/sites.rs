//! Which nodes of a cluster answer for a scan, and where what is written is locked.

use super::nodes::Describer;
use super::{Data, Detail, Fields};
use crate::exec::codec;
use scaledb_base::TableId;
use scaledb_engine::{Keys, Range, Reach, Reached, Site};
use scaledb_keys::{Direction, KeyBuf};
use scaledb_planner::plan::expr::Expr;
use scaledb_planner::plan::{Access, BoundTable, KeyValue, Scan};

/// Asks the engine which nodes answer for keys.
pub(crate) type Reaching<'a> = dyn Fn(TableId, Keys<'_>) -> Option<Reach> + 'a;

/// What is known of the keys of a scan before it runs.
enum Known {
    /// The keys from one up to, and without, another.
    Range(KeyBuf, Option<KeyBuf>),
    /// So many leading columns will be known when the statement runs.
    Columns(usize),
    /// Of several keys, each with so many columns.
    Several(usize),
}

fn known(scan: &Scan) -> (TableId, Known) {
    let (index, key, point) = match &scan.access {
        Access::Point { index, key } => (*index, key, true),
        Access::Range { index, key, .. } => (*index, key, false),
    };
    let columns = scan.table.index_columns(scan.index);
    let mut start = KeyBuf::new();
    for (value, column) in key.iter().zip(columns) {
        match value {
            KeyValue::One(Expr::Const(value))
                if !value.is_null() && codec::push_key(&mut start, &scan.table, column, value).is_ok() => {}
            KeyValue::One(_) if key.iter().all(|value| matches!(value, KeyValue::One(_))) => {
                return (index, Known::Columns(key.len()));
            }
            _ => return (index, Known::Several(key.len())),
        }
    }
    let mut end = start.clone();
    let end = if point {
        end.push_u8(0, Direction::Ascending);
        Some(end)
    } else {
        end.next_prefix().then_some(end)
    };
    (index, Known::Range(start, end))
}

impl Describer<'_> {
    /// Where the rows of a scan are read; nothing outside of a cluster.
    pub(super) fn sites_of_scan(&self, scan: &Scan) -> Option<Detail> {
        let (index, known) = known(scan);
        let (keys, several) = match &known {
            Known::Range(start, end) => (Keys::In(Range { start, end: end.as_deref() }), false),
            Known::Columns(columns) => (Keys::Beginning(*columns), false),
            Known::Several(columns) => (Keys::Beginning(*columns), true),
        };
        let Reach { reached, of, reads, .. } = (self.reach)(index, keys)?;
        let (which, read) = match reached {
            Reached::One(number) => (format!("{number}"), one(&reads)),
            Reached::ByKey if several => (format!("those of the keys, of {of}"), counted(&reads)),
            Reached::ByKey => (format!("one of {of}, by the key"), counted(&reads)),
            Reached::All => (format!("all {of}"), counted(&reads)),
        };
        let word = if matches!(reached, Reached::One(_)) { "Partition" } else { "Partitions" };
        let line = Some(format!("{word}: {which}, read {read}"));
        let fields = vec![("Partitions", Data::Text(which)), ("Read At", sites(&reads))];
        Some(Detail { line, fields })
    }

    /// Where what is written to a table is locked; nothing outside of a cluster.
    pub(super) fn primaries(&self, table: &BoundTable) -> Option<Detail> {
        let Reach { primaries, .. } = (self.reach)(table.info.id, Keys::Beginning(table.primary.len()))?;
        let text = if let [one] = &primaries[..] { name(one) } else { counted(&primaries) };
        let word = if primaries.len() == 1 { "Primary" } else { "Primaries" };
        Some(Detail { line: Some(format!("{word}: {text}")), fields: vec![("Primaries", sites(&primaries))] })
    }
}

fn name(site: &Site) -> String {
    if site.here { format!("this node, {}", site.node) } else { site.node.clone() }
}

fn one(reads: &[Site]) -> String {
    match reads {
        [site] if site.here => "at this node's replica".to_owned(),
        [site] => format!("at the primary, {}", site.node),
        _ => counted(reads),
    }
}

/// `42 at this node, 21 at b`.
fn counted(sites: &[Site]) -> String {
    let one = |site: &Site| match site.here {
        true => format!("{} at this node", site.partitions),
        false => format!("{} at {}", site.partitions, site.node),
    };
    sites.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn sites(sites: &[Site]) -> Data {
    let one = |site: &Site| -> Fields {
        vec![
            ("Node", Data::Text(site.node.clone())),
            ("Here", Data::Truth(site.here)),
            ("Partitions", Data::Count(u64::from(site.partitions))),
        ]
    };
    Data::Groups(sites.iter().map(one).collect())
}
