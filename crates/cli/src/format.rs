//! Numbers and tables as text.

/// 1234567 as `1,234,567`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// 1234567 as `1.23 M`; below 100,000 all digits.
pub(crate) fn short(n: u64) -> String {
    if n < 100_000 {
        return count(n);
    }
    let (value, unit) = if n < 1_000_000 { (n as f64 / 1e3, "k") } else { (n as f64 / 1e6, "M") };
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {unit}")
}

/// Microseconds with three digits and a unit.
pub(crate) fn latency(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 1_000.0 => (us, "us"),
        us if us < 1_000_000.0 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {unit}")
}

/// Bytes in binary units.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && value < 100.0);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// A part of a whole in percent.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    format!("{:.2} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// `1 thread`, `2 threads`.
pub(crate) fn plural(n: u64, noun: &str) -> String {
    let ending = match n {
        1 => "",
        _ if noun.ends_with('x') => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", count(n))
}

/// Rows in columns: the first to the left, the others to the right, two spaces between.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |i: usize| {
        let cells = rows.iter().map(|row| row[i].chars().count());
        cells.chain([header[i].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::from(" ");
        for (i, (cell, &width)) in cells.zip(&widths).enumerate() {
            if i == 0 {
                text += &format!(" {cell:<width$}");
            } else {
                text += &format!("  {cell:>width$}");
            }
        }
        text + "\n"
    };
    let mut text = line(&mut header.iter().copied());
    for row in rows {
        text += &line(&mut row.iter().map(String::as_str));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.0, 7.256, 42.13, 480.4].map(latency), ["0.00 us", "7.26 us", "42.1 us", "480 us"]);
        assert_eq!([1_500.0, 2_500_000.0].map(latency), ["1.50 ms", "2.50 s"]);
        assert_eq!([100, 1_536, 300 << 20].map(bytes), ["100 B", "1.5 KiB", "300 MiB"]);
        assert_eq!((percent(1, 8), percent(0, 0)), ("12.50 %".to_owned(), "0.00 %".to_owned()));
        assert_eq!(
            (plural(1, "thread"), plural(2_000, "thread")),
            ("1 thread".into(), "2,000 threads".into())
        );
    }

    #[test]
    fn columns_are_aligned() {
        let text = table(&["name", "n"], &[vec!["a".into(), "1".into()], vec!["long".into(), "234".into()]]);
        assert_eq!(text, "  name    n\n  a       1\n  long  234\n");
    }
}
