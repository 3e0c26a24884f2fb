//! The model as tables in Markdown.

use super::count::{CountedQuery, Counts, SHAPES};
use super::predict::{Limits, MESSAGE_BYTES_MAX, Prediction, Target};
use std::io::{self, Write};

/// A number with a unit, three digits of it.
fn scaled(number: f64, units: &[(f64, &str)]) -> String {
    let (size, unit) = units.iter().find(|(size, _)| number >= *size).or(units.last()).copied().unwrap_or((1.0, ""));
    let shown = number / size;
    let digits = if shown >= 100.0 || (shown - shown.round()).abs() < 1e-9 {
        0
    } else if shown >= 10.0 {
        1
    } else {
        2
    };
    format!("{shown:.digits$}{unit}")
}

fn bytes(number: f64) -> String {
    scaled(number, &[(1e15, " PB"), (1e12, " TB"), (1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B")])
}

fn count(number: f64) -> String {
    scaled(number, &[(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, "")])
}

fn seconds(number: f64) -> String {
    scaled(number, &[(3_600.0, " h"), (60.0, " min"), (1.0, " s"), (1e-3, " ms"), (1e-6, " us")])
}

/// The counts, each with the shape of its cluster.
pub(super) fn counted(counts: &Counts, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "| query | requests | bytes | at once |{}", shapes(" to tasks |"))?;
    writeln!(output, "|---|---:|---:|---:|{}", shapes_rule())?;
    for query in &counts.queries {
        let reads = query.reads();
        write!(
            output,
            "| {} | {} | {} | {:.1} |",
            query.name,
            count(reads.requests),
            bytes(reads.bytes),
            query.objects.at_once()
        )?;
        for of in &query.clusters {
            write!(output, " {} in {} |", bytes(of.task_bytes as f64), of.tasks)?;
        }
        writeln!(output)?;
    }
    writeln!(output, "\n| query | stages | exchanged |{}", shapes(" parts |"))?;
    writeln!(output, "|---|---:|---:|{}", shapes_rule())?;
    counts.queries.iter().try_for_each(|query| exchanged(query, output))?;
    let (start, per_partition) = counts.planning;
    writeln!(
        output,
        "\n{} rows of {:.1} bytes. Opening a table: {} requests, {}. Planning a scan: {start:.1} requests and \
         {per_partition:.2} for each partition. In each task: {:.0} bytes for each table. Requests, bytes and requests \
         at once: scans of one partition over the emulated object store.",
        counts.rows,
        counts.row_bytes,
        counts.opening.requests(),
        bytes(counts.opening.bytes as f64),
        counts.table_bytes_in_task
    )
}

fn shapes(text: &str) -> String {
    SHAPES.iter().fold(String::new(), |line, shape| line + &format!(" {} x {}{}", shape.executors, shape.vcores, text))
}

fn shapes_rule() -> String {
    "---:|".repeat(SHAPES.len())
}

fn exchanged(query: &CountedQuery, output: &mut dyn Write) -> io::Result<()> {
    let last = query.last();
    write!(output, "| {} | {} | {} |", query.name, last.stages, bytes(last.shuffled_bytes as f64))?;
    for of in &query.clusters {
        write!(output, " {} |", of.shuffled_parts)?;
    }
    writeln!(output)
}

/// What each query would need.
pub(super) fn predicted(rows: &[(&str, Prediction)], target: &Target, output: &mut dyn Write) -> io::Result<()> {
    let machines = &target.machines;
    writeln!(
        output,
        "{} in {} tables, {} executors of {} vcores, links of {} Gbit/s, storage as the profile {}:\n",
        bytes(target.bytes),
        target.tables(),
        machines.executors,
        machines.vcores,
        machines.gbit_per_s,
        machines.profile.name()
    )?;
    writeln!(
        output,
        "| query | tasks | requests | read | storage | exchanged | exchange | parts | to tasks | a task | statuses | \
         scheduler's link | links together |"
    )?;
    writeln!(output, "|---{}|", "|---:".repeat(12))?;
    for (name, found) in rows {
        let cells = [
            count(found.tasks),
            count(found.reads.requests),
            bytes(found.reads.bytes),
            seconds(found.storage_s),
            bytes(found.exchanged_bytes),
            seconds(found.exchange_s),
            count(found.exchanged_parts),
            bytes(found.task_bytes),
            bytes(found.bytes_of_task()),
            bytes(found.status_bytes),
            seconds(found.scheduler_s),
            seconds(found.links_s()),
        ];
        writeln!(output, "| {name} | {} |", cells.join(" | "))?;
    }
    Ok(())
}

/// What breaks first.
pub(super) fn limits(found: &Limits, target: &Target, output: &mut dyn Write) -> io::Result<()> {
    let rows = [
        (
            "opening all tables, one after the other, in each process",
            format!("{}, {}", seconds(found.opening_s), bytes(found.opening_bytes)),
        ),
        ("memory of the open tables of an executor, at 64 MiB each", bytes(found.tables_memory_bytes)),
        (
            "requests of the planner for a scan, one after the other",
            format!("{}, {}", count(found.planning_requests), seconds(found.planning_s)),
        ),
        (
            "tables whose names fill a message of a task",
            format!("{} of {}, at {}", count(found.tables), count(found.tables_max), bytes(MESSAGE_BYTES_MAX)),
        ),
        ("parts of an exchange of all partitions", count(target.machines.partitions() * target.machines.executors)),
    ];
    writeln!(output, "\n| limit | at this size |\n|---|---:|")?;
    rows.iter().try_for_each(|(name, value)| writeln!(output, "| {name} | {value} |"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(bytes(100e12), "100 TB");
        assert_eq!(bytes(1_234.0), "1.23 kB");
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(count(1_563.0), "1.56 k");
        assert_eq!(count(64.0), "64");
        assert_eq!(count(3.6e9), "3.60 G");
        assert_eq!(seconds(0.04), "40 ms");
        assert_eq!(seconds(90.0), "1.50 min");
    }
}
