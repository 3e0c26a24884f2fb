//! Pictures for notebooks: SVG, or HTML fragments with a table beside the picture. They carry their own style and no
//! script.
//!
//! ```
//! use ogive_report::notebook::{ReadTrace, TracedRead};
//!
//! let reads = vec![TracedRead { what: "opening".to_owned(), offset: 61_440, length: 4_096 }];
//! let trace = ReadTrace { title: "key 42".to_owned(), file_bytes: 65_536, reads };
//! assert!(trace.to_svg().starts_with("<svg") && trace.to_html().contains("<table>"));
//! ```

use crate::DataTable;
use crate::format::{bytes, grouped, time_us};
use crate::svg::{Axis, BarChart, Drawing, Place, RangeChart, Tree, TreeNode, Unit};
use ogive::TableReport;
use ogive::io::Profile;
use ogive::join::{JoinCost, JoinExplanation, JoinRelationSummary, JoinSide};
use serde::{Deserialize, Serialize};

/// Storages whose times a read trace states.
const TRACE_PROFILES: [&str; 4] = ["nvme", "ssd", "nfs", "s3"];

/// A picture and its table as a fragment of HTML.
fn fragment(svg: &str, table: &DataTable) -> String {
    format!("<figure style=\"margin:0\">{svg}{}</figure>", table.to_html())
}

/// A read of a lookup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedRead {
    /// What is read: opening, layer 1, data.
    pub what: String,
    /// Where in the file.
    pub offset: u64,
    /// Bytes read.
    pub length: u64,
}

/// The reads of a lookup in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadTrace {
    /// Title, such as the key.
    pub title: String,
    /// Length of the file.
    pub file_bytes: u64,
    /// The reads in order.
    pub reads: Vec<TracedRead>,
}

impl ReadTrace {
    /// The file as a strip, with the ranges that were read.
    #[must_use]
    pub fn to_svg(&self) -> String {
        self.drawing().to_svg(Place::File)
    }

    /// The strip, and the time of each read on nvme, ssd, nfs and s3.
    #[must_use]
    pub fn to_html(&self) -> String {
        fragment(&self.to_svg(), &self.table())
    }

    fn drawing(&self) -> RangeChart {
        let times =
            self.times().into_iter().map(|(name, times)| format!("{name} {}", time_us(times.iter().sum::<f64>())));
        let times = times.collect::<Vec<_>>().join(", ");
        let length = self.file_bytes as f64;
        let title = format!("{}: {} reads; one after the other {times}", self.title, self.reads.len());
        let chart = RangeChart::new(&title, Axis::linear("place in the file", Unit::Bytes), length)
            .description("The ranges of the file that a lookup reads");
        self.reads.iter().enumerate().fold(chart, |chart, (number, read)| {
            let row = format!("{}. {}, {}", number + 1, read.what, bytes(read.length as f64));
            let hover = format!("{}: {} bytes at {}", read.what, grouped(read.length), grouped(read.offset));
            let from = read.offset as f64;
            chart.range(&row, (from, from + read.length as f64), number, &hover)
        })
    }

    /// For each storage, the time of each read.
    fn times(&self) -> Vec<(&'static str, Vec<f64>)> {
        let profiles = TRACE_PROFILES.iter().filter_map(|name| Some((*name, Profile::named(name).ok()?)));
        let of = |profile: &Profile| self.reads.iter().map(|read| profile.time_us(read.length)).collect();
        profiles.map(|(name, profile)| (name, of(&profile))).collect()
    }

    fn table(&self) -> DataTable {
        let times = self.times();
        let mut table =
            DataTable::new(["read", "offset", "bytes"].into_iter().chain(times.iter().map(|(name, _)| *name)));
        for (number, read) in self.reads.iter().enumerate() {
            let shown = [read.what.clone(), grouped(read.offset), grouped(read.length)];
            table.push(shown.into_iter().chain(times.iter().map(|(_, times)| time_us(times[number]))));
        }
        let all: u64 = self.reads.iter().map(|read| read.length).sum();
        let sums = times.iter().map(|(_, times)| time_us(times.iter().sum()));
        table.row(["sum".to_owned(), String::new(), grouped(all)].into_iter().chain(sums))
    }
}

/// The layers of a table, from the root to the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Layers<'a>(pub &'a TableReport);

