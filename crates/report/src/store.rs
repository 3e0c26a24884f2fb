//! The page of a store: levels, key ranges and their overlaps, dead bytes, amplification, and what was learned.

use crate::data_table::DataTable;
use crate::figure::Figure;
use crate::format::{bytes, counted, grouped, percent};
use crate::key_axis::KeyPlaces;
use crate::page::Page;
use crate::section::Section;
use crate::svg::{Axis, BarChart, RangeChart, Unit};
use ogive::lsm::{DbStats, KeyspaceStats};
use ogive_terminal::shell_word;
use serde::Serialize;

/// Most tables that a picture draws.
const DRAWN_MAX: usize = 600;
/// Most tables of level 0 that get a row each.
const NEWEST_ROWS_MAX: usize = 12;

/// The words of the page.
const TERMS: [(&str, &str); 8] = [
    ("table", "an immutable sorted file of entries with its index; a store has many."),
    ("memtable", "entries in memory that are not in tables yet; the logs keep them over a crash."),
    (
        "log",
        "the file that each write is appended to first; not needed once its entries are in tables, and removed later.",
    ),
    (
        "level",
        "tables that do not overlap, from 1 on; level 0 has the newest, which may. Compaction moves entries down.",
    ),
    ("tombstone", "an entry that removes a key; dropped when nothing older is below it."),
    ("value file", "a file of long values, kept apart from their keys; dead values are those no entry points to."),
    ("filter", "tells for most absent keys that a table does not have them, so that no data are read."),
    ("model", "segments, each a line that predicts the position of keys in a table or a level."),
];

/// What the report of a store shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StorePicture {
    /// Name of the folder.
    pub name: String,
    /// Sizes and activity.
    pub stats: DbStats,
    /// The tables.
    pub tables: Vec<StoreTable>,
    /// Bytes of the logs, if they are known.
    pub log_bytes: Option<u64>,
}

/// A table of a store.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StoreTable {
    /// Keyspace.
    pub keyspace: String,
    /// File number.
    pub number: u64,
    /// Level; 0 is the newest.
    pub level: usize,
    /// Bytes of the file.
    pub bytes: u64,
    /// Entries.
    pub records: u64,
    /// Segments of its model; 0 for none.
    pub model_segments: u64,
    /// Bytes of its filter; 0 for none.
    pub filter_bytes: u64,
    /// The share of absent keys that the filter is expected to let through.
    pub expected_false_positives: f64,
    /// Its first key, and its last, empty for no end.
    pub first_key: Vec<u8>,
    /// Its last key.
    pub last_key: Vec<u8>,
    /// The first key as text.
    pub first: String,
    /// The last key as text.
    pub last: String,
}

