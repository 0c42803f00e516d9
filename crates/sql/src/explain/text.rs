//! A plan as lines.

use super::{Child, Explained, Shown};

/// The lines of a plan.
pub(super) fn lines(explained: &Explained) -> Vec<String> {
    let mut lines = Vec::new();
    operator(&explained.root, "", 0, &mut lines);
    lines
}

/// An operator, its first line behind `head`; what belongs to it is further to the right.
fn operator(shown: &Shown, head: &str, indent: usize, lines: &mut Vec<String>) {
    lines.push(format!("{:indent$}{head}{}", "", shown.title));
    let inside = if head.is_empty() { indent + 2 } else { indent + 6 };
    for detail in &shown.details {
        lines.push(format!("{:inside$}{}", "", detail.line));
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
