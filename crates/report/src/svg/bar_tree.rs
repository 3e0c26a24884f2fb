//! Trees with bars: a line of text for each node, indented, with a bar beside it.
//!
//! Trees of operators are deep and narrow: as boxes side by side ([`Tree`](super::Tree)) twenty levels would be too
//! wide for a page.

use super::canvas::{Anchor, Canvas};
use super::drawing::{Drawing, Place};

const WIDTH: f64 = 900.0;
const TOP: f64 = 34.0;
const ROW: f64 = 24.0;
const BAR: f64 = 12.0;
/// Where bars begin, and their greatest length.
const BARS: (f64, f64) = (430.0, 230.0);
const INDENT: f64 = 16.0;
/// Most of the width that indents take together: deeper trees have smaller ones.
const INDENTS: f64 = 200.0;
/// Pixels for each letter, about.
const LETTER: f64 = 6.6;

/// A line of a tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarTreeRow {
    /// Level below the root, which has 0. A row belongs to the last row before it that has a lower level.
    pub depth: usize,
    /// Name.
    pub name: String,
    /// Length of the bar, in any unit that all rows share.
    pub size: f64,
    /// Text behind the bar.
    pub note: String,
    /// Text that appears on hover.
    pub hover: String,
}

/// Lines of a tree from the root down, each node before its inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct BarTree {
    title: String,
    description: String,
    rows: Vec<BarTreeRow>,
}

impl BarTree {
    /// A tree of these rows, the first of which is the root.
    #[must_use]
    pub fn new(title: &str, rows: Vec<BarTreeRow>) -> Self {
        Self { title: title.to_owned(), description: String::new(), rows }
    }

    /// Sets what the tree shows, in a sentence, for readers who cannot see it.
    #[must_use]
    pub fn description(mut self, description: &str) -> Self {
        description.clone_into(&mut self.description);
        self
    }

    /// The row that a row belongs to.
    fn parent(&self, row: usize) -> Option<usize> {
        let depth = self.rows.get(row)?.depth;
        self.rows[..row].iter().rposition(|before| before.depth < depth)
    }
}

/// A size that can be drawn.
fn drawable(size: f64) -> f64 {
    if size.is_finite() { size.max(0.0) } else { 0.0 }
}

impl Drawing for BarTree {
    fn to_svg(&self, place: Place) -> String {
        let deepest = self.rows.iter().map(|row| row.depth).max().unwrap_or(0).max(1) as f64;
        let indent = INDENT.min(INDENTS / deepest);
        let largest = self.rows.iter().map(|row| drawable(row.size)).fold(f64::MIN_POSITIVE, f64::max);
        let height = TOP + ROW * self.rows.len() as f64 + 4.0;
        let mut canvas = Canvas::new(WIDTH, height, &self.title, &self.description);
        canvas.text((0.0, 16.0), Anchor::Start, "", &self.title, false);
        let middle = |row: usize| TOP + ROW * row as f64 + ROW / 2.0;
        for (number, row) in self.rows.iter().enumerate() {
            let (x, y) = (4.0 + indent * row.depth as f64, middle(number));
            if let Some(parent) = self.parent(number) {
                let trunk = 4.0 + indent * self.rows[parent].depth as f64 + indent / 2.0 - 2.0;
                canvas.polyline(&[(trunk, middle(parent) + 7.0), (trunk, y), (x - 2.0, y)], "grid", "");
            }
            let letters = ((BARS.0 - 12.0 - x) / LETTER) as usize;
            let name = match row.name.char_indices().nth(letters) {
                Some((end, _)) => format!("{}...", &row.name[..end]),
                None => row.name.clone(),
            };
            canvas.text((x, y + 4.0), Anchor::Start, "", &name, false);
            let size = drawable(row.size);
            // Even the smallest bar that exists can be seen.
            let length = if size > 0.0 { (size / largest * BARS.1).max(1.0) } else { 0.0 };
            canvas.bar((BARS.0, y - BAR / 2.0), (length, BAR), "f0", &row.hover);
            canvas.text((BARS.0 + length + 6.0, y + 4.0), Anchor::Start, "quiet", &row.note, false);
        }
        canvas.finish(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(depth: usize, size: f64) -> BarTreeRow {
        BarTreeRow { depth, name: format!("n{depth}"), size, ..BarTreeRow::default() }
    }

    #[test]
    fn a_row_belongs_to_the_last_row_above_its_level() {
        let tree = BarTree::new("t", vec![row(0, 1.0), row(1, 1.0), row(2, 1.0), row(2, 1.0), row(1, 1.0)]);
        let parents: Vec<_> = (0..5).map(|number| tree.parent(number)).collect();
        assert_eq!(parents, [None, Some(0), Some(1), Some(1), Some(0)]);
        assert_eq!(tree.to_svg(Place::Page).matches("<path").count(), 4);
    }

    #[test]
    fn bars_are_as_long_as_their_share_and_deep_trees_stay_in_their_width() {
        let tree = BarTree::new("t", vec![row(0, 400.0), row(1, 100.0), row(2, f64::NAN), row(900, 1e-9)]);
        let svg = tree.to_svg(Place::Page);
        let widths: Vec<f64> = svg
            .split("<rect ")
            .skip(1)
            .filter_map(|rect| rect.split("width=\"").nth(1)?.split('"').next()?.parse().ok())
            .collect();
        assert!((widths[0] / widths[1] - 4.0).abs() < 0.1 && widths[2] == 0.0 && widths[3] == 1.0, "{widths:?}");
        let right = svg.split(" x=\"").skip(1).filter_map(|rest| rest.split('"').next()?.parse::<f64>().ok());
        assert!(right.fold(0.0, f64::max) < WIDTH && !svg.contains("NaN"));
        assert!(!BarTree::new("t", Vec::new()).to_svg(Place::File).contains("inf"));
    }
}
