//! Reports on a join: its plan and its result.

use super::arguments::JoinArguments;
use crate::values::size::{counted, grouped, human_bytes, human_us};
use crate::values::table_text::plain_table;
use ogive::join::{JoinAlternative, JoinCost, JoinExplanation, JoinRelationSummary, JoinReport, JoinSide};

/// The chosen method and the alternatives, with their predicted costs.
pub(super) fn choice(explanation: &JoinExplanation) -> Vec<String> {
    let mut lines = vec![
        side("left", &explanation.left),
        side("right", &explanation.right),
        format!(
            "{} {}{}, within {} on {} ({}); requests of {}, {} at a time",
            if explanation.is_asked_for { "requested:" } else { "chosen:" },
            explanation.method,
            role(explanation.inner),
            human_bytes(explanation.memory_bytes),
            explanation.profile,
            counted(explanation.threads as u64, "thread"),
            human_bytes(explanation.reads.request_bytes),
            explanation.reads.at_once,
        ),
        format!(
            "gaps of up to {} are bridged; {:.0} % of the blocks are read in ranges, the others one by one",
            human_bytes(explanation.reads.gap_bytes),
            explanation.reads.range_share * 100.0
        ),
        String::new(),
    ];
    let headings = ["method", "probes", "device", "CPU", "sum", "predicted", "reads", "bytes", "spilled"];
    lines.push(plain_table(&headings, explanation.alternatives.iter().filter_map(row)));
    lines
        .push("methods are ranked by the sum; reads that pass while rows are joined shorten the predicted time".into());
    lines.extend(explanation.alternatives.iter().filter_map(refusal));
    lines
}

fn side(word: &str, summary: &JoinRelationSummary) -> String {
    format!(
        "{word}: {}, about {} in {}, {}{}{}",
        summary.name,
        counted(summary.rows as u64, "row"),
        human_bytes(summary.bytes as u64),
        summary.text.map_or_else(String::new, |text| {
            let fields = counted(text.fields.into(), "field");
            format!("parsed from {} of text with {fields} a row, ", human_bytes(text.bytes))
        }),
        if summary.is_sorted { "sorted" } else { "unsorted" },
        if summary.has_index { ", with an index" } else { "" }
    )
}

fn role(inner: Option<JoinSide>) -> String {
    inner.map_or_else(String::new, |inner| format!(", probing {}", word(inner)))
}

fn word(side: JoinSide) -> &'static str {
    match side {
        JoinSide::Left => "left",
        JoinSide::Right => "right",
    }
}

fn row(alternative: &JoinAlternative) -> Option<Vec<String>> {
    let cost = alternative.predicted?;
    let JoinCost { total_us, device_us, cpu_us, requests, bytes_read, bytes_spilled, .. } = cost;
    Some(vec![
        alternative.method.clone(),
        alternative.inner.map_or("", word).to_owned(),
        human_us(device_us),
        human_us(cpu_us),
        human_us(total_us),
        human_us(cost.elapsed_us()),
        grouped(requests.ceil() as u64),
        human_bytes(bytes_read as u64),
        human_bytes(bytes_spilled as u64),
    ])
}

fn refusal(alternative: &JoinAlternative) -> Option<String> {
    alternative.refused.as_ref().map(|reason| format!("{} is not possible: {reason}", alternative.method))
}

/// One line on the result.
pub(super) fn summary(arguments: &JoinArguments, report: &JoinReport) -> String {
    let target =
        if arguments.is_piped() { "standard output".to_owned() } else { arguments.output.display().to_string() };
    format!("{target}: {} by {} in {:.2} s", counted(report.rows, "row"), report.method, report.seconds.total())
}

/// Actual and predicted costs.
pub(super) fn outcome(explanation: &JoinExplanation, report: &JoinReport) -> Vec<String> {
    let seconds = &report.seconds;
    let predicted = &explanation.predicted;
    let mut lines = vec![
        format!(
            "predicted {}, took {}: planning {}, loading {}, reading {}, joining {}, writing {}",
            human_us(predicted.elapsed_us()),
            human_us(seconds.total() * 1e6),
            human_us(seconds.planning * 1e6),
            human_us(seconds.loading * 1e6),
            human_us(seconds.reading * 1e6),
            human_us(seconds.joining * 1e6),
            human_us(seconds.writing * 1e6),
        ),
        format!(
            "predicted {} of {}, made {} of {}; peak memory {}",
            counted(predicted.requests.ceil() as u64, "read"),
            human_bytes(predicted.bytes_read as u64),
            grouped(report.requests),
            human_bytes(report.bytes_read),
            human_bytes(report.peak_memory_bytes),
        ),
    ];
    if predicted.bytes_parsed + predicted.rows_formatted > 0.0 {
        lines.push(format!(
            "predicted {} of processor time for these and for parsing {} of text and formatting {}",
            human_us(predicted.cpu_us),
            human_bytes(predicted.bytes_parsed as u64),
            counted(predicted.rows_formatted as u64, "row"),
        ));
    }
    lines
}
