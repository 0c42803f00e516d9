//! A small picture of characters, for a terminal.

use crate::Evidence;
use crate::scale::Bounds;

/// Characters to the right.
const WIDTH: usize = 64;
/// Lines upwards.
const HEIGHT: usize = 16;
/// What the series are drawn with, in their order.
const MARKS: &[u8] = b"*o+x#@%&";

impl Evidence {
    /// The picture, its axes and its legend. Where two series meet, the first one is seen.
    pub fn sketch(&self) -> String {
        let points = || self.series.iter().flat_map(|s| &s.points);
        let x = Bounds::of(self.x, points().map(|p| p.x));
        let y = Bounds::of(self.y, points().map(|p| p.y));
        let mut canvas = vec![vec![b' '; WIDTH]; HEIGHT];
        let at = |place: f64, size: usize| (place.clamp(0.0, 1.0) * (size - 1) as f64).round() as usize;
        for (number, series) in self.series.iter().enumerate().rev() {
            let mark = MARKS[number % MARKS.len()];
            for point in &series.points {
                let (Some(right), Some(up)) = (x.place(point.x), y.place(point.y)) else { continue };
                canvas[HEIGHT - 1 - at(up, HEIGHT)][at(right, WIDTH)] = mark;
            }
        }
        let (high, low) = (y.label(y.high), y.label(y.low));
        let margin = high.len().max(low.len());
        let mut text = format!("  {}\n", self.y.label);
        for (line, cells) in canvas.iter().enumerate() {
            let label = match line {
                0 => high.as_str(),
                _ if line == HEIGHT - 1 => low.as_str(),
                _ => "",
            };
            let cells = String::from_utf8_lossy(cells);
            text += &format!("  {label:>margin$} |{}\n", cells.trim_end());
        }
        text += &format!("  {:margin$} +{}\n", "", "-".repeat(WIDTH));
        let (first, last) = (x.label(x.ticks()[0]), x.label(x.ticks()[x.ticks().len() - 1]));
        let gap = WIDTH.saturating_sub(first.len() + last.len() + self.x.label.len());
        let (left, right) = (" ".repeat(gap / 2), " ".repeat(gap - gap / 2));
        text += &format!("  {:margin$}  {first}{left}{}{right}{last}\n", "", self.x.label);
        for (number, series) in self.series.iter().enumerate() {
            text += &format!("  {:margin$}  {} {}\n", "", MARKS[number % MARKS.len()] as char, series.name);
        }
        text
    }
}
