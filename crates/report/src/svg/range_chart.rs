//! Ranges in named rows over one axis: reads in a file, tables over the keys.

use super::axis::{Axis, PlacedAxis};
use super::canvas::{Anchor, Canvas};
use super::drawing::{COLORS, Drawing, Place};

const WIDTH: f64 = 720.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 48.0;
const ROW: f64 = 24.0;
const BAR: f64 = 14.0;
/// Width of the narrowest range, so that a read of a large file is seen.
const WIDTH_MIN: f64 = 2.0;
const LETTER: f64 = 6.6;
const NAME_LETTERS_MAX: usize = 30;

/// A range of a row.
#[derive(Clone, Debug, PartialEq)]
struct Range {
    row: usize,
    from: f64,
    to: f64,
    color: usize,
    hover: String,
}

/// Ranges over one axis from 0 to its length.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeChart {
    title: String,
    description: String,
    axis: Axis,
    length: f64,
    /// Texts at the two ends in place of ticks.
    ends: Option<(String, String)>,
    rows: Vec<String>,
    ranges: Vec<Range>,
}

impl RangeChart {
    /// A chart without ranges, over an axis of this length.
    #[must_use]
    pub fn new(title: &str, axis: Axis, length: f64) -> Self {
        let (rows, ranges) = (Vec::new(), Vec::new());
        let description = String::new();
        Self { title: title.to_owned(), description, axis, length: length.max(1e-9), ends: None, rows, ranges }
    }

    /// Sets what the chart shows, in a sentence, for readers who cannot see it.
    #[must_use]
    pub fn description(mut self, description: &str) -> Self {
        description.clone_into(&mut self.description);
        self
    }

    /// Names the ends of the axis instead of drawing ticks.
    #[must_use]
    pub fn ends(mut self, low: &str, high: &str) -> Self {
        self.ends = Some((low.to_owned(), high.to_owned()));
        self
    }

    /// Adds a range to a row, which stands where its first range came. Neighbours with other colours stay apart.
    #[must_use]
    pub fn range(mut self, row: &str, (from, to): (f64, f64), color: usize, hover: &str) -> Self {
        let at = self.rows.iter().position(|known| known == row).unwrap_or_else(|| {
            self.rows.push(row.to_owned());
            self.rows.len() - 1
        });
        self.ranges.push(Range { row: at, from, to, color, hover: hover.to_owned() });
        self
    }
}

fn shortened(name: &str, letters_max: usize) -> String {
    match name.char_indices().nth(letters_max) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

impl Drawing for RangeChart {
    fn to_svg(&self, place: Place) -> String {
        let longest = self.rows.iter().map(|row| row.chars().count().min(NAME_LETTERS_MAX)).max().unwrap_or(0);
        let left = 16.0 + LETTER * (longest as f64 + 2.0);
        let bottom = TOP + ROW * self.rows.len() as f64;
        let mut canvas = Canvas::new(WIDTH, bottom + BOTTOM, &self.title, &self.description);
        canvas.text((0.0, 16.0), Anchor::Start, "", &self.title, false);
        let x = PlacedAxis::over(&self.axis, [0.0, self.length].into_iter(), true, (left, WIDTH - RIGHT), 6);
        match &self.ends {
            Some((low, high)) => {
                canvas.text((left, bottom + 16.0), Anchor::Start, "quiet", &shortened(low, 40), false);
                canvas.text((WIDTH - RIGHT, bottom + 16.0), Anchor::End, "quiet", &shortened(high, 40), false);
            }
            None => x.ticks.iter().for_each(|&tick| {
                canvas.line((x.at(tick), TOP), (x.at(tick), bottom), "grid");
                canvas.text((x.at(tick), bottom + 16.0), Anchor::Middle, "quiet", &self.axis.unit.show(tick), false);
            }),
        }
        canvas.text(((left + WIDTH - RIGHT) / 2.0, bottom + 36.0), Anchor::Middle, "", &self.axis.label, false);
        for (number, name) in self.rows.iter().enumerate() {
            let y = TOP + ROW * number as f64;
            canvas.line((left, y + ROW / 2.0), (WIDTH - RIGHT, y + ROW / 2.0), "grid");
            let text = shortened(name, NAME_LETTERS_MAX);
            canvas.text((left - 8.0, y + ROW / 2.0 + 4.0), Anchor::End, "", &text, false);
        }
        for range in self.ranges.iter().filter(|range| range.from.is_finite() && range.to.is_finite()) {
            let (from, to) = (x.at(range.from), x.at(range.to.max(range.from)));
            let width = (to - from).max(WIDTH_MIN);
            let at = (from.min(WIDTH - RIGHT - width), TOP + ROW * range.row as f64 + (ROW - BAR) / 2.0);
            canvas.bar(at, (width, BAR), &format!("f{} edge", range.color % COLORS), &range.hover);
        }
        canvas.line((left, bottom), (WIDTH - RIGHT, bottom), "axis");
        canvas.finish(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::Unit;

    #[test]
    fn ranges_stand_at_their_place_and_the_smallest_is_seen() {
        let chart = RangeChart::new("t", Axis::linear("bytes", Unit::Bytes), 1000.0)
            .range("<a>", (0.0, 500.0), 0, "half")
            .range("<a>", (500.0, 500.0), 1, "none")
            .range("b", (1e9, f64::NAN), 2, "beyond");
        let svg = chart.to_svg(Place::Page);
        let widths: Vec<f64> = svg
            .split("<rect ")
            .skip(1)
            .filter_map(|rect| rect.split("width=\"").nth(1)?.split('"').next()?.parse().ok())
            .collect();
        assert!(widths.len() == 2 && widths[0] > 200.0 && widths[1] == WIDTH_MIN, "{widths:?}");
        assert!(svg.contains("&lt;a&gt;") && !svg.contains("NaN"));
    }
}
