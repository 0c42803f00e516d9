//! Histories of lists that transactions append to and read, checked for cycles: in time linear in their length.
//!
//! A list that was read tells the order of all appends before it, so that whoever reads lists sees what depends on what
//! (Kingsbury and Alvaro, *Elle*, VLDB 2020). A serializable history has no cycle of these edges:
//!
//! ```text
//!  ww   T1 appends x, T2 the next value behind it          wr   T1 appends x, T2 reads a list that ends in x
//!  rw   T1 reads a list, T2 appends the next value to it   rt   T1 has ended before T2 begins
//! ```
//!
//! Values are unique per list. The kind of a cycle is named as Adya does: G0 of ww alone; G1c with wr; G-single with
//! one rw; G2 with more.

mod graph;

use graph::{Graph, Kind};
use std::collections::HashMap;

/// What a transaction did to a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It appended a value that is appended only once.
    Append(u32, u64),
    /// It read the whole list.
    Read(u32, Vec<u64>),
}

/// A transaction as its client saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// What it did, in order.
    pub steps: Vec<Step>,
    /// When its client began it, and when it heard of its end: ticks of one counter.
    pub time: (u64, u64),
    /// Whether it committed; otherwise nothing of it may be seen.
    pub committed: bool,
}

/// Why a history is not strictly serializable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Anomaly {
    /// A cycle of writes.
    G0(Vec<usize>),
    /// A cycle of writes and reads of them.
    G1c(Vec<usize>),
    /// A cycle with one read that a later write overtook.
    GSingle(Vec<usize>),
    /// A cycle with several of them: write skew.
    G2(Vec<usize>),
    /// Serializable, but not in an order that agrees with real time: a cycle that needs an edge of time.
    RealTime(Vec<usize>),
    /// G1a: a transaction read what another appended that did not commit, or that nobody appended.
    AbortedRead {
        /// Who read.
        reader: usize,
        /// The list.
        list: u32,
        /// What it read.
        value: u64,
    },
    /// G1b: a transaction read a list between two appends of one transaction.
    IntermediateRead {
        /// Who read.
        reader: usize,
        /// The list.
        list: u32,
    },
    /// Two reads of a list of which neither continues the other.
    Incompatible {
        /// The list.
        list: u32,
        /// Who read what does not fit the longest read.
        reader: usize,
    },
    /// A transaction does not see its own appends, or not the same list twice.
    Internal {
        /// Who.
        reader: usize,
        /// The list.
        list: u32,
    },
    /// A value was appended twice, or is twice in a list.
    Duplicate {
        /// The list.
        list: u32,
        /// The value.
        value: u64,
    },
}

/// A read of what others appended: a list before the reader's own appends.
struct Seen<'h> {
    reader: usize,
    values: &'h [u64],
}

/// Checks a history. Transactions are named by their place in it.
///
/// # Errors
/// The first anomaly that was found.
pub fn check(history: &[Transaction]) -> Result<(), Anomaly> {
    // who appended a value, and whether it is the last one that it appended to that list
    let mut appended: HashMap<(u32, u64), (usize, bool)> = HashMap::new();
    for (number, transaction) in history.iter().enumerate() {
        let mut last = HashMap::new();
        for step in &transaction.steps {
            let Step::Append(list, value) = *step else { continue };
            if appended.insert((list, value), (number, true)).is_some() {
                return Err(Anomaly::Duplicate { list, value });
            }
            if let Some(before) = last.insert(list, value)
                && let Some(entry) = appended.get_mut(&(list, before))
            {
                entry.1 = false;
            }
        }
    }
    let mut reads: HashMap<u32, Vec<Seen<'_>>> = HashMap::new();
    for (number, transaction) in history.iter().enumerate() {
        if transaction.committed {
            external_reads(number, &transaction.steps, &mut reads)?;
        }
    }
    let mut graph = Graph::new(history.len());
    let mut observed: HashMap<u32, usize> = HashMap::new();
    for (&list, seen) in &reads {
        let order = order_of(list, seen, history, &appended)?;
        observed.insert(list, order.len());
        add_edges(&mut graph, order, seen, list, &appended);
    }
    // what no read shows was appended behind all that reads show
    let mut ends: HashMap<u32, usize> = HashMap::new();
    for (&(list, value), &(writer, _)) in &appended {
        let seen = reads.get(&list).map_or(&[][..], Vec::as_slice);
        let order = seen.iter().max_by_key(|seen| seen.values.len()).map_or(&[][..], |seen| seen.values);
        if !history[writer].committed || graph.is_observed(list, value) {
            continue;
        }
        let end = *ends.entry(list).or_insert_with(|| {
            let end = graph.node();
            if let Some((last, _)) = order.last().and_then(|last| appended.get(&(list, *last))) {
                graph.edge(*last, end, Kind::Ww);
            }
            for seen in seen.iter().filter(|seen| seen.values.len() == order.len()) {
                graph.edge(seen.reader, end, Kind::Rw);
            }
            end
        });
        graph.edge(end, writer, Kind::Ww);
    }
    add_time(&mut graph, history);
    graph.find()
}

