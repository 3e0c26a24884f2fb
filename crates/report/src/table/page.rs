//! The page of a table.

use super::parts::ERRORS_BLOCKS;
use super::picture::TablePicture;
use crate::data_table::DataTable;
use crate::figure::Figure;
use crate::format::{bytes, counted, grouped, percent, time_us};
use crate::page::Page;
use crate::section::Section;
use crate::svg::{Axis, BarChart, LineChart, Mark, Series, Unit};
use ogive::io::Profile;
use serde::Serialize;

/// The curve and the explorer: fixed markup, filled by `assets/table.js`.
const EXPLORER: &str = include_str!("../../assets/explorer.html");

const CSS: &str = include_str!("../../assets/table.css");
const SCRIPTS: [&str; 4] = [
    include_str!("../../assets/keys.js"),
    include_str!("../../assets/nodes.js"),
    include_str!("../../assets/curve.js"),
    include_str!("../../assets/table.js"),
];

/// Keys that the note on a part of an index names.
const PARTIAL_KEYS_MAX: usize = 8;

/// The words of the page.
const TERMS: [(&str, &str); 16] = [
    ("block", "unit of transfer of data, under one checksum; records lie in it in the order of their keys."),
    ("location", "offset and length of a block, stored where blocks do not all have one size; kept in memory."),
    ("counts", "the number of records before each block, for ranks; stored where blocks do not all have as many."),
    ("layer", "one level of the index. Layer 1 leads to blocks; the topmost is the root, which opening reads."),
    ("separator", "a key above all keys of one block and not above the first key of the next; leads to one block."),
    ("coded separator", "exact separator, stored as a line through the keys and the distance from it in a few bits."),
    ("window", "the blocks that a line says may hold a key; all of them are read. Such a node is approximate."),
    ("slack", "bytes of the file that no part uses: padding between sections, and unused ends of index pages."),
    ("gstep(n), coded(n)", "builders of layers: a plain or coded separator for as many children as n bytes hold."),
    ("gband(n)", "builder of lines: each covers as many children as keep its window within n bytes."),
    ("eband(n)", "builder of lines: children are grouped by n bytes, with a line through each group."),
    ("pla, plr, rmi, spline", "builders of lines as the PGM-index, Bourbon, RMI and RadixSpline choose them."),
    (
        "radix(n), hist-tree(n,m)",
        "builders of bins over the keys: n of one width; m: bytes from which they divide again.",
    ),
    ("design", "the layers of an index, bottom first, with their expected cost."),
    ("T(n)", "the time to read n consecutive bytes of a storage: latency + n / bandwidth."),
    ("hardness", "how many lines the key curve takes at a given error: more are needed where it bends often."),
];

/// How keys of no fixed number of bytes are placed on the axis.
const TEXT_AXIS: &str = "Keys stand on the axis by the number that their first 24 bytes make, after the prefix that \
    all share. Equal distances are equal differences of bytes, so the curve is flat where no key begins with those \
    bytes. Labels are separators of the index, which need not be keys; a label stands at or after its separator.";

/// The data of the page.
#[derive(Serialize)]
struct PageData<'a> {
    #[serde(flatten)]
    picture: &'a TablePicture,
    /// End of the last block.
    data_end: u64,
}

impl TablePicture {
    /// The report as a page; `command` is what made it.
    #[must_use]
    pub fn to_html(&self, command: &str) -> String {
        let page = Page::new(&self.name).summary(&self.summary()).command(command);
        let page = self.facts().into_iter().fold(page, |page, (name, value)| page.fact(name, &value));
        self.sections(page).to_html()
    }

    /// Adds the sections of the table to a page.
    pub(crate) fn sections(&self, page: Page) -> Page {
        let page = match self.report.blocks {
            0 => page.section("Find a key", |section| section.text("The table has no records.")),
            _ => page.section("Find a key", |section| self.explorer(section)),
        };
        let page = page
            .section("What the file is made of", |section| self.made_of(section))
            .section("Where the time of a lookup goes", |section| self.costs(section));
        let page = match self.report.designs.is_empty() {
            true => page,
            false => page.section("Designs that were compared", |section| self.designs(section)),
        };
        let page = if self.parts.is_empty() {
            page
        } else {
            page.section("How hard the keys are", |section| self.hardness(section))
        };
        let page = page.style(CSS);
        if self.report.blocks == 0 { page } else { SCRIPTS.into_iter().fold(page, Page::script) }
    }

