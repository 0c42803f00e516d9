//! The picture of a figure, as SVG and as PNG.

use crate::scale::Bounds;
use crate::{Evidence, Failure, Made, Scale, Series};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};
use std::sync::LazyLock;

/// Pixels.
const SIZE: (u32, u32) = (880, 520);
/// Colours of the series, by turns. What is ours is full, published points are rings.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 90, 180),
    RGBColor(200, 70, 20),
    RGBColor(0, 135, 90),
    RGBColor(130, 60, 160),
    RGBColor(190, 140, 0),
    RGBColor(0, 150, 190),
    RGBColor(120, 90, 60),
    RGBColor(90, 90, 90),
];

type Drawn = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// The picture as SVG.
pub fn svg(evidence: &Evidence) -> String {
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
    let drawn = draw(evidence, &root);
    drop(root);
    debug_assert!(drawn.is_ok(), "writing to a string does not fail: {drawn:?}");
    text
}

/// The picture as PNG.
///
/// # Errors
/// Those of the encoder.
pub fn png(evidence: &Evidence) -> Result<Vec<u8>, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(error.to_string().into());
    let mut pixels = vec![0; (SIZE.0 * SIZE.1 * 3) as usize];
    {
        let root = BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area();
        draw(evidence, &root)?;
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, SIZE.0, SIZE.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&pixels))
        .map_err(|error| failed(&error))?;
    Ok(bytes)
}

/// The font is part of the program: a machine without any draws the same picture.
static FONT: LazyLock<()> = LazyLock::new(|| {
    for style in [FontStyle::Normal, FontStyle::Bold] {
        // it is a font, and that is all that can be wrong
        let known = register_font("sans-serif", style, epaint_default_fonts::UBUNTU_LIGHT);
        debug_assert!(known.is_ok());
    }
});

fn draw<B: DrawingBackend>(evidence: &Evidence, root: &DrawingArea<B, Shift>) -> Drawn
where
    B::ErrorType: 'static,
{
    LazyLock::force(&FONT);
    root.fill(&WHITE)?;
    let points = || evidence.series.iter().flat_map(|s| &s.points);
    let ranges = points().flat_map(|p| p.range.map_or([p.y, p.y], |(low, high)| [low, high]));
    let x = Bounds::of(evidence.x, points().map(|p| p.x));
    let y = Bounds::of(evidence.y, ranges);
    let bars = matches!(x.scale, Scale::Names(_));
    let floor = y.low.max(if y.low < 0.0 { 0.0 } else { y.low });
    let count = evidence.series.len();
    let mut chart = ChartBuilder::on(root)
        .caption(evidence.title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(46)
        .y_label_area_size(78)
        .build_cartesian_2d(x.clone(), y)?;
    let (x_format, y_format) = (x.clone(), Bounds::of(evidence.y, std::iter::empty()));
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .axis_style(BLACK.mix(0.6))
        .label_style(("sans-serif", 14))
        .axis_desc_style(("sans-serif", 16))
        .x_desc(evidence.x.label)
        .y_desc(evidence.y.label)
        .x_label_formatter(&|value| x_format.label(*value))
        .y_label_formatter(&|value| y_format.label(*value))
        .draw()?;
    for (number, series) in evidence.series.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let published = matches!(series.made, Made::Published(_));
        let shown = |value: f64| {
            value.is_finite() && (value > 0.0 || !matches!(evidence.y.scale, Scale::Logarithmic))
        };
        let points: Vec<_> = series.points.iter().filter(|p| shown(p.y)).collect();
        let legend = legend_of(series);
        if bars {
            let width = 0.8 / count as f64;
            let left = |x: f64| x - 0.4 + width * number as f64;
            let rectangles = points.iter().map(|p| {
                let corners = [(left(p.x), floor), (left(p.x) + width * 0.9, p.y)];
                Rectangle::new(corners, if published { colour.mix(0.35).filled() } else { colour.filled() })
            });
            chart.draw_series(rectangles)?.label(legend).legend(move |(x, y)| {
                let fill = if published { colour.mix(0.35).filled() } else { colour.filled() };
                Rectangle::new([(x + 4, y - 5), (x + 16, y + 5)], fill)
            });
            continue;
        }
        // two or three points that a text says are no curve
        if !published || points.len() > 3 {
            let line = points.iter().map(|p| (p.x, p.y));
            let style = if published { colour.mix(0.45).stroke_width(1) } else { colour.stroke_width(2) };
            chart.draw_series(LineSeries::new(line, style))?;
        }
        let ranges = points.iter().filter_map(|p| Some((p.x, p.range?)));
        chart.draw_series(ranges.map(|(x, (low, high))| {
            PathElement::new([(x, low), (x, high)], colour.mix(0.6).stroke_width(1))
        }))?;
        let mark = move |at, filled: bool| {
            Circle::new(at, 4, if filled { colour.filled() } else { colour.stroke_width(2) })
        };
        chart.draw_series(points.iter().map(|p| mark((p.x, p.y), !published)))?.label(legend).legend(
            move |(x, y)| {
                Circle::new((x + 10, y), 4, if published { colour.stroke_width(2) } else { colour.filled() })
            },
        );
    }
    chart
        .configure_series_labels()
        .position(legend_place(evidence, &x))
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .label_font(("sans-serif", 14))
        .draw()?;
    root.present()?;
    Ok(())
}

/// Whether a curve is ours stands beside its name.
fn legend_of(series: &Series) -> String {
    let made = match series.made {
        Made::Published(_) => "published",
        Made::Real(_) => "real",
        Made::Simulated(_) => "simulated",
    };
    format!("{} ({made})", series.name)
}

/// The upper corner that has fewer high points.
fn legend_place(evidence: &Evidence, x: &Bounds) -> SeriesLabelPosition {
    let y = Bounds::of(evidence.y, evidence.series.iter().flat_map(|s| &s.points).map(|p| p.y));
    let (mut left, mut right) = (0, 0);
    for point in evidence.series.iter().flat_map(|s| &s.points) {
        let (Some(to_right), Some(up)) = (x.place(point.x), y.place(point.y)) else { continue };
        if up > 0.5 {
            *(if to_right < 0.5 { &mut left } else { &mut right }) += 1;
        }
    }
    if right < left { SeriesLabelPosition::UpperRight } else { SeriesLabelPosition::UpperLeft }
}

impl Ranged for Bounds {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let place = self.place(*value).unwrap_or(0.0);
        from + (place * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let ticks = self.ticks();
        let step = ticks.len().div_ceil(hint.max_num_points().max(1)).max(1);
        ticks.iter().copied().step_by(step).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Bounds {
    fn format(value: &f64) -> String {
        crate::scale::number(*value)
    }
}
