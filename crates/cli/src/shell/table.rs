//! Tables as psql prints them: aligned, or expanded to a line for each value.

use super::rows::Rows;
use super::settings::Settings;
use std::io::{self, Write};
use unicode_width::UnicodeWidthChar;

/// The widest cell that is padded to: beyond it, lines only get longer.
const MAX_PADDING: usize = 10_000;

/// The columns that a text takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(|c| c.width().unwrap_or(0)).sum() }
}

/// A text as a terminal may see it: control characters are written out, but for line feeds.
fn shown(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.chars().any(|c| c.is_control() && c != '\n') {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut column = 0;
    for c in text.chars() {
        match c {
            '\n' => {
                out.push(c);
                column = 0;
                continue;
            }
            // to the next eighth column
            '\t' => out.extend(std::iter::repeat_n(' ', 8 - column % 8)),
            '\r' => out.push_str("\\r"),
            c if c.is_control() && u32::from(c) < 0x100 => out.push_str(&format!("\\x{:02X}", u32::from(c))),
            c => out.push(c),
        }
        column = width(&out[out.rfind('\n').map_or(0, |at| at + 1)..]);
    }
    out.into()
}

/// Types whose values stand at the right: numbers and oids.
fn right_aligned(ty: u32) -> bool {
    matches!(ty, 20 | 21 | 23 | 26 | 28 | 29 | 700 | 701 | 790 | 1700 | 5069)
}

/// The widths of the columns of a table.
fn widths(rows: &Rows, null: &str) -> Vec<usize> {
    let lines = |text: &str| shown(text).split('\n').map(width).max().unwrap_or(0);
    let mut widths: Vec<usize> = rows.columns.iter().map(|column| lines(&column.name)).collect();
    for row in 0..rows.len() {
        for (column, widest) in widths.iter_mut().enumerate() {
            *widest = (*widest).max(lines(rows.get(row, column).unwrap_or(null)));
        }
    }
    widths
}

/// The columns of the terminal that a table takes.
pub(crate) fn table_width(rows: &Rows, null: &str) -> usize {
    widths(rows, null).iter().map(|width| width + 3).sum::<usize>().saturating_sub(1)
}

fn pad(out: &mut dyn Write, count: usize) -> io::Result<()> {
    write!(out, "{:1$}", "", count.min(MAX_PADDING))
}

/// Prints a table, with a title if there is one.
pub(crate) fn aligned(
    out: &mut dyn Write,
    rows: &Rows,
    settings: &Settings,
    title: Option<&str>,
    footers: Option<&[String]>,
) -> io::Result<()> {
    let widths = widths(rows, &settings.null);
    if !settings.tuples_only {
        if let Some(title) = title {
            let total = widths.iter().map(|width| width + 3).sum::<usize>().saturating_sub(1);
            pad(out, total.saturating_sub(width(title)) / 2)?;
            writeln!(out, "{title}")?;
        }
        header(out, rows, &widths)?;
    }
    for row in 0..rows.len() {
        let cells: Vec<_> =
            (0..widths.len()).map(|column| shown(rows.get(row, column).unwrap_or(&settings.null))).collect();
        let right = |column: usize| right_aligned(rows.columns[column].ty);
        lines(out, &cells, &widths, &right)?;
    }
    if !settings.tuples_only {
        match footers {
            Some(footers) => footers.iter().try_for_each(|footer| writeln!(out, "{footer}"))?,
            None => writeln!(out, "({})", count(rows.len()))?,
        }
    }
    writeln!(out)
}

/// `1 row`, `2 rows`.
pub(crate) fn count(rows: usize) -> String {
    format!("{rows} row{}", if rows == 1 { "" } else { "s" })
}

/// The names of the columns, in the middle of each, and a rule.
fn header(out: &mut dyn Write, rows: &Rows, widths: &[usize]) -> io::Result<()> {
    let names: Vec<Vec<String>> = rows
        .columns
        .iter()
        .map(|column| shown(&column.name).split('\n').map(str::to_owned).collect())
        .collect();
    let height = names.iter().map(Vec::len).max().unwrap_or(0);
    for line in 0..height {
        for (column, name) in names.iter().enumerate() {
            let text = name.get(line).map_or("", String::as_str);
            let room = widths[column].saturating_sub(width(text));
            out.write_all(if column == 0 { b" " } else { b"| " })?;
            pad(out, room / 2)?;
            out.write_all(text.as_bytes())?;
            pad(out, room - room / 2)?;
            out.write_all(if line + 1 < name.len() { b"+" } else { b" " })?;
        }
        writeln!(out)?;
    }
    for (column, width) in widths.iter().enumerate() {
        if column > 0 {
            out.write_all(b"+")?;
        }
        write!(out, "{:-<1$}", "", (width + 2).min(MAX_PADDING))?;
    }
    writeln!(out)
}

/// One row, which has several lines if a value has them.
fn lines(
    out: &mut dyn Write,
    cells: &[std::borrow::Cow<'_, str>],
    widths: &[usize],
    right: &dyn Fn(usize) -> bool,
) -> io::Result<()> {
    let mut rest: Vec<Option<&str>> = cells.iter().map(|cell| Some(cell.as_ref())).collect();
    loop {
        let last = rest.len().saturating_sub(1);
        for (column, cell) in rest.iter_mut().enumerate() {
            out.write_all(if column == 0 { b" " } else { b"| " })?;
            let Some(whole) = cell.take() else {
                // its lines are over
                if column < last {
                    pad(out, widths[column] + 1)?;
                }
                continue;
            };
            let (text, more) =
                whole.split_once('\n').map_or((whole, None), |(line, more)| (line, Some(more)));
            *cell = more;
            let room = widths[column].saturating_sub(width(text));
            if right(column) {
                pad(out, room)?;
                out.write_all(text.as_bytes())?;
            } else {
                out.write_all(text.as_bytes())?;
                if column < last || more.is_some() {
                    pad(out, room)?;
                }
            }
            if more.is_some() {
                out.write_all(b"+")?;
            } else if column < last {
                out.write_all(b" ")?;
            }
        }
        writeln!(out)?;
        if rest.iter().all(Option::is_none) {
            return Ok(());
        }
    }
}

/// Prints each row as a list of names and values.
pub(crate) fn expanded(out: &mut dyn Write, rows: &Rows, settings: &Settings) -> io::Result<()> {
    if rows.len() == 0 {
        if !settings.tuples_only {
            writeln!(out, "(0 rows)")?;
        }
        return writeln!(out);
    }
    let names: Vec<_> = rows.columns.iter().map(|column| shown(&column.name)).collect();
    let widest = |text: &str| text.split('\n').map(width).max().unwrap_or(0);
    let name_width = names.iter().map(|name| widest(name)).max().unwrap_or(0);
    let mut value_width = 0;
    for row in 0..rows.len() {
        for column in 0..names.len() {
            let text = shown(rows.get(row, column).unwrap_or(&settings.null));
            value_width = value_width.max(widest(&text));
        }
    }
    for row in 0..rows.len() {
        if !settings.tuples_only {
            rule(out, &format!("-[ RECORD {} ]", row + 1), name_width, value_width)?;
        } else if row > 0 {
            rule(out, "", name_width, value_width)?;
        }
        for (column, name) in names.iter().enumerate() {
            let text = shown(rows.get(row, column).unwrap_or(&settings.null));
            pair(out, name, &text, name_width, value_width)?;
        }
    }
    writeln!(out)
}

/// A name and its value, beside each other; both may have several lines.
fn pair(
    out: &mut dyn Write,
    name: &str,
    value: &str,
    name_width: usize,
    value_width: usize,
) -> io::Result<()> {
    let (mut names, mut values) = (name.split('\n').peekable(), value.split('\n').peekable());
    while names.peek().is_some() || values.peek().is_some() {
        let name = names.next().unwrap_or_default();
        out.write_all(name.as_bytes())?;
        pad(out, name_width - width(name))?;
        out.write_all(if names.peek().is_some() { b"+|" } else { b" |" })?;
        if let Some(part) = values.next() {
            write!(out, " {part}")?;
            if values.peek().is_some() {
                pad(out, value_width - width(part))?;
                out.write_all(b"+")?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// `-[ RECORD 1 ]-+----`: the cross stands where the bars are, if the record's number leaves room for it.
fn rule(out: &mut dyn Write, record: &str, name_width: usize, value_width: usize) -> io::Result<()> {
    let mut line = record.to_owned();
    let cross = name_width + 1;
    while line.len() < cross {
        line.push('-');
    }
    if line.len() == cross {
        line.push('+');
    }
    let end = (cross + 2 + value_width).min(MAX_PADDING);
    while line.len() < end {
        line.push('-');
    }
    writeln!(out, "{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns_and_combining_ones_none() {
        assert_eq!(width("abc"), 3);
        assert_eq!(width("日本"), 4);
        assert_eq!(width("e\u{301}"), 1);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(shown("\u{1b}[31m"), "\\x1B[31m");
        assert_eq!(shown("a\tb\r\n\tc"), "a       b\\r\n        c");
    }
}
