//! Trees of boxes: plans, root on the left, inputs on the right.

use super::canvas::{Anchor, Canvas};
use super::drawing::{Drawing, Place};

const WIDTH_BOX: f64 = 214.0;
const GAP: (f64, f64) = (30.0, 14.0);
const LINE: f64 = 16.0;
const PADDING: f64 = 10.0;
const TOP: f64 = 30.0;
const LETTERS_MAX: usize = 32;

/// A node: lines of text, the first of which names it, and its inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeNode {
    /// Lines of text.
    pub lines: Vec<String>,
    /// Inputs.
    pub inputs: Vec<TreeNode>,
}

/// A tree of boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    title: String,
    description: String,
    root: TreeNode,
}

impl TreeNode {
    /// A node without inputs.
    #[must_use]
    pub fn new(lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { lines: lines.into_iter().map(Into::into).collect(), inputs: Vec::new() }
    }

    /// Adds an input.
    #[must_use]
    pub fn input(mut self, node: Self) -> Self {
        self.inputs.push(node);
        self
    }

    fn depth(&self) -> usize {
        1 + self.inputs.iter().map(Self::depth).max().unwrap_or(0)
    }

    fn box_height(&self) -> f64 {
        self.lines.len() as f64 * LINE + PADDING
    }

    fn height(&self) -> f64 {
        let inputs = self.inputs.iter().map(Self::height).sum::<f64>();
        let gaps = self.inputs.len().saturating_sub(1) as f64 * GAP.1;
        self.box_height().max(inputs + gaps)
    }

    /// Draws the node in the middle of its height, and its inputs to the right.
    fn draw(&self, canvas: &mut Canvas, (x, y): (f64, f64)) -> f64 {
        let middle = y + self.height() / 2.0;
        let top = middle - self.box_height() / 2.0;
        canvas.frame((x, top), (WIDTH_BOX, self.box_height()), &self.lines.join("\n"));
        for (number, line) in self.lines.iter().enumerate() {
            let class = if number == 0 { "" } else { "quiet" };
            let shown = match line.char_indices().nth(LETTERS_MAX) {
                Some((end, _)) => format!("{}...", &line[..end]),
                None => line.clone(),
            };
            canvas.text((x + 8.0, top + 17.0 + number as f64 * LINE), Anchor::Start, class, &shown, false);
        }
        let inputs = self.inputs.iter().map(Self::height).sum::<f64>();
        let gaps = self.inputs.len().saturating_sub(1) as f64 * GAP.1;
        let mut below = middle - (inputs + gaps) / 2.0;
        for input in &self.inputs {
            let next = x + WIDTH_BOX + GAP.0;
            let to = input.draw(canvas, (next, below));
            let bend = x + WIDTH_BOX + GAP.0 / 2.0;
            canvas.polyline(&[(next, to), (bend, to), (bend, middle), (x + WIDTH_BOX, middle)], "axis", "");
            below += input.height() + GAP.1;
        }
        middle
    }
}

impl Tree {
    /// A tree.
    #[must_use]
    pub fn new(title: &str, root: TreeNode) -> Self {
        Self { title: title.to_owned(), description: String::new(), root }
    }

    /// Sets what the tree shows, in a sentence, for readers who cannot see it.
    #[must_use]
    pub fn description(mut self, description: &str) -> Self {
        description.clone_into(&mut self.description);
        self
    }
}

impl Drawing for Tree {
    fn to_svg(&self, place: Place) -> String {
        let width = self.root.depth() as f64 * (WIDTH_BOX + GAP.0) - GAP.0 + 4.0;
        let mut canvas = Canvas::new(width, TOP + self.root.height() + 4.0, &self.title, &self.description);
        canvas.text((0.0, 16.0), Anchor::Start, "", &self.title, false);
        self.root.draw(&mut canvas, (2.0, TOP));
        canvas.finish(place)
    }
}
