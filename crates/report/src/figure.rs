//! Figures: a picture with a caption, and the numbers behind it.

use crate::chart::Chart;
use crate::data_table::DataTable;
use crate::escape;
use crate::svg::{Drawing, Place};

/// A picture of a page with its caption and its table.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    caption: String,
    picture: Picture,
    table: Option<DataTable>,
}

#[derive(Clone, Debug, PartialEq)]
enum Picture {
    Svg(String),
    Chart(Box<Chart>),
}

impl Figure {
    /// A static figure.
    #[must_use]
    pub fn of_svg(caption: &str, drawing: &impl Drawing) -> Self {
        Self { caption: caption.to_owned(), picture: Picture::Svg(drawing.to_svg(Place::Page)), table: None }
    }

    /// An interactive chart.
    #[must_use]
    pub fn of_chart(caption: &str, chart: Chart) -> Self {
        Self { caption: caption.to_owned(), picture: Picture::Chart(Box::new(chart)), table: None }
    }

    /// Adds the numbers behind the picture.
    #[must_use]
    pub fn table(mut self, table: DataTable) -> Self {
        self.table = Some(table);
        self
    }

    /// Whether the page needs the chart library.
    pub(crate) fn has_chart(&self) -> bool {
        matches!(self.picture, Picture::Chart(_))
    }

    /// The figure as an HTML element.
    pub(crate) fn to_html(&self) -> String {
        let picture = match &self.picture {
            Picture::Svg(svg) => svg.clone(),
            Picture::Chart(chart) => chart.to_html(&self.caption),
        };
        let numbers = self.table.as_ref().map_or_else(String::new, |table| {
            format!("<details class=\"numbers\"><summary>The numbers</summary>{}</details>", table.to_html())
        });
        let caption = escape::text(&self.caption);
        format!("<figure><div class=\"picture\">{picture}</div><figcaption>{caption}</figcaption>{numbers}</figure>")
    }
}
