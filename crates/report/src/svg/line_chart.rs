//! Line charts and scatter plots.

use super::axis::{Axis, PlacedAxis};
use super::canvas::{Anchor, Canvas};
use super::drawing::{COLORS, Drawing, Place};
use crate::key_axis;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 52.0;
/// Height of a line of the legend.
const LEGEND_LINE: f64 = 18.0;
/// Points of one series that get a mark of their own; longer ones are a line only.
const MARKS_MAX: usize = 200;

/// The look of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// A line with a mark at each point.
    #[default]
    Line,
    /// Marks only.
    Points,
    /// A line that is constant up to the next point.
    Steps,
}

/// A series of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    name: String,
    mark: Mark,
    points: Vec<(f64, f64)>,
    /// Text for each point on hover; empty for its numbers.
    hovers: Vec<String>,
}

impl Series {
    /// A series.
    #[must_use]
    pub fn new(name: &str, mark: Mark, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.to_owned(), mark, points: points.into_iter().collect(), hovers: Vec::new() }
    }

    /// Sets the text that each point shows on hover.
    #[must_use]
    pub fn hovers(mut self, hovers: impl IntoIterator<Item = String>) -> Self {
        self.hovers = hovers.into_iter().collect();
        self
    }
}

/// A chart of one or more series over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChart {
    title: String,
    description: String,
    x: Axis,
    y: Axis,
    /// Texts at places of the x axis, in place of ticks.
    x_labels: Vec<(f64, String)>,
    series: Vec<Series>,
}

impl LineChart {
    /// A chart without series.
    #[must_use]
    pub fn new(title: &str, x: Axis, y: Axis) -> Self {
        Self { title: title.to_owned(), description: String::new(), x, y, x_labels: Vec::new(), series: Vec::new() }
    }

    /// Sets what the chart shows, in a sentence, for readers who cannot see it.
    #[must_use]
    pub fn description(mut self, description: &str) -> Self {
        description.clone_into(&mut self.description);
        self
    }

    /// Names places of the x axis by some of these keys, ascending, instead of drawing ticks.
    pub(crate) fn x_labels(mut self, keys: &[(f64, &str)]) -> Self {
        self.x_labels = key_axis::labels(keys);
        self
    }

    /// Adds a series.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    fn draw_axes(&self, canvas: &mut Canvas, x: &PlacedAxis, y: &PlacedAxis, (top, bottom): (f64, f64)) {
        for &tick in &y.ticks {
            let at = y.at(tick);
            canvas.line((LEFT, at), (WIDTH - RIGHT, at), "grid");
            canvas.text((LEFT - 8.0, at + 4.0), Anchor::End, "quiet", &self.y.unit.show(tick), false);
        }
        for (number, (tick, label)) in self.x_labels.iter().enumerate() {
            let at = x.at(*tick);
            // Those at the ends would reach beyond the chart.
            let anchor = match number {
                0 => Anchor::Start,
                number if number + 1 == self.x_labels.len() => Anchor::End,
                _ => Anchor::Middle,
            };
            canvas.line((at, bottom), (at, bottom + 5.0), "axis");
            canvas.text((at, bottom + 18.0), anchor, "quiet", label, false);
        }
        for &tick in x.ticks.iter().filter(|_| self.x_labels.is_empty()) {
            let at = x.at(tick);
            canvas.line((at, bottom), (at, bottom + 5.0), "axis");
            canvas.text((at, bottom + 18.0), Anchor::Middle, "quiet", &self.x.unit.show(tick), false);
        }
        canvas.line((LEFT, bottom), (WIDTH - RIGHT, bottom), "axis");
        canvas.text(((LEFT + WIDTH - RIGHT) / 2.0, bottom + 40.0), Anchor::Middle, "", &self.x.label, false);
        canvas.text((16.0, (top + bottom) / 2.0), Anchor::Middle, "", &self.y.label, true);
    }

    fn draw_series(&self, canvas: &mut Canvas, number: usize, x: &PlacedAxis, y: &PlacedAxis) {
        let series = &self.series[number];
        let color = number % COLORS;
        let shown = |&&(px, py): &&(f64, f64)| self.x.shows(px) && self.y.shows(py);
        let points: Vec<(f64, f64)> =
            series.points.iter().filter(shown).map(|&(px, py)| (x.at(px), y.at(py))).collect();
        let line = match series.mark {
            Mark::Points => Vec::new(),
            Mark::Line => points.clone(),
            Mark::Steps => {
                let corners = points.windows(2).flat_map(|pair| [pair[0], (pair[1].0, pair[0].1)]);
                corners.chain(points.last().copied()).collect()
            }
        };
        if !line.is_empty() {
            let dashes = ["", "6 3", "2 3"][number / COLORS % 3];
            canvas.polyline(&line, &format!("line l{color}"), dashes);
        }
        if series.mark == Mark::Steps || points.len() > MARKS_MAX {
            return;
        }
        let values = series.points.iter().enumerate().filter(|(_, point)| shown(point));
        for ((at, &(px, py)), place) in values.zip(points) {
            let numbers = || format!("{}: {}, {}", series.name, self.x.unit.show(px), self.y.unit.show(py));
            let hover = series.hovers.get(at).cloned().unwrap_or_else(numbers);
            canvas.mark(place, number, &format!("f{color}"), &hover);
        }
    }
}