impl StorePicture {
    /// The page; `command` is what made it.
    #[must_use]
    pub fn to_html(&self, command: &str) -> String {
        let stats = &self.stats;
        let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "unknown".to_owned(), |ratio| format!("{ratio:.2}"));
        let page = Page::new(&self.name)
            .summary(&format!(
                "A store with {}: {} in {}, {} in {}, {} in logs.",
                counted(stats.keyspaces.len() as u64, "keyspace"),
                bytes(stats.table_bytes as f64),
                counted(self.tables.len() as u64, "table"),
                bytes(stats.value_file_bytes as f64),
                counted(stats.value_files, "value file"),
                self.log_bytes.map_or_else(|| "an unknown number of bytes".to_owned(), |size| bytes(size as f64))
            ))
            .command(command)
            .fact("tables", &bytes(stats.table_bytes as f64))
            .fact("value files", &bytes(stats.value_file_bytes as f64))
            .fact("dead values", &bytes(stats.dead_value_bytes as f64))
            .fact("space amplification", &ratio(stats.space_amplification))
            .fact("models", &grouped(stats.learning.models));
        let page = stats.keyspaces.iter().fold(page, |page, keyspace| {
            page.section(&format!("Keyspace {}", keyspace.name), |section| self.keyspace(section, keyspace))
        });
        page.section("What the store is made of", |section| self.made_of(section))
            .section("What was learned", |section| self.learned(section))
            .to_html()
    }

    fn keyspace(&self, section: Section, keyspace: &KeyspaceStats) -> Section {
        let about = if keyspace.is_exact { "Exactly" } else { "About" };
        let section = section.text(&format!(
            "{about} {}; {} not in a table yet.",
            counted(keyspace.rows, "row"),
            match keyspace.memtable_records {
                1 => "1 entry is".to_owned(),
                entries => format!("{} entries are", grouped(entries)),
            }
        ));
        let mut headers = vec!["level", "tables", "bytes", "entries", "tombstones", "models"];
        headers.extend(["lookups that found", "lookups that did not"]);
        let mut table = DataTable::new(headers).caption("Levels, newest first");
        let mut chart = BarChart::new("Bytes by level", Unit::Bytes).description("Bytes of the tables of each level");
        for (number, level) in keyspace.levels.iter().enumerate().filter(|(_, level)| level.tables > 0) {
            let name = format!("level {number}");
            chart = chart.row(&name, &[level.bytes as f64]);
            let counts = [level.tables, level.bytes, level.records, level.tombstones, level.models];
            let lookups = [level.positive_lookups, level.negative_lookups];
            table.push(std::iter::once(name).chain(counts.into_iter().chain(lookups).map(grouped)));
        }
        if table.is_empty() {
            return match keyspace.memtable_records {
                0 => section.text("The keyspace is empty."),
                _ => section.text(&self.only_in_logs()),
            };
        }
        let caption = "Lookups are counted since the store was opened for this report; statistics of a program that \
        uses \
            it (Db::stats) have its own.";
        let section = self.ranges(section, &keyspace.name).figure(Figure::of_svg(caption, &chart).table(table));
        self.filters(section, &keyspace.name)
    }

    /// What is said of a keyspace without tables.
    fn only_in_logs(&self) -> String {
        let logs = self.log_bytes.map_or_else(String::new, |size| format!(" The logs take {}.", bytes(size as f64)));
        format!(
            "No table yet: everything is in the logs of the store, and in memory (in memtables) while the store is \
            open, so there are no levels, key ranges or filters to show.{logs} A program writes tables when its \
            memtables are full or it calls Db::flush; `ogive db compact {}` writes them now.",
            shell_word(&self.name)
        )
    }

    /// The filters of the tables of a keyspace.
    fn filters(&self, section: Section, keyspace: &str) -> Section {
        let tables = || self.tables.iter().filter(|table| table.keyspace == keyspace);
        if tables().all(|table| table.filter_bytes == 0) {
            return section.text("No table has a filter: a lookup of an absent key reads data of each level.");
        }
        let headers =
            ["table", "level", "entries", "bytes of the filter", "bits an entry", "wrong, expected", "wrong, counted"];
        let mut listed = DataTable::new(headers).caption(
            "The Bloom filters. Wrong: absent keys that a filter does not rule out, each of which costs a read of \
            data. Expected by the size of the filter, which has whole pages of 4 KiB; what filters answered is not \
            recorded.",
        );
        for table in tables().take(DRAWN_MAX) {
            let bits = table.filter_bytes as f64 * 8.0 / table.records.max(1) as f64;
            let (bits, wrong) = match table.filter_bytes {
                0 => ("no filter".to_owned(), "100 %".to_owned()),
                _ if table.expected_false_positives < 1e-5 => (format!("{bits:.1}"), "0 % (below 0.001 %)".to_owned()),
                _ => (format!("{bits:.1}"), percent(table.expected_false_positives)),
            };
            let counts = [grouped(table.records), grouped(table.filter_bytes)];
            let names = [table.number.to_string(), table.level.to_string()];
            listed.push(names.into_iter().chain(counts).chain([bits, wrong, "not recorded".to_owned()]));
        }
        section.table(&listed)
    }

    /// The tables over the keys.
    fn ranges(&self, section: Section, keyspace: &str) -> Section {
        let tables: Vec<&StoreTable> = self.tables.iter().filter(|table| table.keyspace == keyspace).collect();
        let keys = tables.iter().flat_map(|table| [table.first_key.as_slice(), &table.last_key]);
        let axis = KeyPlaces::of(keys.filter(|key| !key.is_empty()));
        let ranges = || tables.iter().map(|table| (axis.at(&table.first_key), end_of(&axis, &table.last_key)));
        let overlaps = most_overlaps(ranges());
        let newest = tables.iter().filter(|table| table.level == 0).count();
        let first = tables.iter().min_by(|one, other| one.first_key.cmp(&other.first_key));
        let last =
            tables.iter().max_by(|one, other| end_of(&axis, &one.last_key).total_cmp(&end_of(&axis, &other.last_key)));
        let mut chart = RangeChart::new("Tables over the keys", Axis::linear("keys in order", Unit::Count), 1.0)
            .description("The range of keys of each table, by level")
            .ends(first.map_or("", |table| &table.first), last.map_or("", |table| &table.last));
        let mut in_level = [0_usize; 16];
        for (table, range) in tables.iter().zip(ranges()).take(DRAWN_MAX) {
            let row = match table.level {
                0 if newest <= NEWEST_ROWS_MAX => format!("level 0, table {}", table.number),
                level => format!("level {level}"),
            };
            let hover = format!(
                "table {}, level {}: {} to {}; {} entries, {}",
                table.number,
                table.level,
                table.first,
                if table.last_key.is_empty() { "the end" } else { &table.last },
                grouped(table.records),
                bytes(table.bytes as f64)
            );
            // Neighbours alternate between two colours.
            let at = &mut in_level[table.level.min(15)];
            chart = chart.range(&row, range, if *at % 2 == 0 { 0 } else { 2 }, &hover);
            *at += 1;
        }
        let caption = format!(
            "Tables of a level below 0 do not overlap; those of level 0 may. A lookup asks the filters of at most \
            {}, newest first, where ranges lie above each other.",
            counted(overlaps as u64, "table")
        );
        let section = section.figure(Figure::of_svg(&caption, &chart).table(listed(&tables)));
        if tables.len() > DRAWN_MAX {
            return section
                .note(&format!("The first {DRAWN_MAX} of {} tables are drawn.", grouped(tables.len() as u64)));
        }
        section
    }

    fn made_of(&self, section: Section) -> Section {
        let stats = &self.stats;
        let live = stats.value_file_bytes.saturating_sub(stats.dead_value_bytes);
        let logs = self.log_bytes.unwrap_or(0);
        let chart = BarChart::new("Bytes on storage", Unit::Bytes)
            .description("Bytes of tables, of values that are used, of dead values, and of logs")
            .parts(["tables", "values", "dead values", "logs"])
            .row("store", &[stats.table_bytes as f64, live as f64, stats.dead_value_bytes as f64, logs as f64]);
        let table = DataTable::new(["part", "bytes"])
            .row(["tables".to_owned(), grouped(stats.table_bytes)])
            .row(["values in use".to_owned(), grouped(live)])
            .row(["dead values".to_owned(), grouped(stats.dead_value_bytes)])
            .row([
                "logs, with those to be removed".to_owned(),
                self.log_bytes.map_or_else(|| "not known".to_owned(), grouped),
            ])
            .row(["memory: indexes and filters of tables".to_owned(), grouped(stats.resident_bytes)])
            .row(["memory: not yet in tables".to_owned(), grouped(stats.memtable_bytes)]);
        let caption = "Dead values are those that nothing points to any more; compaction collects them.";
        let section = match stats.table_bytes + stats.value_file_bytes + logs {
            0 => section.table(&table),
            _ => section.figure(Figure::of_svg(caption, &chart).table(table)),
        };
        let section = section.terms(&TERMS);
        match stats.space_amplification {
            Some(ratio) => section.text(&format!(
                "Space amplification {ratio:.2}: the store takes {ratio:.2} times the space that a full compaction \
                would \
                leave."
            )),
            None => section,
        }
    }

    fn learned(&self, section: Section) -> Section {
        let learning = &self.stats.learning;
        let share = self.stats.model_share.map_or_else(|| "unknown".to_owned(), percent);
        let table = DataTable::new(["quantity", "number"])
            .row(["tables and levels with a model".to_owned(), grouped(learning.models)])
            .row(["segments of models".to_owned(), grouped(learning.segments)])
            .row(["bytes of models".to_owned(), grouped(learning.model_bytes)])
            .row(["waiting to be learned".to_owned(), grouped(learning.waiting)])
            .row(["share of lookups by models".to_owned(), share]);
        let section = section.table(&table);
        if learning.models > 0 {
            return section;
        }
        section.text(
            "No models: the tables have exact separators, coded along a line, which lead each lookup to one block. \
            That \
            is the default.",
        )
    }
}

