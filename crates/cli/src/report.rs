//! Descriptions of tables: contents, sizes of their parts, and the cost of a lookup.

use crate::failure::Result;
use crate::output::Output;
use crate::values::size::{counted, grouped, human_bytes, human_us};
use crate::values::table_text::plain_table;
use ogive::io::Profile;
use ogive::table::{StatedObjective, TableReport};

/// Lines on a table: its size, its types, the cost of a lookup, and the objective of the index, if it is another.
pub(crate) fn summary(name: &str, report: &TableReport) -> Vec<String> {
    let mut lines = vec![
        format!(
            "{name}: {} in {} of {}; data {}, index {} ({:.2} B per block)",
            counted(report.records, "record"),
            counted(report.blocks, "block"),
            human_bytes(report.block_size_bytes),
            human_bytes(report.data_bytes),
            human_bytes(report.index_bytes),
            index_bytes_a_block(report),
        ),
        format!("types: {}", types(report)),
        format!("modelled cold lookup: {}", modelled(report)),
    ];
    lines.extend(report.objective.as_ref().map(|stated| designed_for(stated, &report.tuned_for)));
    lines
}

/// What an index was designed for, and its value on the storage that it was tuned for.
fn designed_for(stated: &StatedObjective, storage: &str) -> String {
    let StatedObjective { objective, opening_hit_rate, modelled_us } = stated;
    let place = match *opening_hit_rate {
        0.0 => String::new(),
        1.0 => " in an open table".to_owned(),
        share => format!(" that finds the table open in {:.4} of the cases", share),
    };
    format!("designed for: {objective} of a lookup{place}, {} on {storage}", human_us(*modelled_us))
}

/// The types of keys and values.
pub(crate) fn types(report: &TableReport) -> String {
    format!("{} -> {}", report.key_type, report.value_type)
}

/// Stored bytes of the index for each block of data.
pub(crate) fn index_bytes_a_block(report: &TableReport) -> f64 {
    report.index_bytes as f64 / report.blocks.max(1) as f64
}

/// The layers of the index, root first, in a few words.
pub(crate) fn layers_in_words(report: &TableReport) -> String {
    if report.layers.is_empty() {
        return "none; all data are read".into();
    }
    let layers = report.layers.iter().rev();
    layers.map(|layer| format!("{} of {}", layer.kind, human_bytes(layer.size_bytes))).collect::<Vec<_>>().join(", ")
}

/// The modelled time of a lookup on each named profile.
fn modelled(report: &TableReport) -> String {
    let times: Vec<String> = times(report).map(|(name, time_us)| format!("{name} {}", human_us(time_us))).collect();
    times.join(", ")
}

/// The modelled times, fastest storage first.
fn times(report: &TableReport) -> impl Iterator<Item = (&'static str, f64)> {
    Profile::names().filter_map(|name| Some((name, *report.modelled_us.get(name)?)))
}

/// Prints everything that is known of a table without reading its data.
pub(crate) fn print(name: &str, report: &TableReport, output: &mut Output) -> Result<()> {
    output.line(format_args!("{name}: {} of {}", counted(report.records, "record"), types(report)))?;
    output.line("")?;
    let share = |size_bytes: u64| format!("{:.2}", size_bytes as f64 / report.blocks.max(1) as f64);
    let part = |name: &str, size_bytes: u64| vec![name.to_owned(), grouped(size_bytes), share(size_bytes)];
    let parts = [
        part("data", report.data_bytes),
        part("index", report.index_bytes),
        part("locations", report.location_bytes),
        part("counts", report.count_bytes),
        part("filter", report.filter_bytes),
        part("metadata", report.metadata_bytes),
        part("resident when open", report.resident_bytes),
    ];
    output.line(plain_table(&["part", "bytes", "per block"], parts))?;
    output.line(format_args!(
        "\n{} of {}; opening reads {}; the index is tuned for {}",
        counted(report.blocks, "block"),
        human_bytes(report.block_size_bytes),
        human_bytes(report.opening_bytes()),
        report.tuned_for
    ))?;
    output.line("")?;
    print_layers(report, output)?;
    output.line("")?;
    let times = times(report).map(|(profile, time_us)| vec![profile.to_owned(), human_us(time_us)]);
    output.line(plain_table(&["storage", "modelled cold lookup"], times))
}

fn print_layers(report: &TableReport, output: &mut Output) -> Result<()> {
    let last = report.layers.len();
    // The root is read first, so it stands on top.
    let rows = report.layers.iter().enumerate().rev().map(|(index, layer)| {
        let name = if index + 1 == last { "root".to_owned() } else { format!("layer {}", index + 1) };
        vec![
            name,
            layer.kind.clone(),
            grouped(layer.nodes),
            grouped(layer.size_bytes),
            grouped(layer.mean_read_bytes.round() as u64),
            grouped(layer.max_read_bytes),
        ]
    });
    if last > 0 {
        output.line(plain_table(&["layer", "kind", "nodes", "bytes", "mean read", "largest read"], rows))?;
    } else {
        output.line("no index: a lookup reads all data")?;
    }
    let reads = &report.reads_per_get;
    output.line(format_args!("a lookup takes {} from cold, {} when open", counted(reads.cold, "read"), reads.open))
}