impl Drawing for LineChart {
    fn to_svg(&self, place: Place) -> String {
        let legend = if self.series.len() > 1 { LEGEND_LINE * self.series.len().div_ceil(3) as f64 } else { 0.0 };
        let height = HEIGHT + legend;
        let mut canvas = Canvas::new(WIDTH, height, &self.title, &self.description);
        let (top, bottom) = (TOP + legend, height - BOTTOM);
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = PlacedAxis::over(&self.x, points().map(|point| point.0), false, (LEFT, WIDTH - RIGHT), 8);
        let y = PlacedAxis::over(&self.y, points().map(|point| point.1), true, (bottom, top), 6);
        canvas.text((LEFT, 16.0), Anchor::Start, "", &self.title, false);
        self.draw_axes(&mut canvas, &x, &y, (top, bottom));
        for (number, series) in self.series.iter().enumerate() {
            if legend > 0.0 {
                let (column, row) = (number % 3, number / 3);
                let at = (LEFT + column as f64 * 210.0, TOP + row as f64 * LEGEND_LINE);
                canvas.mark(at, number, &format!("f{}", number % COLORS), &series.name);
                canvas.text((at.0 + 10.0, at.1 + 4.0), Anchor::Start, "", &series.name, false);
            }
            self.draw_series(&mut canvas, number, &x, &y);
        }
        canvas.finish(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::Unit;

    #[test]
    fn every_point_has_a_mark_with_its_numbers_and_hostile_names_are_escaped() {
        let chart = LineChart::new("<t>", Axis::log("size", Unit::Bytes), Axis::log("time", Unit::Micros))
            .series(Series::new("<script>", Mark::Line, [(512.0, 60.0), (4096.0, 63.0), (0.0, 1.0)]))
            .series(Series::new("b", Mark::Points, [(512.0, 1.0)]).hovers(["here".to_owned()]));
        let svg = chart.to_svg(Place::File);
        // Two legend entries, two points of the first series (0 has no place on a log axis), one of the second.
        assert_eq!(svg.matches("<title>").count(), 1 + 2 + 2 + 1);
        assert!(svg.contains("&lt;script&gt;: 4 KiB, 63 us") && svg.contains("<title>here</title>"));
        assert!(!svg.contains("<script>") && svg.contains("prefers-color-scheme"));
        assert!(!chart.to_svg(Place::Page).contains("<style>"));
    }

    #[test]
    fn no_points_and_equal_points_still_draw_axes() {
        for points in [vec![], vec![(3.0, 3.0)], vec![(f64::NAN, f64::INFINITY)]] {
            let axes = (Axis::linear("x", Unit::Count), Axis::linear("y", Unit::Count));
            let svg =
                LineChart::new("t", axes.0, axes.1).series(Series::new("s", Mark::Steps, points)).to_svg(Place::Page);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
