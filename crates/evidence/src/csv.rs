//! A figure as comma-separated values: a line per point.

use crate::{Evidence, Made, Scale};
use std::fmt::Write as _;

impl Evidence {
    /// `figure,series,made,by,x,y,low,high` as RFC 4180 has it, with a heading.
    pub fn csv(&self) -> String {
        let mut text = String::from("figure,series,made,by,x,y,low,high\n");
        for series in &self.series {
            let (made, by) = match &series.made {
                Made::Published(place) => ("published", *place),
                Made::Real(machine) => ("real", machine.as_str()),
                Made::Simulated(of) => ("simulated", of.as_str()),
            };
            for point in &series.points {
                let x = match self.x.scale {
                    Scale::Names(names) => {
                        names.get(point.x as usize).map_or_else(String::new, |n| quoted(n))
                    }
                    _ => point.x.to_string(),
                };
                let (low, high) =
                    point.range.map_or_else(Default::default, |(a, b)| (a.to_string(), b.to_string()));
                let (name, by, y) = (quoted(&series.name), quoted(by), point.y);
                // writing to a string does not fail
                let _ = writeln!(text, "{},{name},{made},{by},{x},{y},{low},{high}", self.name);
            }
        }
        text
    }
}

/// With quotes where a comma, a quote or the end of a line needs them.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
