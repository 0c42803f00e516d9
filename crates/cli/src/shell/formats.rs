//! Results for programs: unaligned, CSV, JSON. They are written as the rows come.

use super::rows::Rows;
use super::settings::{Expanded, Format, Settings};
use super::table;
use std::io::{self, Write};

/// What comes before the rows.
pub(crate) fn begin(out: &mut dyn Write, rows: &Rows, settings: &Settings) -> io::Result<()> {
    let names = || rows.columns.iter().map(|column| column.name.as_str());
    let expanded = settings.expanded == Expanded::On;
    match settings.format {
        Format::Unaligned if !settings.tuples_only && !expanded => {
            let names: Vec<&str> = names().collect();
            writeln!(out, "{}", names.join(&settings.separator))
        }
        Format::Csv if !settings.tuples_only && !expanded => {
            let mut line = String::new();
            for (column, name) in names().enumerate() {
                if column > 0 {
                    line.push(',');
                }
                csv(name, &mut line);
            }
            writeln!(out, "{line}")
        }
        Format::Json => write!(out, "["),
        _ => Ok(()),
    }
}

/// The rows at hand; `before` are written already.
pub(crate) fn body(out: &mut dyn Write, rows: &Rows, settings: &Settings, before: usize) -> io::Result<()> {
    let mut line = String::new();
    let expanded = settings.expanded == Expanded::On;
    for row in 0..rows.len() {
        line.clear();
        match settings.format {
            Format::Json => {
                line.push_str(if before + row == 0 { "\n" } else { ",\n" });
                object(rows, row, &mut line);
            }
            format => {
                if expanded && before + row > 0 && format != Format::Csv {
                    line.push('\n');
                }
                for (column, described) in rows.columns.iter().enumerate() {
                    let value = rows.get(row, column).unwrap_or(&settings.null);
                    let (separator, csv_format) = match format {
                        Format::Csv => (",", true),
                        _ => (settings.separator.as_str(), false),
                    };
                    let add = |text: &str, line: &mut String| {
                        if csv_format { csv(text, line) } else { line.push_str(text) }
                    };
                    if expanded {
                        add(&described.name, &mut line);
                        line.push_str(separator);
                        add(value, &mut line);
                        line.push('\n');
                    } else {
                        if column > 0 {
                            line.push_str(separator);
                        }
                        add(value, &mut line);
                    }
                }
                if !expanded {
                    line.push('\n');
                }
            }
        }
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// What comes behind the rows.
pub(crate) fn end(out: &mut dyn Write, settings: &Settings, rows: usize) -> io::Result<()> {
    match settings.format {
        Format::Json if rows == 0 => writeln!(out, "]"),
        Format::Json => writeln!(out, "\n]"),
        Format::Unaligned if !settings.tuples_only && settings.expanded != Expanded::On => {
            writeln!(out, "({})", table::count(rows))
        }
        _ => Ok(()),
    }
}

/// A field of CSV: in quotes if it has to be.
fn csv(text: &str, out: &mut String) {
    if text.contains(['"', ',', '\n', '\r']) || text == "\\." {
        out.push('"');
        out.push_str(&text.replace('"', "\"\""));
        out.push('"');
    } else {
        out.push_str(text);
    }
}

/// A row as an object: numbers, truth values and JSON as themselves, all else as text.
fn object(rows: &Rows, row: usize, out: &mut String) {
    out.push('{');
    for (number, column) in rows.columns.iter().enumerate() {
        if number > 0 {
            out.push(',');
        }
        out.push_str(&serde_json::Value::from(column.name.as_str()).to_string());
        out.push(':');
        let Some(text) = rows.get(row, number) else {
            out.push_str("null");
            continue;
        };
        match column.ty {
            // boolean
            16 => out.push_str(if text == "t" { "true" } else { "false" }),
            // json: on one line, since rows are
            114 | 3802 if !text.contains('\n') => out.push_str(text),
            // integers, oid, floats, numeric; NaN and infinity are no numbers of JSON
            20 | 21 | 23 | 26 | 700 | 701 | 1700 if text.ends_with(|c: char| c.is_ascii_digit()) => {
                out.push_str(text);
            }
            _ => out.push_str(&serde_json::Value::from(text).to_string()),
        }
    }
    out.push('}');
}
