//! Dots in named rows over one axis: comparisons of several subjects, and of figures published elsewhere.

use super::axis::{Axis, PlacedAxis};
use super::canvas::{Anchor, Canvas};
use super::drawing::{COLORS, Drawing, Place};

const WIDTH: f64 = 720.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 50.0;
/// Height of a series within a row, so that no mark hides another, and of the space between rows.
const LINE: f64 = 11.0;
const GAP: f64 = 9.0;
const LEGEND_LINE: f64 = 18.0;
const LEGEND_COLUMNS: usize = 4;
/// Pixels for each letter of a row's name, about.
const LETTER: f64 = 6.6;
const NAME_LETTERS_MAX: usize = 34;

/// A dot of a row.
#[derive(Clone, Debug, PartialEq)]
struct Dot {
    row: usize,
    series: usize,
    value: f64,
    hover: String,
    /// Drawn hollow: a figure of others.
    is_quoted: bool,
}

/// Dots over one axis: a row for each case, a mark for each series within it.
#[derive(Clone, Debug, PartialEq)]
pub struct DotChart {
    title: String,
    description: String,
    axis: Axis,
    rows: Vec<String>,
    series: Vec<String>,
    dots: Vec<Dot>,
}

impl DotChart {
    /// A chart without dots.
    #[must_use]
    pub fn new(title: &str, axis: Axis) -> Self {
        let (rows, series, dots) = (Vec::new(), Vec::new(), Vec::new());
        Self { title: title.to_owned(), description: String::new(), axis, rows, series, dots }
    }

    /// Sets what the chart shows, in a sentence, for readers who cannot see it.
    #[must_use]
    pub fn description(mut self, description: &str) -> Self {
        description.clone_into(&mut self.description);
        self
    }

    /// Adds a dot. Rows and series stand in the order of their first dot. `hover` adds to its name and number.
    #[must_use]
    pub fn dot(self, row: &str, series: &str, value: f64, hover: &str) -> Self {
        self.with(row, series, value, hover, false)
    }

    /// Adds a hollow dot: a figure that others published.
    #[must_use]
    pub fn quoted(self, row: &str, series: &str, value: f64, hover: &str) -> Self {
        self.with(row, series, value, hover, true)
    }

    fn with(mut self, row: &str, series: &str, value: f64, hover: &str, is_quoted: bool) -> Self {
        let place = |names: &mut Vec<String>, name: &str| {
            names.iter().position(|known| known == name).unwrap_or_else(|| {
                names.push(name.to_owned());
                names.len() - 1
            })
        };
        let (at, in_row) = (place(&mut self.rows, row), place(&mut self.series, series));
        let more = if hover.is_empty() { String::new() } else { format!("; {hover}") };
        let hover = format!("{row}, {series}: {}{more}", self.axis.unit.show(value));
        self.dots.push(Dot { row: at, series: in_row, value, hover, is_quoted });
        self
    }

    fn draw_legend(&self, canvas: &mut Canvas) {
        let is_quoted = |series| self.dots.iter().filter(|dot| dot.series == series).all(|dot| dot.is_quoted);
        for (number, name) in self.series.iter().enumerate() {
            let (column, line) = (number % LEGEND_COLUMNS, number / LEGEND_COLUMNS);
            let at = (8.0 + column as f64 * 178.0, TOP + line as f64 * LEGEND_LINE);
            canvas.mark(at, number, &class(number, is_quoted(number)), name);
            canvas.text((at.0 + 10.0, at.1 + 4.0), Anchor::Start, "", &shortened(name, 26), false);
        }
    }
}

/// The class of a mark: filled, or its border only.
fn class(series: usize, is_quoted: bool) -> String {
    let color = series % COLORS;
    if is_quoted { format!("hollow l{color}") } else { format!("f{color}") }
}

fn shortened(name: &str, letters_max: usize) -> String {
    match name.char_indices().nth(letters_max) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

impl Drawing for DotChart {
    fn to_svg(&self, place: Place) -> String {
        let longest = self.rows.iter().map(|row| row.chars().count().min(NAME_LETTERS_MAX)).max().unwrap_or(0);
        let left = 16.0 + LETTER * (longest as f64 + 2.0);
        let legend =
            if self.series.len() > 1 { LEGEND_LINE * self.series.len().div_ceil(LEGEND_COLUMNS) as f64 } else { 0.0 };
        let (top, row_height) = (TOP + legend, LINE * self.series.len().max(1) as f64 + GAP);
        let bottom = top + row_height * self.rows.len() as f64;
        let mut canvas = Canvas::new(WIDTH, bottom + BOTTOM, &self.title, &self.description);
        canvas.text((0.0, 16.0), Anchor::Start, "", &self.title, false);
        if legend > 0.0 {
            self.draw_legend(&mut canvas);
        }
        let values = self.dots.iter().map(|dot| dot.value);
        let x = PlacedAxis::over(&self.axis, values, true, (left, WIDTH - RIGHT), 7);
        for &tick in &x.ticks {
            canvas.line((x.at(tick), top), (x.at(tick), bottom), "grid");
            canvas.text((x.at(tick), bottom + 16.0), Anchor::Middle, "quiet", &self.axis.unit.show(tick), false);
        }
        canvas.text(((left + WIDTH - RIGHT) / 2.0, bottom + 38.0), Anchor::Middle, "", &self.axis.label, false);
        for (number, name) in self.rows.iter().enumerate() {
            let y = top + row_height * number as f64;
            canvas.line((8.0, y), (WIDTH - RIGHT, y), "grid");
            let middle = y + row_height / 2.0 + 4.0;
            canvas.text((left - 8.0, middle), Anchor::End, "", &shortened(name, NAME_LETTERS_MAX), false);
        }
        canvas.line((left, bottom), (WIDTH - RIGHT, bottom), "axis");
        for dot in self.dots.iter().filter(|dot| self.axis.shows(dot.value)) {
            let y = top + row_height * dot.row as f64 + GAP / 2.0 + LINE * (dot.series as f64 + 0.5);
            canvas.mark((x.at(dot.value), y), dot.series, &class(dot.series, dot.is_quoted), &dot.hover);
        }
        canvas.finish(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::Unit;

    #[test]
    fn every_dot_says_its_number_and_quoted_ones_are_hollow() {
        let svg = DotChart::new("t", Axis::log("time", Unit::Micros))
            .dot("ssd", "<ours>", 545.0, "one & all")
            .quoted("ssd", "the paper", 573.0, "")
            .dot("nfs", "<ours>", 0.0, "")
            .to_svg(Place::Page);
        assert!(svg.contains("<title>ssd, &lt;ours&gt;: 545 us; one &amp; all</title>"), "{svg}");
        assert!(svg.contains("<title>ssd, the paper: 573 us</title>") && svg.matches("hollow").count() == 2, "{svg}");
        // The title, two legend entries, and two dots: zero has no place on a logarithmic axis.
        assert_eq!(svg.matches("<title>").count(), 1 + 2 + 2);
    }

    #[test]
    fn a_larger_value_is_further_right() {
        let svg = DotChart::new("t", Axis::linear("x", Unit::Count)).dot("a", "s", 1.0, "").dot("b", "s", 3.0, "");
        let svg = svg.to_svg(Place::Page);
        let starts: Vec<f64> =
            svg.split("<path d=\"M").skip(1).filter_map(|m| m.split(' ').next()?.parse().ok()).collect();
        assert!(starts.len() == 2 && starts[1] > starts[0] + 100.0, "{starts:?}");
    }
}
