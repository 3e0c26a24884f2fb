//! Text tables of records that fit a width.
//!
//! A table that is too wide has its headings broken at underscores. If that does not suffice, columns with one value in
//! all rows are stated above it, and the rest is divided into tables below each other, each of which begins with the
//! columns that tell the rows apart. Text that is still too wide is broken between words.

use std::collections::HashSet;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::record::{Figure, Record};

/// Width of a heading that is not broken further, even if the cells below are narrower.
const HEADING_WIDTH: usize = 12;

/// A column: its name, and a cell for each row.
struct Column {
    name: String,
    cells: Vec<String>,
    /// Whether a cell is a number.
    is_numeric: bool,
}

/// A row per record and a column per field of any of them; a single record is printed vertically.
pub(super) fn table(rows: &[Record], width: usize) -> String {
    if let [only] = rows {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        for (name, value) in only.fields() {
            table.add_row(vec![name.clone(), value.to_string()]);
        }
        return trimmed(&table);
    }
    let columns = columns(rows);
    if widths(&columns, |column| column.name.len()) <= width {
        return drawn(&columns.iter().collect::<Vec<_>>(), false, width);
    }
    if widths(&columns, Column::broken_width) <= width {
        return drawn(&columns.iter().collect::<Vec<_>>(), true, width);
    }
    divided(&columns, width)
}

fn columns(rows: &[Record]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for (name, _) in rows.iter().flat_map(Record::fields) {
        if columns.iter().all(|column| column.name != *name) {
            columns.push(Column { name: name.clone(), cells: Vec::new(), is_numeric: false });
        }
    }
    for column in &mut columns {
        for row in rows {
            let value = row.fields().iter().find(|(name, _)| *name == column.name).map(|(_, value)| value);
            column.is_numeric |= matches!(value, Some(Figure::Count(_) | Figure::Number(_)));
            column.cells.push(value.map_or_else(String::new, Figure::to_string));
        }
    }
    columns
}

impl Column {
    fn cell_width(&self) -> usize {
        self.cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0)
    }

    /// The heading, broken at underscores into lines of about the width of the cells.
    fn broken_heading(&self) -> String {
        let limit = self.cell_width().max(HEADING_WIDTH);
        let mut lines = vec![String::new()];
        for part in self.name.split_inclusive('_') {
            let last = lines.last_mut().filter(|last| last.is_empty() || last.len() + part.len() <= limit);
            match last {
                Some(last) => last.push_str(part),
                None => lines.push(part.to_owned()),
            }
        }
        lines.join("\n")
    }

    fn broken_width(&self) -> usize {
        self.broken_heading().lines().map(str::len).max().unwrap_or(0)
    }

    /// The width of the column, with a heading of this width and a blank on both sides.
    fn width(&self, heading_width: usize) -> usize {
        self.cell_width().max(heading_width) + 2
    }

    fn is_constant(&self) -> bool {
        self.cells.iter().all(|cell| *cell == self.cells[0])
    }
}

fn widths(columns: &[Column], heading_width: impl Fn(&Column) -> usize) -> usize {
    columns.iter().map(|column| column.width(heading_width(column))).sum()
}

/// Tables below each other, under the columns with one value in all rows.
fn divided(columns: &[Column], width: usize) -> String {
    let (constant, rest): (Vec<&Column>, Vec<&Column>) = columns.iter().partition(|column| column.is_constant());
    let used = |columns: &[&Column]| columns.iter().map(|column| column.width(column.broken_width())).sum::<usize>();
    let (names, rest) = rest.split_at(names(&rest, |names| used(names) <= width / 2));
    let mut tables = Vec::new();
    if !constant.is_empty() {
        tables.push(in_all_rows(&constant, width));
    }
    let mut part = names.to_vec();
    for &column in rest {
        if part.len() > names.len() && used(&part) + used(&[column]) > width {
            tables.push(drawn(&part, true, width));
            part = names.to_vec();
        }
        part.push(column);
    }
    tables.push(drawn(&part, true, width));
    tables.join("\n\n")
}

/// The number of first columns that tell the rows apart, if these columns fit; else of those before the first figure.
fn names(columns: &[&Column], fits: impl Fn(&[&Column]) -> bool) -> usize {
    let tell_apart = |names: &[&Column]| {
        let mut rows = HashSet::new();
        let count = names.first().map_or(0, |column| column.cells.len());
        (0..count).all(|row| rows.insert(names.iter().map(|column| &column.cells[row]).collect::<Vec<_>>()))
    };
    let mut fitting = (1..columns.len()).take_while(|&count| fits(&columns[..count]));
    let telling = fitting.find(|&count| tell_apart(&columns[..count]));
    telling.unwrap_or_else(|| columns.iter().take_while(|column| !column.is_numeric).count())
}

