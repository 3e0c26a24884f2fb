//! The page of `ogive tune`: designs compared.

use crate::data_table::DataTable;
use crate::figure::Figure;
use crate::format::{bytes, grouped, time_us};
use crate::notebook::{DesignCosts, Designs};
use crate::page::Page;
use crate::svg::{BarChart, Unit};
use ogive::TableReport;
use ogive::io::Profile;

/// Designs that were built for the same records.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The input.
    pub input: String,
    /// The storage that they were tuned for.
    pub profile: &'a Profile,
    /// Name and report of each design.
    pub rows: Vec<(&'a str, &'a TableReport)>,
    /// Designs that do not support the keys, and why.
    pub left_out: Vec<(&'a str, &'a str)>,
}

impl Comparison<'_> {
    /// The costs on the storage of the comparison.
    #[must_use]
    pub fn designs(&self) -> Designs {
        let rows = self.rows.iter().map(|(name, report)| DesignCosts::of(name, report, self.profile)).collect();
        Designs { profile: self.profile.name().to_owned(), rows }
    }

    /// The page; `command` is what made it.
    #[must_use]
    pub fn to_html(&self, command: &str) -> String {
        let designs = self.designs();
        let records = self.rows.first().map_or(0, |row| row.1.records);
        let best = designs.rows.iter().min_by(|one, other| one.total_us().total_cmp(&other.total_us()));
        let page = Page::new(&self.input)
            .summary(&format!("Index designs for {} records on {}.", grouped(records), self.profile.name()))
            .command(command);
        let page = match best {
            Some(best) => page.fact("fastest", &best.name).fact("cold lookup", &time_us(best.total_us())),
            None => page,
        };
        page.section("Time of a cold lookup", |section| {
            let section = section.text(
                "Modelled time of a lookup in a table that is not open: the opening read, the reads of layers below \
                the \
                root, and the read of data. The tuned design weighs them for this storage.",
            );
            let caption = "Each bar is a design; its length is the time of a cold lookup.";
            let section = section.figure(Figure::of_svg(caption, &designs.times()).table(designs.table()));
            let slow: Vec<String> = designs.rows.iter().filter(|row| designs.is_slow(row)).map(too_slow).collect();
            if slow.is_empty() { section } else { section.note(&format!("Not drawn: {}.", slow.join(", "))) }
        })
        .section("Size of the index", |section| {
            let chart = BarChart::new("Bytes of the index", Unit::Bytes).description("Size by design");
            let chart =
                self.rows.iter().fold(chart, |chart, (name, report)| chart.row(name, &[report.index_bytes as f64]));
            section.figure(Figure::of_svg("A smaller index opens faster and takes less memory.", &chart))
        })
        .section("Layers", |section| {
            let section = section.table(&self.layers());
            self.left_out.iter().fold(section, |section, (name, reason)| section.note(&format!("{name}: {reason}")))
        })
        .to_html()
    }

    fn layers(&self) -> DataTable {
        let headers = ["design", "layers, root first", "block", "blocks", "mean read of data"];
        let mut table = DataTable::new(headers).caption("What each design is made of");
        for (name, report) in &self.rows {
            let layers =
                report.layers.iter().rev().map(|layer| format!("{} of {}", layer.kind, bytes(layer.size_bytes as f64)));
            let layers = layers.collect::<Vec<_>>().join(", ");
            let layers = if layers.is_empty() { "none; all data are read".to_owned() } else { layers };
            table.push([
                (*name).to_owned(),
                layers,
                bytes(report.block_size_bytes as f64),
                grouped(report.blocks),
                bytes(report.data_mean_read_bytes),
            ]);
        }
        table
    }
}

fn too_slow(row: &DesignCosts) -> String {
    format!("{} ({})", row.name, time_us(row.total_us()))
}
