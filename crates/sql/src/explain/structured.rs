//! A plan for programs: the same tree as JSON and as YAML, with the names and the layout of PostgreSQL.

use super::{Child, Data, Explained, Fields, Shown, Summary, milliseconds};

/// A plan as JSON.
pub(super) fn json(explained: &Explained, summary: &Summary) -> String {
    let mut out = String::from("[\n  ");
    json_value(&Data::Group(whole(explained, summary)), 1, &mut out);
    out.push_str("\n]");
    out
}

/// A plan as YAML.
pub(super) fn yaml(explained: &Explained, summary: &Summary) -> String {
    let mut out = String::from("- ");
    yaml_fields(&whole(explained, summary), 1, &mut out);
    out
}

fn whole(explained: &Explained, summary: &Summary) -> Fields {
    let mut fields = vec![("Plan", Data::Group(operator(&explained.root, None)))];
    let decimal = |key, value| (key, Data::Decimal(value));
    fields.extend(summary.planning.map(|time| decimal("Planning Time", milliseconds(time))));
    if let Some(time) = summary.execution {
        // programs look for them; there are none
        fields.push(("Triggers", Data::Groups(Vec::new())));
        fields.push(decimal("Execution Time", milliseconds(time)));
    }
    fields.extend(summary.conflicts.map(|count| ("Conflicts", Data::Count(count))));
    fields.extend(summary.waits.map(|count| ("Lock Waits", Data::Count(count))));
    fields
}

fn operator(shown: &Shown, below: Option<(&'static str, Option<&String>)>) -> Fields {
    let mut fields: Fields = vec![("Node Type", Data::Text(shown.kind.to_owned()))];
    fields.extend(shown.manner.iter().cloned());
    if let Some((relationship, label)) = below {
        fields.push(("Parent Relationship", Data::Text(relationship.to_owned())));
        fields.extend(label.map(|label| ("Subplan Name", Data::Text(label.clone()))));
    }
    fields.extend([("Parallel Aware", Data::Truth(false)), ("Async Capable", Data::Truth(false))]);
    fields.extend(shown.about.iter().cloned());
    if let Some(figures) = shown.figures {
        let (rows, times) = figures.average();
        if let Some((first, total)) = times {
            fields.push(("Actual Startup Time", Data::Decimal(first)));
            fields.push(("Actual Total Time", Data::Decimal(total)));
        }
        fields.push(("Actual Rows", Data::Count(rows)));
        fields.push(("Actual Loops", Data::Count(figures.loops)));
    }
    if !shown.output.is_empty() {
        fields.push(("Output", Data::List(shown.output.clone())));
    }
    fields.extend(shown.details.iter().flat_map(|detail| detail.fields.iter().cloned()));
    if !shown.children.is_empty() {
        let child = |child: &Child| operator(&child.node, Some((child.relationship, child.label.as_ref())));
        fields.push(("Plans", Data::Groups(shown.children.iter().map(child).collect())));
    }
    fields
}

fn indent(depth: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

fn json_value(data: &Data, depth: usize, out: &mut String) {
    match data {
        Data::Text(text) => quoted(text, out),
        Data::Truth(_) | Data::Count(_) | Data::Decimal(_) => plain(data, out),
        Data::List(list) => {
            out.push('[');
            for (number, text) in list.iter().enumerate() {
                if number > 0 {
                    out.push_str(", ");
                }
                quoted(text, out);
            }
            out.push(']');
        }
        Data::Group(fields) => {
            out.push('{');
            for (number, (key, value)) in fields.iter().enumerate() {
                if number > 0 {
                    out.push(',');
                }
                indent(depth + 1, out);
                quoted(key, out);
                out.push_str(": ");
                json_value(value, depth + 1, out);
            }
            indent(depth, out);
            out.push('}');
        }
        Data::Groups(groups) if groups.is_empty() => out.push_str("[]"),
        Data::Groups(groups) => {
            out.push('[');
            for (number, fields) in groups.iter().enumerate() {
                if number > 0 {
                    out.push(',');
                }
                indent(depth + 1, out);
                json_value(&Data::Group(fields.clone()), depth + 1, out);
            }
            indent(depth, out);
            out.push(']');
        }
    }
}

/// Fields below each other, the first one where the text stands.
fn yaml_fields(fields: &Fields, depth: usize, out: &mut String) {
    for (number, (key, value)) in fields.iter().enumerate() {
        if number > 0 {
            indent(depth, out);
        }
        out.push_str(key);
        out.push_str(": ");
        match value {
            Data::Text(text) => quoted(text, out),
            Data::Truth(_) | Data::Count(_) | Data::Decimal(_) => plain(value, out),
            Data::List(list) => {
                for text in list {
                    indent(depth + 1, out);
                    out.push_str("- ");
                    quoted(text, out);
                }
            }
            Data::Group(fields) => {
                indent(depth + 1, out);
                yaml_fields(fields, depth + 1, out);
            }
            Data::Groups(groups) => {
                for fields in groups {
                    indent(depth + 1, out);
                    out.push_str("- ");
                    yaml_fields(fields, depth + 2, out);
                }
            }
        }
    }
}

/// What stands for itself in both notations.
fn plain(data: &Data, out: &mut String) {
    match data {
        Data::Truth(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Data::Count(count) => out.push_str(&count.to_string()),
        Data::Decimal(value) => out.push_str(&format!("{value:.3}")),
        Data::Text(_) | Data::List(_) | Data::Group(_) | Data::Groups(_) => {}
    }
}

/// A text in quotes; both notations escape alike.
fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' || c == '\u{7f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}
