//! Tables of numbers: by themselves, and beside figures for readers who cannot see them.

use crate::escape;

/// A table of text. Columns in which every cell begins with a digit are aligned to the right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataTable {
    caption: String,
    headers: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl DataTable {
    /// A table with these column headers, without rows.
    #[must_use]
    pub fn new(headers: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { headers: headers.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Sets the caption.
    #[must_use]
    pub fn caption(mut self, caption: &str) -> Self {
        caption.clone_into(&mut self.caption);
        self
    }

    /// Adds a row; its first cell names it.
    #[must_use]
    pub fn row(mut self, cells: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.push(cells);
        self
    }

    /// Adds a row in place.
    pub fn push(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether the cells of a column are numbers.
    fn is_numeric(&self, column: usize) -> bool {
        let begins = |cell: &String| cell.trim_start_matches('-').starts_with(|first: char| first.is_ascii_digit());
        column > 0 && self.rows.iter().filter_map(|row| row.get(column)).all(|cell| cell.is_empty() || begins(cell))
    }

    /// The table as an HTML element.
    #[must_use]
    pub fn to_html(&self) -> String {
        let mut html = String::from("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"");
        let label = if self.caption.is_empty() { "Table" } else { &self.caption };
        html.push_str(&escape::text(label));
        html.push_str("\"><table>");
        if !self.caption.is_empty() {
            html.push_str(&format!("<caption>{}</caption>", escape::text(&self.caption)));
        }
        let numeric: Vec<bool> = (0..self.headers.len()).map(|column| self.is_numeric(column)).collect();
        let class = |column: usize| if numeric.get(column) == Some(&true) { " class=\"number\"" } else { "" };
        html.push_str("<thead><tr>");
        for (column, header) in self.headers.iter().enumerate() {
            html.push_str(&format!("<th scope=\"col\"{}>{}</th>", class(column), escape::text(header)));
        }
        html.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            html.push_str("<tr>");
            for (column, cell) in row.iter().enumerate() {
                let (cell, class) = (escape::text(cell), class(column));
                html.push_str(&match column {
                    // An isolate: the direction of a name does not reach beyond it.
                    0 => format!("<th scope=\"row\"><bdi>{cell}</bdi></th>"),
                    _ => format!("<td{class}><bdi>{cell}</bdi></td>"),
                });
            }
            html.push_str("</tr>");
        }
        html.push_str("</tbody></table></div>");
        html
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_numbers_are_aligned_and_names_are_escaped() {
        let html =
            DataTable::new(["part", "bytes", "note"]).row(["<data>", "-1,000", "a"]).row(["b", "2", "3"]).to_html();
        assert_eq!(html.matches("class=\"number\"").count(), 3);
        assert!(html.contains("&lt;data&gt;") && !html.contains("<data>"));
    }
}
