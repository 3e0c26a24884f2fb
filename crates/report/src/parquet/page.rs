//! The page of an index beside Parquet files.

use super::picture::ParquetPicture;
use crate::data_table::DataTable;
use crate::figure::Figure;
use crate::format::{bytes, counted, grouped, percent};
use crate::key_axis::KeyPlaces;
use crate::page::Page;
use crate::section::Section;
use crate::svg::{Axis, BarChart, Drawing, LineChart, Mark, Place, Series, Unit};

/// Files that get a row.
const FILES_MAX: usize = 200;

/// The words of the page.
const TERMS: [(&str, &str); 8] = [
    ("row group", "part of a Parquet file: some of its rows, column by column."),
    ("page", "part of a column in a row group: the smallest unit of Parquet that can be read and decoded."),
    ("dictionary page", "the values of a column that its other pages name by number; read with them."),
    ("place of a page", "its offset, length and first row, which the index stores so that no footer is read."),
    ("interval", "rows between two starts of pages of any column: one of its rows needs one page of each column."),
    ("separator", "a key above all keys of one interval and not above the first key of the next."),
    ("run", "row groups that follow each other in key order; a lookup asks each run in the same round."),
    ("round", "requests that are under way at the same time."),
];

impl ParquetPicture {
    /// The page; `command` is what made it.
    #[must_use]
    pub fn to_html(&self, command: &str) -> String {
        let page = Page::new(&self.name).summary(&self.summary()).command(command);
        let page = page
            .fact("rows", &grouped(self.rows))
            .fact("Parquet files", &format!("{}, {}", self.files.len(), bytes(self.data_bytes() as f64)))
            .fact("row groups", &grouped(self.files.iter().map(|file| file.groups).sum()))
            .fact("index", &bytes(self.index_bytes as f64))
            .fact("read to open it", &bytes(self.opening_bytes as f64))
            .section("What a lookup reads", |section| self.found(section))
            .section("The Parquet files", |section| self.covered(section))
            .section("What the index is made of", |section| self.made_of(section));
        let page = match self.curve.is_empty() {
            true => page,
            false => page.section("The key curve", |section| self.curve_section(section)),
        };
        let Some(table) = &self.table else { return page.to_html() };
        let page = page.section("The table in the index", |section| {
            section.text(
                "The files are not sorted by the key, so the index is a table with a record for each row: its key, and \
                the number of the row. The sections below show this table as `ogive report` shows any: its data are \
                the records of the index, not the Parquet files.",
            )
        });
        table.sections(page).to_html()
    }

    fn summary(&self) -> String {
        let order = match (self.is_sorted, self.runs.len()) {
            (false, _) => {
                "The files are not sorted by the key: the index has a record for each row, which leads to its pages."
            }
            (true, 0 | 1) => "The files are sorted by the key: separators lead straight to the pages of a row.",
            (true, _) => {
                "Files are sorted by the key, in several runs: separators lead straight to the pages of a row."
            }
        };
        format!(
            "An index beside {} with {}, by {} ({}). {order}",
            counted(self.files.len() as u64, "Parquet file"),
            counted(self.rows, "row"),
            self.key.join(", "),
            self.key_type
        )
    }

    /// Bytes of the Parquet files.
    pub(super) fn data_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    fn covered(&self, section: Section) -> Section {
        let headers = ["file", "bytes", "rows", "row groups", "pages", "bytes of pages", "bytes of a page, mean"];
        let mut table = DataTable::new(headers).caption("The files as they were when they were indexed");
        for file in self.files.iter().take(FILES_MAX) {
            let counts = [file.bytes, file.rows, file.groups, file.pages, file.page_bytes].map(grouped);
            let mean = bytes(file.page_bytes as f64 / file.pages.max(1) as f64);
            table.push(std::iter::once(file.path.clone()).chain(counts).chain([mean]));
        }
        let section = section.table(&table).text(
            "The index stays right as long as the files stay as they are: a file of another length or time of \
            modification is an error that names it, and `ogive build DATA --external --update` takes in what is new.",
        );
        let section = match self.files.len() > FILES_MAX {
            true => section
                .note(&format!("The first {FILES_MAX} of {} files are listed.", grouped(self.files.len() as u64))),
            false => section,
        };
        section.terms(&TERMS)
    }

    /// Name and bytes of each part of the index file.
    fn parts(&self) -> Vec<(&'static str, u64)> {
        let files = self.catalog_bytes.saturating_sub(self.schema_bytes + self.place_bytes + self.separator_bytes);
        let mut parts = vec![
            ("separators", self.separator_bytes),
            ("places of pages", self.place_bytes),
            ("schemas", self.schema_bytes),
            ("files and row groups", files),
        ];
        if let Some(table) = &self.table {
            let report = &table.report;
            parts.extend([
                ("records", report.data_bytes),
                ("index layers", report.index_bytes),
                ("filter", report.filter_bytes),
                ("locations", report.location_bytes),
                ("counts", report.count_bytes),
            ]);
        }
        let known: u64 = parts.iter().map(|part| part.1).sum();
        let rest = ("the rest", self.index_bytes.saturating_sub(known));
        parts.into_iter().chain([rest]).filter(|part| part.1 > 0).collect()
    }