/// Checks what a transaction reads against its own steps, and collects what it reads of others.
fn external_reads<'h>(
    reader: usize,
    steps: &'h [Step],
    reads: &mut HashMap<u32, Vec<Seen<'h>>>,
) -> Result<(), Anomaly> {
    // the list before its own appends, once it is known, and its own appends
    let mut known: HashMap<u32, (Option<&'h [u64]>, Vec<u64>)> = HashMap::new();
    for step in steps {
        match step {
            Step::Append(list, value) => known.entry(*list).or_default().1.push(*value),
            Step::Read(list, values) => {
                let internal = Anomaly::Internal { reader, list: *list };
                let (before, own) = known.entry(*list).or_default();
                let Some(others) = values.strip_suffix(own.as_slice()) else { return Err(internal) };
                match before {
                    Some(before) if *before != others => return Err(internal),
                    Some(_) => {}
                    None => {
                        *before = Some(others);
                        reads.entry(*list).or_default().push(Seen { reader, values: others });
                    }
                }
            }
        }
    }
    Ok(())
}

/// The order of the values of a list: the longest read, which all others begin.
fn order_of<'h>(
    list: u32,
    seen: &[Seen<'h>],
    history: &[Transaction],
    appended: &HashMap<(u32, u64), (usize, bool)>,
) -> Result<&'h [u64], Anomaly> {
    let Some(longest) = seen.iter().max_by_key(|seen| seen.values.len()) else { return Ok(&[]) };
    let order = longest.values;
    let mut places = HashMap::new();
    for (place, &value) in order.iter().enumerate() {
        if places.insert(value, place).is_some() {
            return Err(Anomaly::Duplicate { list, value });
        }
        let writer = appended.get(&(list, value)).map(|(writer, _)| *writer);
        if writer.is_none_or(|writer| !history[writer].committed) {
            return Err(Anomaly::AbortedRead { reader: longest.reader, list, value });
        }
    }
    for Seen { reader, values } in seen {
        if !order.starts_with(values) {
            // a value that should not be there says more than a list that does not fit
            let strange = values.iter().find(|value| {
                appended.get(&(list, **value)).is_none_or(|(writer, _)| !history[*writer].committed)
            });
            return Err(match strange {
                Some(value) => Anomaly::AbortedRead { reader: *reader, list, value: *value },
                None => Anomaly::Incompatible { list, reader: *reader },
            });
        }
        let last = values.last().and_then(|last| appended.get(&(list, *last)));
        if last.is_some_and(|(writer, is_last)| writer != reader && !is_last) {
            return Err(Anomaly::IntermediateRead { reader: *reader, list });
        }
    }
    Ok(order)
}

fn add_edges(
    graph: &mut Graph,
    order: &[u64],
    seen: &[Seen<'_>],
    list: u32,
    appended: &HashMap<(u32, u64), (usize, bool)>,
) {
    let writers: Vec<usize> = order.iter().map(|value| appended[&(list, *value)].0).collect();
    for &value in order {
        graph.observe(list, value);
    }
    for pair in writers.windows(2) {
        graph.edge(pair[0], pair[1], Kind::Ww);
    }
    for Seen { reader, values } in seen {
        if let Some(last) = values.len().checked_sub(1) {
            graph.edge(writers[last], *reader, Kind::Wr);
        }
        // the next write that is not its own
        if let Some(next) = writers[values.len()..].iter().find(|writer| *writer != reader) {
            graph.edge(*reader, *next, Kind::Rw);
        }
    }
}

/// Who ended before whom began. A chain of nodes, one per end, spares an edge for each pair.
fn add_time(graph: &mut Graph, history: &[Transaction]) {
    let committed = || history.iter().enumerate().filter(|(_, transaction)| transaction.committed);
    let mut events: Vec<(u64, bool, usize)> = committed()
        .flat_map(|(number, transaction)| {
            [(transaction.time.0, false, number), (transaction.time.1, true, number)]
        })
        .collect();
    // of what happens at the same tick, beginnings come first: it is not known who was earlier
    events.sort_unstable();
    let mut ended = None;
    for (_, is_end, number) in events {
        if !is_end {
            if let Some(ended) = ended {
                graph.edge(ended, number, Kind::Rt);
            }
            continue;
        }
        let node = graph.node();
        graph.edge(number, node, Kind::Rt);
        if let Some(before) = ended.replace(node) {
            graph.edge(before, node, Kind::Rt);
        }
    }
}

#[cfg(test)]
mod tests;