    fn summary(&self) -> String {
        let report = &self.report;
        format!(
            "A sorted table: {} with keys of type {}, in {}. Its index of {} leads any key to about {} \
            of data.",
            counted(report.records, "record"),
            report.key_type,
            counted(report.blocks, "block"),
            bytes(report.index_bytes as f64),
            bytes(report.data_mean_read_bytes),
        )
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let report = &self.report;
        let reads = report.reads_per_get;
        vec![
            ("records", grouped(report.records)),
            ("file", bytes(report.file_bytes as f64)),
            ("index", bytes(report.index_bytes as f64)),
            ("layers", report.layers.len().to_string()),
            ("reads of a lookup", format!("{} (cold {})", reads.open, reads.cold)),
            ("tuned for", report.tuned_for.clone()),
        ]
    }

    fn explorer(&self, section: Section) -> Section {
        let section = section.text(
            "The curve is the key curve of the table: for each key, the block of the file that holds it. An index is a \
            short form of this curve. A lookup asks it where a key can be, and reads only those bytes.",
        );
        let section = match (self.curve.is_exact, self.report.layers.is_empty()) {
            (_, true) => section.note("The table has no index: a lookup reads all data."),
            (true, _) => section,
            (false, _) => section.note(&format!(
                "The index has lines instead of the separator of each block, so the curve goes through the starts of \
                the lines and the first keys of {} that were read.",
                counted(self.curve.sampled_blocks, "block")
            )),
        };
        let section = if self.is_numeric { section } else { section.note(TEXT_AXIS) };
        let section = match self.layers.iter().all(|layer| layer.is_complete) {
            true => section,
            false => section.note(&self.partial()),
        };
        let data_end = self.data_end();
        section.markup(EXPLORER).with_charts().data("table-data", &PageData { picture: self, data_end })
    }

    /// What is said of an index that is too large for a page.
    fn partial(&self) -> String {
        let named: Vec<&str> = self.keys.iter().take(PARTIAL_KEYS_MAX).map(|key| key.text.as_str()).collect();
        let more = match self.keys.len().saturating_sub(named.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "The index of {} is larger than a page may be. This page holds the parts of it around {} ({}{more}); a \
            lookup of a key elsewhere says what is missing. Name other keys with --key.",
            bytes(self.report.index_bytes as f64),
            counted(self.keys.len() as u64, "key"),
            named.join(", "),
        )
    }

    fn data_end(&self) -> u64 {
        self.report.data_bytes
    }

    fn made_of(&self, section: Section) -> Section {
        let parts = self.sizes();
        let sizes: Vec<f64> = parts.iter().map(|part| part.1 as f64).collect();
        let bars = BarChart::new("Bytes by part", Unit::Bytes)
            .description("Each part of the file as a share of its length")
            .parts(parts.iter().map(|part| part.0))
            .row("all", &sizes);
        let bars = bars.row("without data", &[&[0.0], &sizes[1..]].concat());
        let mut table = DataTable::new(["part", "bytes", "share", "per block"]);
        let (whole, blocks) = (sizes.iter().sum::<f64>().max(1.0), self.report.blocks.max(1) as f64);
        for (name, size) in &parts {
            let size_bytes = *size as f64;
            let row = [grouped(*size), percent(size_bytes / whole), bytes(size_bytes / blocks)];
            table.push(std::iter::once((*name).to_owned()).chain(row));
        }
        let section = section.figure(Figure::of_svg(
            "The whole file, and below it all but the data, each bar drawn over the full width. Slack is what is left: \
            padding between sections and the unused end of index pages' sections.",
            &bars.relative(),
        ).table(table));
        section.table(&self.layer_table()).terms(&TERMS)
    }

