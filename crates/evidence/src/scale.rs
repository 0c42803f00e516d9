//! The part of an axis that a figure needs: its bounds, where values lie between them, and its ticks.

use crate::{Axis, Scale};

/// An axis with bounds.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) scale: Scale,
    pub(crate) low: f64,
    pub(crate) high: f64,
    ticks: Vec<f64>,
}

impl Bounds {
    /// Bounds that hold all `values`.
    pub(crate) fn of(axis: Axis, values: impl Iterator<Item = f64>) -> Self {
        let scale = axis.scale;
        let shown = values.filter(|v| v.is_finite() && (*v > 0.0 || !matches!(scale, Scale::Logarithmic)));
        let (mut low, mut high) = shown.fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        let ticks = match scale {
            Scale::Names(names) => {
                (low, high) = (-0.5, names.len() as f64 - 0.5);
                (0..names.len()).map(|i| i as f64).collect()
            }
            Scale::Linear => {
                (low, high) = (low.min(0.0), high.max(0.0));
                if low >= high {
                    high = 1.0;
                }
                let step = nice_step((high - low).max(f64::MIN_POSITIVE));
                (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
                let count = ((high - low) / step).round() as i64;
                (0..=count).map(|i| low + step * i as f64).collect()
            }
            Scale::Logarithmic => {
                if high <= low {
                    high = low * 2.0;
                }
                let base: f64 = if high / low > 300.0 { 10.0 } else { 2.0 };
                let (from, to) =
                    ((low.log(base) + 1e-9).floor() as i32, (high.log(base) - 1e-9).ceil() as i32);
                (low, high) = (base.powi(from), base.powi(to));
                (from..=to).map(|i| base.powi(i)).collect()
            }
        };
        Self { scale, low, high, ticks }
    }

    /// Where a value lies, from 0 to 1; `None` if it cannot be shown.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let (value, low, high) = match self.scale {
            Scale::Logarithmic => (value.ln(), self.low.ln(), self.high.ln()),
            _ => (value, self.low, self.high),
        };
        let place = (value - low) / (high - low);
        place.is_finite().then_some(place)
    }

    pub(crate) fn ticks(&self) -> &[f64] {
        &self.ticks
    }

    pub(crate) fn label(&self, value: f64) -> String {
        match self.scale {
            Scale::Names(names) => {
                names.get(value.round() as usize).map_or_else(String::new, |&n| n.to_owned())
            }
            _ => number(value),
        }
    }
}

/// 1, 2 or 5 times a power of ten, so that there are 4 to 10 steps.
fn nice_step(length: f64) -> f64 {
    let power = 10f64.powf((length / 4.0).log10().floor());
    let steps = [5.0, 2.0, 1.0].map(|n| n * power);
    steps.into_iter().find(|step| length / step >= 3.5).unwrap_or(power)
}

/// A number with as many digits as a reader wants: `1,234,567`, `12.3`, `0.0042`.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 1e6 {
        let (scaled, unit) = if size >= 1e9 { (value / 1e9, " G") } else { (value / 1e6, " M") };
        return format!("{}{unit}", trimmed(scaled, 2));
    }
    match size {
        size if size >= 1_000.0 => grouped(value.round() as i64),
        size if size >= 100.0 => trimmed(value, 0),
        size if size >= 10.0 => trimmed(value, 1),
        size if size >= 0.1 || size == 0.0 => trimmed(value, 2),
        _ => trimmed(value, 5),
    }
}

fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn grouped(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut text = if n < 0 { String::from("-") } else { String::new() };
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_numbers_that_people_count_in_and_hold_all_values() {
        let linear = Bounds::of(Axis::linear(""), [3.0, 22.3].into_iter());
        assert_eq!((linear.low, linear.high), (0.0, 25.0));
        assert_eq!(linear.ticks(), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]);
        let cores = Bounds::of(Axis::logarithmic(""), [1.0, 36.0].into_iter());
        assert_eq!((cores.low, cores.high), (1.0, 64.0));
        assert_eq!(cores.place(8.0), Some(0.5));
        let wide = Bounds::of(Axis::logarithmic(""), [0.5, 80_000.0, 0.0].into_iter());
        assert_eq!((wide.low, wide.high), (0.1, 100_000.0));
        assert_eq!(wide.place(0.0), None, "zero has no place");
    }

    #[test]
    fn nothing_to_show_has_bounds_all_the_same() {
        let none = Bounds::of(Axis::linear(""), [f64::NAN].into_iter());
        assert!(none.low < none.high && none.place(1.0).is_some());
        let zero = Bounds::of(Axis::linear(""), [0.0].into_iter());
        assert!(zero.low < zero.high, "{zero:?}");
    }

    #[test]
    fn numbers_are_readable() {
        let texts = [0.0, 0.0042, 3.5, 22.34, 480.0, 54_321.0, 5_942_499.0, -1_234.0].map(number);
        assert_eq!(texts, ["0", "0.0042", "3.5", "22.3", "480", "54,321", "5.94 M", "-1,234"]);
    }
}