/// The columns with one value, as `name value`, in lines of the width.
fn in_all_rows(columns: &[&Column], width: usize) -> String {
    let mut lines = vec![" in all rows:".to_owned()];
    for (index, column) in columns.iter().enumerate() {
        let end = if index + 1 < columns.len() { "," } else { "" };
        let text = format!(" {} {}{end}", column.name, column.cells[0]);
        match lines.last_mut().filter(|last| last.chars().count() + text.chars().count() <= width) {
            Some(last) => last.push_str(&text),
            None => lines.push(format!(" {text}")),
        }
    }
    lines.join("\n")
}

fn drawn(columns: &[&Column], is_broken: bool, width: usize) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if is_broken && columns.iter().map(|column| column.width(column.broken_width())).sum::<usize>() > width {
        // Long text is broken between words.
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    let headings: Vec<String> =
        columns.iter().map(|column| if is_broken { column.broken_heading() } else { column.name.clone() }).collect();
    let height = headings.iter().map(|heading| heading.lines().count()).max().unwrap_or(1);
    // The last lines of all headings stand above the first row.
    table.set_header(headings.iter().map(|heading| "\n".repeat(height - heading.lines().count()) + heading));
    for row in 0..columns.first().map_or(0, |column| column.cells.len()) {
        table.add_row(columns.iter().map(|column| column.cells[row].clone()));
    }
    for (index, column) in columns.iter().enumerate() {
        if let Some(drawn) = table.column_mut(index).filter(|_| column.is_numeric) {
            drawn.set_cell_alignment(CellAlignment::Right);
        }
    }
    trimmed(&table)
}

/// The table without trailing blanks.
fn trimmed(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows with two names, a constant and 12 figures.
    fn rows() -> Vec<Record> {
        let row = |keys: &str, structure: &str, first: u64| {
            let record = Record::new("a/b").keys(keys).figure("structure", structure).figure("block_bytes", 4_096);
            (0..12).fold(record, |record, number| {
                record.figure(&format!("leaf_blocks_per_operation_{number}"), first + number)
            })
        };
        vec![row("uniform", "btree", 1), row("uniform", "ogive", 100_000_000)]
    }

    #[test]
    fn a_table_fits_the_width_and_loses_nothing() {
        for width in [60, 80, 120, 200, 1000] {
            let shown = table(&rows(), width);
            assert!(shown.lines().all(|line| line.chars().count() <= width), "{width}:\n{shown}");
            for number in 0..12 {
                let cell = (100_000_000 + number).to_string();
                assert_eq!(shown.replace(',', "").matches(&cell).count(), 1, "{width}:\n{shown}");
            }
            assert!(shown.contains("uniform") && shown.matches("btree").count() >= 1, "{shown}");
        }
    }

    #[test]
    fn each_part_of_a_wide_table_names_its_rows() {
        let shown = table(&rows(), 80);
        let parts: Vec<&str> = shown.split("\n\n").collect();
        assert!(parts.len() > 2, "{shown}");
        assert_eq!(parts[0], " in all rows: keys uniform, block_bytes 4,096");
        for part in &parts[1..] {
            assert!(part.contains(" btree ") && part.contains(" ogive ") && part.contains(" structure"), "{shown}");
        }
    }

    #[test]
    fn figures_that_tell_rows_apart_are_repeated_and_text_that_does_not_is_not() {
        let row = |name: &str, ratio: u64, says: &str| {
            let record = Record::new("a/b").figure("name", name).figure("ratio", ratio).figure("says", says);
            (0..6).fold(record, |record, number| record.figure(&format!("measured_microseconds_{number}"), ratio))
        };
        let shown = table(&[row("x", 1, "long text"), row("x", 10, "text"), row("y", 1, "more")], 60);
        let parts: Vec<&str> = shown.split("\n\n").collect();
        let has = |what: &str| parts.iter().filter(|part| part.contains(what)).count();
        assert!(parts.len() > 1 && has("long text") == 1, "{shown}");
        assert_eq!((has(" ratio"), has(" name")), (parts.len(), parts.len()), "{shown}");
    }

    #[test]
    fn long_text_is_broken_between_words() {
        let about = "blocks of lookups and scans by resident bytes, and the size of the file after a bulk load";
        let rows: Vec<Record> =
            ["a/b", "a/c"].map(|name| Record::new("x").figure("name", name).figure("about", about)).into();
        // A column with one value is not worth its width.
        assert_eq!(table(&rows, 60).lines().count(), 6);
        let other = Record::new("x").figure("name", "d/e").figure("about", "short");
        let shown = table(&[rows, vec![other]].concat(), 60);
        assert!(shown.lines().all(|line| line.chars().count() <= 60) && shown.contains("d/e   short"), "{shown}");
    }

    #[test]
    fn headings_are_broken_before_a_table_is_divided() {
        let rows: Vec<Record> =
            [1, 2].map(|count| Record::new("a/b").keys("x").figure("blocks_per_get_of_absent_keys", count)).into();
        assert_eq!(
            table(&rows, 40),
            " keys  blocks_per_get_of_absent_keys\n x                                 1\n \
                                      x                                 2"
        );
        assert_eq!(
            table(&rows, 30),
            "       blocks_per_\n           get_of_\n keys  absent_keys\n x               1\n x               2"
        );
    }
}