    /// Name and bytes of each part, data first.
    fn sizes(&self) -> Vec<(&'static str, u64)> {
        let report = &self.report;
        let data = if self.structure.data_file.is_none() { report.data_bytes } else { 0 };
        let parts = vec![
            ("data", data),
            ("index layers", report.index_bytes),
            ("filter", report.filter_bytes),
            ("locations", report.location_bytes),
            ("counts", report.count_bytes),
            ("metadata", report.metadata_bytes),
        ];
        let known: u64 = parts.iter().map(|part| part.1).sum();
        parts.into_iter().chain([("slack", report.file_bytes.saturating_sub(known))]).collect()
    }

    fn layer_table(&self) -> DataTable {
        let headers = ["layer", "built by", "nodes", "bytes", "mean read", "largest read"];
        let mut table = DataTable::new(headers).caption("The layers of the index, from the root to the data");
        for (at, layer) in self.report.layers.iter().enumerate().rev() {
            let name = if at + 1 == self.report.layers.len() { "root".to_owned() } else { format!("layer {}", at + 1) };
            let read = if name == "root" { "in memory".to_owned() } else { bytes(layer.mean_read_bytes) };
            let most = if name == "root" { String::new() } else { bytes(layer.max_read_bytes as f64) };
            table.push([name, layer.kind.clone(), grouped(layer.nodes), grouped(layer.size_bytes), read, most]);
        }
        let report = &self.report;
        let data = ["data".to_owned(), String::new(), grouped(report.blocks), grouped(report.data_bytes)];
        let reads = [bytes(report.data_mean_read_bytes), bytes(report.data_max_read_bytes as f64)];
        table.row(data.into_iter().chain(reads))
    }

    fn costs(&self, section: Section) -> Section {
        let mut bars = BarChart::new("Cold lookup, by read", Unit::Micros)
            .description("For each storage, the shares of the opening read, the index layers and the data")
            .parts(["opening", "layers", "data"]);
        let mut table = DataTable::new(["storage", "opening", "layers", "data", "cold lookup", "lookup, table open"]);
        for profile in Profile::names().filter_map(|name| Profile::named(name).ok()) {
            let cost = self.report.modelled_cost(&profile);
            let data = cost.reads_us.first().copied().unwrap_or(0.0);
            let layers: f64 = cost.reads_us.iter().skip(1).sum();
            bars = bars.row(profile.name(), &[cost.opening_us, layers, data]);
            let times = [cost.opening_us, layers, data, cost.total_us, cost.total_us - cost.opening_us].map(time_us);
            table.push(std::iter::once(profile.name().to_owned()).chain(times));
        }
        section
            .text(&format!(
                "The time of a cold lookup as the cost model has it: T(opening read) + T(reads of layers) + T(read of \
            data), where T(n) is the time to read n bytes. The index was tuned for {}.",
                self.report.tuned_for
            ))
            .figure(
                Figure::of_svg("Each bar is one cold lookup; its time stands at its end.", &bars.relative())
                    .table(table),
            )
    }

    fn designs(&self, section: Section) -> Section {
        let mut bars = BarChart::new("Modelled cold lookup by design", Unit::Micros)
            .description("The designs of the index that the build compared, fastest first");
        let headers = ["design, from the root to the data", "cold lookup", "index", "slower by"];
        let mut table = DataTable::new(headers).caption("The first one was built");
        let best_us = self.report.designs.first().map_or(1.0, |design| design.modelled_us);
        for design in &self.report.designs {
            bars = bars.row(&design.name, &[design.modelled_us]);
            let slower = percent(design.modelled_us / best_us - 1.0);
            table.push([design.name.clone(), time_us(design.modelled_us), bytes(design.index_bytes as f64), slower]);
        }
        let text = format!(
            "The build compared these designs for {}: the modelled time decides, then the size of the index. A name \
            states how each layer was built, and the bytes that a lookup reads below it: gstep makes plain separators, \
            coded coded separators, gband and eband lines with a window.",
            self.report.tuned_for
        );
        section.text(&text).figure(Figure::of_svg("Fastest first; the first design was built.", &bars)).table(&table)
    }

