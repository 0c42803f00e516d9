//! A plan as lines.

use super::{Child, Explained, Figures, Shown, Summary, milliseconds};

/// The lines of a plan.
pub(super) fn lines(explained: &Explained, summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    operator(&explained.root, "", 0, &mut lines);
    for (what, time) in [("Planning", summary.planning), ("Execution", summary.execution)] {
        lines.extend(time.map(|time| format!("{what} Time: {:.3} ms", milliseconds(time))));
    }
    lines.extend(summary.conflicts.map(|conflicts| format!("Conflicts: {conflicts}")));
    let waits = summary.waits.filter(|waits| *waits > 0);
    lines.extend(waits.map(|waits| format!("Lock Waits: {waits}")));
    lines
}

/// ` (actual time=0.010..0.020 rows=1 loops=1)`.
fn figures(figures: Figures) -> String {
    let (loops, (rows, times)) = (figures.loops, figures.average());
    match times {
        _ if loops == 0 => " (never executed)".to_owned(),
        Some((first, total)) => format!(" (actual time={first:.3}..{total:.3} rows={rows} loops={loops})"),
        None => format!(" (actual rows={rows} loops={loops})"),
    }
}

/// An operator, its first line behind `head`; what belongs to it is further to the right.
fn operator(shown: &Shown, head: &str, indent: usize, lines: &mut Vec<String>) {
    let done = shown.figures.map_or_else(String::new, figures);
    lines.push(format!("{:indent$}{head}{}{done}", "", shown.title));
    let inside = if head.is_empty() { indent + 2 } else { indent + 6 };
    if !shown.output.is_empty() {
        lines.push(format!("{:inside$}Output: {}", "", shown.output.join(", ")));
    }
    for detail in &shown.details {
        if let Some(line) = &detail.line {
            lines.push(format!("{:inside$}{line}", ""));
        }
    }
    for Child { label, node, .. } in &shown.children {
        match label {
            Some(label) => {
                lines.push(format!("{:inside$}{label}", ""));
                operator(node, "->  ", inside + 2, lines);
            }
            None => operator(node, "->  ", inside, lines),
        }
    }
}