impl Layers<'_> {
    /// A box for each layer.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let report = self.0;
        let data = TreeNode::new([
            format!("data: {} records", grouped(report.records)),
            format!("{} blocks, {}", grouped(report.blocks), bytes(report.data_bytes as f64)),
            format!("a lookup reads {}", bytes(report.data_mean_read_bytes)),
        ]);
        let node = report.layers.iter().enumerate().fold(data, |below, (at, layer)| {
            let is_root = at + 1 == report.layers.len();
            let name = if is_root { "root".to_owned() } else { format!("layer {}", at + 1) };
            let read = if is_root {
                "in memory".to_owned()
            } else {
                format!("a lookup reads {}", bytes(layer.mean_read_bytes))
            };
            let lines = [
                format!("{name}: {}", layer.kind),
                format!("{} nodes, {}", grouped(layer.nodes), bytes(layer.size_bytes as f64)),
                read,
            ];
            TreeNode::new(lines).input(below)
        });
        let title = format!("Index of {}, tuned for {}", bytes(report.index_bytes as f64), report.tuned_for);
        Tree::new(&title, node)
            .description("The layers that a lookup passes, from the root to the data")
            .to_svg(Place::File)
    }
}

/// Time and size of a design.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DesignCosts {
    /// Name, as `--design` takes it.
    pub name: String,
    /// Modelled time of the opening read, in microseconds.
    pub opening_us: f64,
    /// Modelled time of the reads of layers.
    pub layers_us: f64,
    /// Modelled time of the read of data.
    pub data_us: f64,
    /// Bytes of the index.
    pub index_bytes: u64,
    /// Reads of a cold lookup.
    pub reads: u64,
}

/// Designs for one storage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Designs {
    /// Name of the storage profile.
    pub profile: String,
    /// The designs.
    pub rows: Vec<DesignCosts>,
}

impl DesignCosts {
    /// The costs of a table on a storage.
    #[must_use]
    pub fn of(name: &str, report: &TableReport, profile: &Profile) -> Self {
        let cost = report.modelled_cost(profile);
        let (name, index_bytes) = (name.to_owned(), report.index_bytes);
        let reads = report.reads_per_get.cold;
        let data_us = cost.reads_us.first().copied().unwrap_or(0.0);
        let layers_us = cost.reads_us.iter().skip(1).sum();
        Self { name, opening_us: cost.opening_us, layers_us, data_us, index_bytes, reads }
    }

    /// Modelled time of a cold lookup, in microseconds.
    #[must_use]
    pub fn total_us(&self) -> f64 {
        self.opening_us + self.layers_us + self.data_us
    }
}

impl Designs {
    /// A bar for each design: the time of a cold lookup, by read.
    #[must_use]
    pub fn to_svg(&self) -> String {
        self.times().to_svg(Place::File)
    }

    /// The bars and their numbers.
    #[must_use]
    pub fn to_html(&self) -> String {
        fragment(&self.to_svg(), &self.table())
    }

    /// The times, without designs that are so slow that no other could be told from the next.
    pub(crate) fn times(&self) -> BarChart {
        let chart = BarChart::new(&format!("Cold lookup on {}", self.profile), Unit::Micros)
            .description("The modelled time of a cold lookup with each design, by read")
            .parts(["opening", "layers", "data"]);
        let kept = self.rows.iter().filter(|row| !self.is_slow(row));
        kept.fold(chart, |chart, row| chart.row(&row.name, &[row.opening_us, row.layers_us, row.data_us]))
    }

    /// Whether a design takes four times as long as the fastest.
    pub(crate) fn is_slow(&self, row: &DesignCosts) -> bool {
        let fastest = self.rows.iter().map(DesignCosts::total_us).fold(f64::INFINITY, f64::min);
        row.total_us() > fastest * 4.0
    }

    pub(crate) fn table(&self) -> DataTable {
        let mut table = DataTable::new(["design", "cold lookup", "opening", "layers", "data", "reads", "index bytes"]);
        for row in &self.rows {
            let times = [row.total_us(), row.opening_us, row.layers_us, row.data_us].map(time_us);
            let sizes = [row.reads.to_string(), grouped(row.index_bytes)];
            table.push(std::iter::once(row.name.clone()).chain(times).chain(sizes));
        }
        table
    }
}

/// The plan of a join.
#[derive(Clone, Debug)]
pub struct JoinPlan<'a>(pub &'a JoinExplanation);

