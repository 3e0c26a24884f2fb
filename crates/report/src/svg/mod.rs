//! Static figures as SVG: in a page, in a document, or in a notebook.
//!
//! A drawing follows the light or dark scheme of its reader. Within a page the style of the page sets its colours; as a
//! file ([`Place::File`]) it carries a style of its own.

mod axis;
mod bar_chart;
mod bar_tree;
mod canvas;
mod dot_chart;
mod drawing;
mod line_chart;
mod range_chart;
mod ticks;
mod tree;

pub use axis::{Axis, Scale, Unit};
pub use bar_chart::BarChart;
pub use bar_tree::{BarTree, BarTreeRow};
pub use dot_chart::DotChart;
pub use drawing::{Drawing, Place};
pub use line_chart::{LineChart, Mark, Series};
pub use range_chart::RangeChart;
pub use tree::{Tree, TreeNode};