/// All tables that are drawn.
fn listed(tables: &[&StoreTable]) -> DataTable {
    let mut listed = DataTable::new(["table", "level", "first key", "last key", "entries", "bytes", "model segments"]);
    for table in tables.iter().take(DRAWN_MAX) {
        listed.push([
            table.number.to_string(),
            table.level.to_string(),
            table.first.clone(),
            table.last.clone(),
            grouped(table.records),
            grouped(table.bytes),
            grouped(table.model_segments),
        ]);
    }
    listed
}

/// The most ranges that hold one place.
fn most_overlaps(ranges: impl Iterator<Item = (f64, f64)>) -> usize {
    // Ends come after starts at the same place: the last key belongs to a range.
    let mut ends: Vec<(f64, i8)> = ranges.flat_map(|(from, to)| [(from, -1), (to, 1)]).collect();
    ends.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let (mut open, mut most) = (0_usize, 0);
    for (_, end) in ends {
        open = if end < 0 { open + 1 } else { open.saturating_sub(1) };
        most = most.max(open);
    }
    most
}

/// The end of a range; an empty key has none.
fn end_of(places: &KeyPlaces, key: &[u8]) -> f64 {
    if key.is_empty() { 1.0 } else { places.at(key) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(level: usize, first: &str, last: &str) -> StoreTable {
        let (first_key, last_key) = (first.as_bytes().to_vec(), last.as_bytes().to_vec());
        let (first, last) = (first.to_owned(), last.to_owned());
        let keyspace = "default".to_owned();
        StoreTable {
            keyspace,
            level,
            number: 41,
            bytes: 4_096,
            records: 12_345,
            first_key,
            last_key,
            first,
            last,
            ..StoreTable::default()
        }
    }

    #[test]
    fn overlaps_are_counted_over_all_levels() {
        let ranges = [(0.0, 0.5), (0.2, 0.7), (0.6, 1.0), (0.7, 0.9)];
        assert_eq!(most_overlaps(ranges.into_iter()), 3);
        assert_eq!(most_overlaps(std::iter::empty()), 0);
    }

    #[test]
    fn the_page_shows_each_table_and_escapes_keys() {
        let mut stats = DbStats::default();
        let mut keyspace = KeyspaceStats::default();
        keyspace.name = "default".to_owned();
        keyspace.levels = vec![ogive::lsm::LevelStats::default(); 2];
        keyspace.levels[1].tables = 2;
        keyspace.levels[1].bytes = 987_654;
        stats.keyspaces.push(keyspace);
        stats.dead_value_bytes = 31_337;
        let hostile = "</script><script>alert(1)</script>";
        let tables = vec![table(1, "a", hostile), table(0, hostile, "")];
        let html = StorePicture { name: hostile.to_owned(), stats, tables, log_bytes: None }.to_html(hostile);
        for expected in ["987,654", "31,337", "12,345 entries", "level 0, table 41", "to the end"] {
            assert!(html.contains(expected), "{expected}");
        }
        assert!(!html.contains("<script>alert"));
    }

    #[test]
    fn filters_have_bits_and_an_expected_rate_and_what_is_not_counted_is_not_stated() {
        let filtered = StoreTable { filter_bytes: 16_384, expected_false_positives: 0.0123, ..table(1, "a", "b") };
        let picture = StorePicture { tables: vec![filtered, table(1, "c", "d")], ..StorePicture::default() };
        let html = picture.filters(Section::default(), "default").html().to_owned();
        // 16,384 bytes for 12,345 entries.
        for expected in ["16,384", ">10.6<", "1.23 %", "no filter", "not recorded"] {
            assert!(html.contains(expected), "{expected}: {html}");
        }
        assert!(picture.filters(Section::default(), "other").html().contains("No table has a filter"));
    }

    #[test]
    fn a_store_without_tables_says_where_its_entries_are() {
        let mut keyspace = KeyspaceStats::default();
        keyspace.memtable_records = 1;
        keyspace.rows = 1;
        keyspace.is_exact = true;
        let mut stats = DbStats::default();
        stats.keyspaces.push(keyspace);
        let picture = StorePicture { name: "fruit".to_owned(), stats, log_bytes: Some(366), ..StorePicture::default() };
        let html = picture.to_html("ogive report fruit");
        for expected in ["1 row; 1 entry is not in a table yet", "The logs take 366 B", "ogive db compact fruit"] {
            assert!(html.contains(expected), "{expected}: {html}");
        }
        assert!(html.contains("1 keyspace: 0 B in 0 tables"));
    }
}
