//! Text tables with aligned columns.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

/// Columns with headings, two spaces apart: the first left-aligned, the others right-aligned. No borders, so that other
/// tools can parse them.
pub(crate) fn plain_table<H: ToString>(headings: &[H], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(headings.iter().map(ToString::to_string));
    rows.into_iter().for_each(|row| _ = table.add_row(row));
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if index == 0 { 0 } else { 1 }, 1));
        column.set_cell_alignment(if index == 0 { CellAlignment::Left } else { CellAlignment::Right });
    }
    table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["tuned".to_owned(), "7".to_owned()], vec!["b".to_owned(), "1,234".to_owned()]];
        assert_eq!(plain_table(&["design", "size"], rows), "design   size\ntuned       7\nb       1,234");
    }
}
