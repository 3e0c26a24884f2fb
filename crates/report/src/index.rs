//! The page of an index file: fan-out, fill, height, and the pages that a lookup reads.

use crate::data_table::DataTable;
use crate::figure::Figure;
use crate::format::{bytes, count, counted, grouped, percent, time_us};
use crate::page::Page;
use crate::section::Section;
use crate::svg::{BarChart, Tree, TreeNode, Unit};
use ogive::io::Profile;
use serde::Serialize;

/// The words of the page.
const TERMS: [(&str, &str); 7] = [
    ("page", "unit of transfer of the file, under one checksum."),
    ("leaf", "node with entries: keys with their values, in order."),
    ("inner node", "node with separators or a model that lead to the next node."),
    ("height", "nodes on the longest path from the root to an entry."),
    ("fill", "share of the pages of leaves that entries take; the rest is room for insertions."),
    ("log", "segments beside the file with the latest changes, which a checkpoint copies into it."),
    ("kind", "the structure: `ogive` has leaves of a B+-tree under coded inner nodes; others are those of papers."),
];

/// What the report of an index file shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IndexPicture {
    /// Name of the file.
    pub name: String,
    /// Structure.
    pub kind: String,
    /// Types of keys and values.
    pub key_type: String,
    /// Type of the values.
    pub value_type: String,
    /// Bytes of an entry in a leaf.
    pub entry_bytes: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Pages that are free.
    pub free_pages: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Entries.
    pub entries: u64,
    /// Leaves.
    pub leaves: u64,
    /// Pages of leaves.
    pub leaf_pages: u64,
    /// Pages above them.
    pub inner_pages: u64,
    /// Nodes on the longest path to an entry.
    pub height: u32,
    /// Mean of the paths to all entries.
    pub mean_height: f64,
    /// Nodes by depth, the root first.
    pub levels: Vec<IndexLevel>,
    /// Further counts of the structure.
    pub details: Vec<(String, u64)>,
    /// The key of `path`, as text.
    pub key: String,
    /// The nodes that a lookup of the key visits.
    pub path: Vec<IndexVisit>,
}

/// The nodes of one depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IndexLevel {
    /// Nodes.
    pub nodes: u64,
    /// Pages.
    pub pages: u64,
    /// Entries or children.
    pub entries: u64,
}

/// A node on the path of a lookup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IndexVisit {
    /// Depth; 0 is the root.
    pub depth: u8,
    /// Kind of node.
    pub node: String,
    /// Page that is read.
    pub page: u64,
    /// Entries or children.
    pub entries: u64,
    /// How the next node was found.
    pub detail: String,
}

impl IndexPicture {
    /// The page; `command` is what made it.
    #[must_use]
    pub fn to_html(&self, command: &str) -> String {
        Page::new(&self.name)
            .summary(&format!(
                "{} index of {} -> {}: {}, at most {} from the root to an entry.",
                self.kind,
                self.key_type,
                self.value_type,
                match self.entries {
                    1 => "1 entry".to_owned(),
                    entries => format!("{} entries", grouped(entries)),
                },
                counted(u64::from(self.height), "page")
            ))
            .command(command)
            .fact("entries", &grouped(self.entries))
            .fact("file", &bytes(self.file_bytes as f64))
            .fact("height", &format!("{} (mean {:.2})", self.height, self.mean_height))
            .fact("leaf fill", &percent(self.fill()))
            .fact("inner pages", &grouped(self.inner_pages))
            .section("The path of a lookup", |section| self.path(section))
            .section("Nodes by depth", |section| self.depths(section))
            .section("What the file is made of", |section| self.made_of(section))
            .to_html()
    }

    /// Share of the leaves' pages that entries take.
    fn fill(&self) -> f64 {
        let used = self.entries as f64 * self.entry_bytes as f64;
        (used / (self.leaf_pages.max(1) as f64 * self.page_bytes.max(1) as f64)).min(1.0)
    }

