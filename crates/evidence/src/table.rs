//! A figure as a table: for a terminal, and for a page in Markdown.

use crate::scale::{Bounds, number};
use crate::{Evidence, Made};
use std::fmt::Write as _;

impl Evidence {
    /// Rows of x, columns of series, aligned.
    pub fn table(&self) -> String {
        let rows = self.rows();
        let columns = rows[0].len();
        let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(i, (cell, &width))| match i {
                0 => format!("  {cell:<width$}"),
                _ => format!("  {cell:>width$}"),
            });
            text += cells.collect::<String>().trim_end();
            text.push('\n');
        }
        text
    }

    /// The same in Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for (number, row) in self.rows().iter().enumerate() {
            // writing to a string does not fail
            let _ = writeln!(text, "| {} |", row.join(" | "));
            if number == 0 {
                let _ = writeln!(text, "|---{}|", "|---:".repeat(row.len() - 1));
            }
        }
        text
    }

    /// A line for each way in which points were made: which series are real, which are simulated, which are published.
    pub fn origins(&self) -> Vec<String> {
        let mut origins: Vec<(&Made, Vec<&str>)> = Vec::new();
        for series in &self.series {
            match origins.iter_mut().find(|(made, _)| *made == &series.made) {
                Some((_, names)) => names.push(&series.name),
                None => origins.push((&series.made, vec![&series.name])),
            }
        }
        origins.into_iter().map(|(made, names)| format!("{}: {made}", names.join(", "))).collect()
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let bounds = Bounds::of(self.x, self.xs().into_iter());
        let heading =
            std::iter::once(self.x.label.to_owned()).chain(self.series.iter().map(|s| s.name.clone()));
        let mut rows = vec![heading.collect::<Vec<_>>()];
        for x in self.xs() {
            let cell = |points: &[crate::Point]| {
                let point = points.iter().find(|p| p.x == x)?;
                let range = point
                    .range
                    .map_or_else(String::new, |(a, b)| format!(" ({} to {})", number(a), number(b)));
                Some(number(point.y) + &range)
            };
            let cells = self.series.iter().map(|s| cell(&s.points).unwrap_or_default());
            rows.push(std::iter::once(bounds.label(x)).chain(cells).collect());
        }
        rows
    }
}