    fn hardness(&self, section: Section) -> Section {
        let blocks = self.report.blocks as f64;
        let at = |block: u64| block as f64 / blocks * self.report.records as f64;
        let mut headers = vec!["from record".to_owned(), "nodes".to_owned(), "error (blocks)".to_owned()];
        let has_lines = self.parts.iter().any(|part| !part.lines.is_empty());
        if has_lines {
            headers.extend(ERRORS_BLOCKS.map(|error| format!("lines, error {error}")));
        }
        let mut table = DataTable::new(headers);
        for part in &self.parts {
            let record = grouped(at(part.block) as u64);
            let mut row = vec![record, grouped(part.nodes), format!("{:.2}", part.error_blocks)];
            row.extend(part.lines.iter().map(|lines| grouped(*lines)));
            table.push(row);
        }
        let x = || Axis::linear("position (record)", Unit::Count);
        let mut lines = LineChart::new(
            "Lines needed, in each of equal parts of the curve",
            x(),
            Axis::linear("lines", Unit::Count),
        );
        if has_lines {
            for (number, error) in ERRORS_BLOCKS.iter().enumerate() {
                let points = self.parts.iter().map(|part| (at(part.block), part.lines[number] as f64));
                lines = lines.series(Series::new(&format!("error of {error} blocks"), Mark::Steps, points));
            }
        }
        let nodes = self.parts.iter().map(|part| (at(part.block), part.nodes as f64));
        lines = lines.series(Series::new("nodes of this index", Mark::Steps, nodes));
        let caption = "More lines mean harder keys: a curve that bends often. Where few lines do, approximate nodes \
            are short; where many are needed, coded separators are.";
        let errors = self.parts.iter().map(|part| (at(part.block), part.error_blocks));
        let mut residuals = LineChart::new(
            "Distance of the keys from the lines of the index",
            x(),
            Axis::linear("blocks", Unit::Count),
        )
        .series(Series::new("largest of each part", Mark::Steps, errors));
        if !self.curve.deviations.is_empty() {
            let samples = self.curve.deviations.iter().map(|&(block, off)| (at(block), off.abs()));
            residuals = residuals.series(Series::new("blocks that were read", Mark::Points, samples));
        }
        section.figure(Figure::of_svg(caption, &lines).table(table)).figure(Figure::of_svg(
            "How far the nodes of the bottom layer let keys be from their line: half the window of a line, or the \
                largest residual of a coded separator. The window is what a lookup reads.",
            &residuals,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::PictureOptions;
    use super::TablePicture;
    use ogive::table::{TableOptions, TableWriteOptions, TableWriter};
    use ogive::{KeyType, MemoryStorage, Storage, Table};
    use std::sync::Arc;

    #[test]
    fn a_page_of_a_part_of_an_index_names_the_keys_that_it_is_around() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let design = "layers=1,builder=gstep,lambda=4096".parse().unwrap();
        let options = TableWriteOptions::default().key_type(KeyType::U64).design(design);
        let mut writer = TableWriter::create((Arc::clone(&storage), "t"), options).unwrap();
        let key = |number: u64| number * number * 977;
        (0..60_000).for_each(|number| writer.append(&key(number).to_be_bytes(), &[7; 100]).unwrap());
        writer.finish().unwrap();
        let table = Table::open((storage, "t"), &TableOptions::default()).unwrap();
        let html = |layers_bytes_max| {
            let keys = [77, 50_000].map(|number| key(number).to_be_bytes().to_vec()).to_vec();
            let options = PictureOptions { keys, layers_bytes_max, ..PictureOptions::default() };
            TablePicture::of(&table, "t", &options, &mut |_, _| Ok(())).unwrap().to_html("c")
        };
        let whole = html(1 << 20);
        assert!(!whole.contains("larger than a page may be"));
        let part = html(500);
        assert!(part.len() < whole.len() && part.contains(&format!("around 2 keys ({}, {})", key(77), key(50_000))));
    }
}