    fn made_of(&self, section: Section) -> Section {
        let parts = self.parts();
        let sizes: Vec<f64> = parts.iter().map(|part| part.1 as f64).collect();
        let bars = BarChart::new("Bytes by part", Unit::Bytes)
            .description("Each part of the index file as a share of its length")
            .parts(parts.iter().map(|part| part.0))
            .row("index", &sizes);
        let mut table = DataTable::new(["part", "bytes", "share"]);
        for (name, size) in &parts {
            let share = percent(*size as f64 / self.index_bytes.max(1) as f64);
            table.push([(*name).to_owned(), grouped(*size), share]);
        }
        let data = self.data_bytes().max(1) as f64;
        let caption = format!(
            "The index takes {} for {} of Parquet: {} of them. The rest is metadata of the table that holds the \
            index, its footer, and padding.",
            bytes(self.index_bytes as f64),
            bytes(data),
            percent(self.index_bytes as f64 / data)
        );
        let section = section.figure(Figure::of_svg(&caption, &bars.relative()).table(table));
        let section = match &self.table {
            Some(table) if table.report.filter_bytes > 0 => section,
            _ => section.text("The index has no Bloom filter, and lookups do not use those of Parquet files."),
        };
        if self.runs.is_empty() {
            return section;
        }
        let headers = ["run", "row groups", "rows", "intervals", "bytes of separators", "bytes an interval"];
        let mut runs = DataTable::new(headers).caption("The separators of the sorted files, all in the tail");
        for (number, run) in self.runs.iter().enumerate() {
            let counts = [run.groups, run.rows, run.intervals, run.separator_bytes].map(grouped);
            let each = format!("{:.2}", run.separator_bytes as f64 / run.intervals.max(1) as f64);
            runs.push(std::iter::once((number + 1).to_string()).chain(counts).chain([each]));
        }
        section.table(&runs)
    }

    fn curve_section(&self, section: Section) -> Section {
        let keys = self.curve_chart();
        let mut table = DataTable::new(["key", "rows with smaller keys"]);
        for point in &self.curve {
            table.push([point.text.clone(), grouped(point.rows)]);
        }
        let caption = format!(
            "Through the keys of {} rows, evenly apart in the files, which were read for this page. {}",
            grouped(self.curve.len() as u64),
            KeyPlaces::CAPTION
        );
        section.figure(Figure::of_svg(&caption, &keys).table(table))
    }

    /// The key curve of sorted files.
    fn curve_chart(&self) -> LineChart {
        let places = KeyPlaces::of(self.curve.iter().map(|point| point.key.as_slice()));
        let at = |key: &[u8]| places.at(key);
        let points = self.curve.iter().map(|point| (at(&point.key), point.rows as f64));
        let hovers = self.curve.iter().map(|point| format!("{}: {} rows before", point.text, grouped(point.rows)));
        let labels: Vec<(f64, &str)> = self.curve.iter().map(|point| (at(&point.key), point.text.as_str())).collect();
        LineChart::new(&self.name, Axis::linear("key", Unit::Count), Axis::linear("rows before it", Unit::Count))
            .description("The key curve of the Parquet files: keys in order, and the rows before each")
            .x_labels(&labels)
            .series(Series::new("rows", Mark::Line, points).hovers(hovers))
    }

    /// The key curve as a figure for documents.
    #[must_use]
    pub fn curve_svg(&self) -> String {
        match &self.table {
            Some(table) => table.curve_svg(),
            None => self.curve_chart().to_svg(Place::File),
        }
    }

    /// The layers of the index, if it has any.
    #[must_use]
    pub fn layers_svg(&self) -> Option<String> {
        self.table.as_ref().map(|table| table.layers_svg())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CurveKey, DataFile, FileLookup, FileRequest, SortedRun};
    use super::*;

    fn picture() -> ParquetPicture {
        let hostile = "</script><script>alert(1)</script>";
        let file = DataFile {
            path: hostile.to_owned(),
            bytes: 700_000,
            rows: 1_000,
            groups: 2,
            pages: 40,
            page_bytes: 650_000,
        };
        let request =
            FileRequest { round: 1, file: "e.idx".to_owned(), is_index: true, bytes: 4_321, ..FileRequest::default() };
        let point = |key: &str, rows| CurveKey { text: key.to_owned(), key: key.as_bytes().to_vec(), rows };
        ParquetPicture {
            name: "e.idx".to_owned(),
            key: vec!["id".to_owned()],
            is_sorted: true,
            rows: 1_000,
            index_bytes: 10_000,
            catalog_bytes: 6_000,
            schema_bytes: 1_000,
            place_bytes: 2_000,
            separator_bytes: 1_234,
            files: vec![file],
            runs: vec![SortedRun { groups: 2, rows: 1_000, intervals: 40, separator_bytes: 1_234 }],
            curve: vec![point("a", 0), point("m", 700), point(hostile, 800)],
            lookups: vec![FileLookup { key: hostile.to_owned(), rows: 1, requests: vec![request] }],
            ..ParquetPicture::default()
        }
    }

    #[test]
    fn the_parts_add_up_to_the_file() {
        let parts = picture().parts();
        assert_eq!(parts.iter().map(|part| part.1).sum::<u64>(), 10_000);
        assert_eq!((parts[0], parts[3]), (("separators", 1_234), ("files and row groups", 1_766)));
    }

    #[test]
    fn the_page_has_files_runs_and_requests_and_escapes_names() {
        let html = picture().to_html("ogive report e.idx");
        for expected in ["700,000", "650,000", "1,234", "30.85", "1 Parquet file with 1,000 rows", "4,321"] {
            assert!(html.contains(expected), "{expected}");
        }
        assert!(!html.contains("<script>alert") && html.len() < crate::PAGE_BYTES_MAX);
    }
}