impl JoinPlan<'_> {
    /// The plan as a tree.
    #[must_use]
    pub fn to_svg(&self) -> String {
        self.tree().to_svg(Place::File)
    }

    /// The tree and the costs of all methods.
    #[must_use]
    pub fn to_html(&self) -> String {
        let costs = self.costs().to_svg(Place::File);
        fragment(&format!("{}{costs}", self.to_svg()), &self.table())
    }

    pub(crate) fn tree(&self) -> Tree {
        let plan = self.0;
        let mut lines = vec![
            format!("{}{}", plan.method, if plan.is_asked_for { " (requested)" } else { "" }),
            format!("predicted {}", time_us(plan.predicted.elapsed_us())),
            format!("{} of {}", reads(plan.predicted.requests), bytes(plan.predicted.bytes_read)),
        ];
        if let Some(actual) = &plan.actual {
            lines.push(format!("took {}", time_us(actual.total_us)));
            lines.push(format!("made {} of {}", reads(actual.requests as f64), bytes(actual.bytes_read as f64)));
            lines.push(format!("{} rows", grouped(actual.rows)));
        }
        lines.push(format!("memory {}, threads: {}", bytes(plan.memory_bytes as f64), plan.threads));
        let side = |side: JoinSide, name: &str, relation: &JoinRelationSummary| {
            let role = match (plan.inner, side) {
                (None, _) => "read in order".to_owned(),
                (Some(inner), side) if inner == side => "inner: looked up, hashed or indexed".to_owned(),
                _ => "outer: read in full".to_owned(),
            };
            let index = if relation.has_index { ", index" } else { "" };
            let order = if relation.is_sorted { "sorted" } else { "unsorted" };
            TreeNode::new([
                format!("{name}: {}", relation.name),
                format!("about {} rows, {}", grouped(relation.rows as u64), bytes(relation.bytes)),
                format!("{order}{index}"),
                role,
            ])
        };
        let left = side(JoinSide::Left, "left", &plan.left);
        let root = TreeNode::new(lines).input(left).input(side(JoinSide::Right, "right", &plan.right));
        Tree::new(&format!("Plan on {}", plan.profile), root).description("The join method and its two inputs")
    }

    /// The costs of the methods that can run, without those that are so slow that no other could be told from the next.
    pub(crate) fn costs(&self) -> BarChart {
        let chart = BarChart::new("Predicted cost of each method", Unit::Micros)
            .description("Device and processor time of each method of joining; the plan takes the least")
            .parts(["device", "processor"]);
        self.methods()
            .filter(|(_, cost)| !self.is_slow(cost))
            .fold(chart, |chart, (name, cost)| chart.row(&name, &[cost.device_us, cost.cpu_us]))
    }

    /// Whether a method costs twenty times as much as the cheapest.
    pub(crate) fn is_slow(&self, cost: &JoinCost) -> bool {
        let least = self.methods().map(|(_, cost)| cost.total_us).fold(f64::INFINITY, f64::min);
        cost.total_us > least * 20.0
    }

    /// Name and cost of each method that can run.
    fn methods(&self) -> impl Iterator<Item = (String, JoinCost)> + '_ {
        self.0.alternatives.iter().filter_map(|alternative| {
            let inner = match alternative.inner {
                Some(JoinSide::Left) => ", probing left",
                Some(JoinSide::Right) => ", probing right",
                None => "",
            };
            Some((format!("{}{inner}", alternative.method), alternative.predicted?))
        })
    }

    pub(crate) fn table(&self) -> DataTable {
        let headers =
            ["method", "cost", "device", "processor", "predicted time", "reads", "bytes read", "bytes spilled"];
        let mut table = DataTable::new(headers);
        for (name, cost) in self.methods() {
            let times = [cost.total_us, cost.device_us, cost.cpu_us, cost.elapsed_us()].map(time_us);
            let sizes = [grouped(cost.requests.ceil() as u64), bytes(cost.bytes_read), bytes(cost.bytes_spilled)];
            table.push(std::iter::once(name).chain(times).chain(sizes));
        }
        table
    }

    /// Why methods cannot run.
    pub(crate) fn refusals(&self) -> Vec<String> {
        let refused = self.0.alternatives.iter().filter_map(|alternative| {
            Some(format!("{} is not possible: {}", alternative.method, alternative.refused.as_ref()?))
        });
        refused.collect()
    }
}

fn reads(count: f64) -> String {
    format!("{} reads", grouped(count.ceil() as u64))
}
