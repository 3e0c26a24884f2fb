//! Horizontal bars, each made of parts.

use super::axis::{Axis, PlacedAxis, Unit};
use super::canvas::{Anchor, Canvas};
use super::drawing::{COLORS, Drawing, Place};
use crate::format;

const WIDTH: f64 = 720.0;
const RIGHT: f64 = 92.0;
const TOP: f64 = 30.0;
const ROW: f64 = 30.0;
const BAR: f64 = 20.0;
const LEGEND_LINE: f64 = 18.0;
/// Pixels for each letter of a row's name, about.
const LETTER: f64 = 6.6;
const NAME_LETTERS_MAX: usize = 34;

/// Bars over one axis: one row each, divided into parts of different colours.
#[derive(Clone, Debug, PartialEq)]
pub struct BarChart {
    title: String,
    description: String,
    unit: Unit,
    parts: Vec<String>,
    rows: Vec<(String, Vec<f64>)>,
    is_relative: bool,
}

impl BarChart {
    /// A chart without rows.
    #[must_use]
    pub fn new(title: &str, unit: Unit) -> Self {
        let title = title.to_owned();
        Self { title, description: String::new(), unit, parts: Vec::new(), rows: Vec::new(), is_relative: false }
    }

    /// Sets what the chart shows, in a sentence, for readers who cannot see it.
    #[must_use]
    pub fn description(mut self, description: &str) -> Self {
        description.clone_into(&mut self.description);
        self
    }

    /// Names the parts of each bar, for a legend.
    #[must_use]
    pub fn parts(mut self, parts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.parts = parts.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a bar with the sizes of its parts.
    #[must_use]
    pub fn row(mut self, name: &str, sizes: &[f64]) -> Self {
        self.rows.push((name.to_owned(), sizes.to_vec()));
        self
    }

    /// Draws each bar over the full width, as shares of its own sum: for bars whose sums differ by magnitudes.
    #[must_use]
    pub fn relative(mut self) -> Self {
        self.is_relative = true;
        self
    }

    fn draw_legend(&self, canvas: &mut Canvas, left: f64) {
        for (number, part) in self.parts.iter().enumerate() {
            let at = (left + (number % 4) as f64 * 130.0, TOP + (number / 4) as f64 * LEGEND_LINE);
            canvas.bar((at.0, at.1 - 8.0), (10.0, 10.0), &format!("f{}", number % COLORS), part);
            canvas.text((at.0 + 14.0, at.1 + 1.0), Anchor::Start, "", part, false);
        }
    }
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_LETTERS_MAX) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

/// The parts of a bar that can be drawn.
fn drawable(size: f64) -> f64 {
    if size.is_finite() { size.max(0.0) } else { 0.0 }
}

impl Drawing for BarChart {
    fn to_svg(&self, place: Place) -> String {
        let longest = self.rows.iter().map(|row| row.0.chars().count().min(NAME_LETTERS_MAX)).max().unwrap_or(0);
        let left = 16.0 + LETTER * (longest as f64 + 2.0);
        let legend = if self.parts.len() > 1 { LEGEND_LINE * self.parts.len().div_ceil(4) as f64 } else { 0.0 };
        let top = TOP + legend;
        let height = top + ROW * self.rows.len() as f64 + if self.is_relative { 10.0 } else { 30.0 };
        let mut canvas = Canvas::new(WIDTH, height, &self.title, &self.description);
        canvas.text((0.0, 16.0), Anchor::Start, "", &self.title, false);
        if legend > 0.0 {
            self.draw_legend(&mut canvas, left);
        }
        let sum = |sizes: &[f64]| sizes.iter().copied().map(drawable).sum::<f64>().max(0.0);
        let axis = Axis::linear("", self.unit);
        let sums = self.rows.iter().map(|(_, sizes)| sum(sizes));
        let x = PlacedAxis::over(&axis, sums, true, (left, WIDTH - RIGHT), 6);
        let bottom = top + ROW * self.rows.len() as f64;
        for &tick in x.ticks.iter().filter(|_| !self.is_relative) {
            canvas.line((x.at(tick), top), (x.at(tick), bottom), "grid");
            canvas.text((x.at(tick), bottom + 16.0), Anchor::Middle, "quiet", &self.unit.show(tick), false);
        }
        for (number, (name, sizes)) in self.rows.iter().enumerate() {
            let (y, total) = (top + ROW * number as f64 + (ROW - BAR) / 2.0, sum(sizes));
            canvas.text((left - 8.0, y + 14.0), Anchor::End, "", &shortened(name), false);
            let scale = if self.is_relative { (WIDTH - RIGHT - left) / total.max(1e-9) } else { 0.0 };
            let at = |sum: f64| if self.is_relative { left + sum * scale } else { x.at(sum) };
            let mut before = 0.0;
            for (part, size) in sizes.iter().copied().map(drawable).enumerate() {
                let share = format::percent(size / total.max(1e-9));
                let part_name = self.parts.get(part).map_or(name.as_str(), String::as_str);
                let hover = format!("{name}, {part_name}: {} ({share})", self.unit.show(size));
                let (from, to) = (at(before), at(before + size));
                // Even the smallest part that exists can be seen.
                let width = if size > 0.0 { (to - from).max(1.0) } else { 0.0 };
                canvas.bar((from, y), (width, BAR), &format!("f{}", part % COLORS), &hover);
                before += size;
            }
            canvas.text((at(total) + 6.0, y + 14.0), Anchor::Start, "quiet", &self.unit.show(total), false);
        }
        canvas.finish(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widths(svg: &str) -> Vec<f64> {
        let rects = svg.split("<rect ").skip(1).filter_map(|rect| rect.split("width=\"").nth(1)?.split('"').next());
        rects.filter_map(|width| width.parse().ok()).collect()
    }

    #[test]
    fn parts_are_as_wide_as_their_share() {
        let chart = BarChart::new("t", Unit::Bytes).parts(["a", "b"]).row("x", &[300.0, 100.0]).row("y", &[0.0, 4.0]);
        // The first two are the legend.
        let found = widths(&chart.to_svg(Place::Page))[2..].to_vec();
        assert!((found[0] / found[1] - 3.0).abs() < 0.01, "{found:?}");
        assert!(found[2] == 0.0 && found[3] > 0.0 && found[3] < found[1], "{found:?}");
        let relative = widths(&chart.relative().to_svg(Place::Page))[2..].to_vec();
        assert!((relative[0] + relative[1] - relative[3]).abs() < 0.3, "{relative:?}");
    }

    #[test]
    fn bars_without_sizes_draw_nothing_infinite() {
        let chart = BarChart::new("t", Unit::Count).row("none", &[]).row("bad", &[f64::NAN, -1.0, f64::INFINITY]);
        for svg in [chart.to_svg(Place::Page), chart.relative().to_svg(Place::Page)] {
            assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
        }
    }
}