    fn path(&self, section: Section) -> Section {
        if self.path.is_empty() {
            return section.text("The index has no entries.");
        }
        let node = self.path.iter().rev().fold(None, |below: Option<TreeNode>, visit| {
            let node = TreeNode::new([
                format!("{}, page {}", visit.node, visit.page),
                format!("{} entries", grouped(visit.entries)),
                visit.detail.clone(),
            ]);
            Some(match below {
                Some(below) => node.input(below),
                None => node,
            })
        });
        let mut pages: Vec<u64> = self.path.iter().map(|visit| visit.page).collect();
        pages.dedup();
        let times = Profile::names().filter_map(|name| Profile::named(name).ok()).map(|profile| {
            let page_us = profile.time_us(self.page_bytes);
            let (cold, warm) = (time_us(page_us * pages.len() as f64), time_us(page_us));
            [profile.name().to_owned(), cold, warm]
        });
        let headers = ["storage", "with nothing in memory", "with all but the leaf in memory"];
        let times = times.fold(DataTable::new(headers).caption("Time of the reads"), DataTable::row);
        let mut visits = DataTable::new(["node", "page", "entries", "decision"]).caption("The nodes visited");
        for visit in &self.path {
            let name = format!("{} {}", visit.depth, visit.node);
            visits.push([name, visit.page.to_string(), grouped(visit.entries), visit.detail.clone()]);
        }
        let section = section.text(&format!(
            "A lookup of key {} reads {} of {}, from the root to the leaf. The upper ones are few and stay in \
            memory when they are used often.",
            self.key,
            counted(pages.len() as u64, "page"),
            bytes(self.page_bytes as f64)
        ));
        let tree = Tree::new("From the root to the leaf", node.unwrap_or_default())
            .description("The nodes that a lookup visits, and what each decides");
        section.figure(Figure::of_svg("Each box is one page.", &tree).table(visits)).table(&times)
    }

    fn depths(&self, section: Section) -> Section {
        let mut table = DataTable::new(["depth", "nodes", "pages", "entries or children", "fan-out"]);
        let mut chart = BarChart::new("Mean fan-out", Unit::Count)
            .description("Children of an inner node, and entries of a leaf, by depth");
        for (depth, level) in self.levels.iter().enumerate() {
            let name = if depth == 0 { "root".to_owned() } else { format!("depth {depth}") };
            let fan_out = level.entries as f64 / level.nodes.max(1) as f64;
            chart = chart.row(&name, &[fan_out]);
            let counts = [level.nodes, level.pages, level.entries].map(grouped);
            table.push(std::iter::once(name).chain(counts).chain([count(fan_out)]));
        }
        let caption = "The more children a node has, the fewer levels there are. The last depth holds the entries.";
        section.figure(Figure::of_svg(caption, &chart).table(table))
    }

    fn made_of(&self, section: Section) -> Section {
        let pages = [self.leaf_pages, self.inner_pages, self.free_pages].map(|pages| pages * self.page_bytes);
        let [leaves, inner, free] = pages;
        let rest = self.file_bytes.saturating_sub(leaves + inner + free + self.log_bytes);
        let parts =
            [("leaves", leaves), ("inner nodes", inner), ("free pages", free), ("log", self.log_bytes), ("rest", rest)];
        let sizes: Vec<f64> = parts.iter().map(|part| part.1 as f64).collect();
        let chart = BarChart::new("Bytes by part", Unit::Bytes)
            .description("Each part of the file as a share of its length")
            .parts(parts.iter().map(|part| part.0))
            .row("all", &sizes)
            .row("without leaves", &[&[0.0], &sizes[1..]].concat())
            .relative();
        let mut table = DataTable::new(["part", "bytes"]);
        parts.iter().for_each(|(name, size)| table.push([(*name).to_owned(), grouped(*size)]));
        self.details.iter().for_each(|(name, number)| table.push([name.clone(), grouped(*number)]));
        let caption = "Each bar is drawn over the full width. The rest belongs to no node.";
        section.figure(Figure::of_svg(caption, &chart).table(table)).terms(&TERMS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_numbers_of_the_picture_and_hostile_names_are_escaped() {
        let hostile = "</script><script>alert(1)</script>";
        let picture = IndexPicture {
            name: hostile.to_owned(),
            key: hostile.to_owned(),
            kind: "ogive".to_owned(),
            entries: 1_234_567,
            entry_bytes: 16,
            page_bytes: 4096,
            leaf_pages: 6_000,
            inner_pages: 17,
            file_bytes: 25_000_000,
            height: 3,
            levels: vec![
                IndexLevel { nodes: 1, pages: 1, entries: 16 },
                IndexLevel { nodes: 16, pages: 16, entries: 6_000 },
            ],
            path: vec![IndexVisit {
                node: hostile.to_owned(),
                page: 77,
                detail: hostile.to_owned(),
                ..IndexVisit::default()
            }],
            ..IndexPicture::default()
        };
        let html = picture.to_html("c");
        for expected in ["1,234,567", "page 77", "80.4 %", "24,576,000", "<td class=\"number\"><bdi>375</bdi>"] {
            assert!(html.contains(expected), "{expected}");
        }
        assert!(!html.contains("<script>alert") && html.contains("&lt;script&gt;"));
    }
}
