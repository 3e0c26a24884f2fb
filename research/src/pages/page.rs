//! One page of experiments: the machine, and for each experiment what the paper says, pictures, numbers and data.

use super::Run;
use super::row::{RunRow, shown};
use crate::experiments::experiments;
use crate::paper::{claims_of, papers};
use ogive_report::{DataTable, PAGE_BYTES_MAX, Page, Section};
use std::fmt::Write;

/// Most rows of the table of an experiment without pictures.
const ROWS_MAX: usize = 200;

/// A page of all experiments of these runs; `command` is what made it.
#[must_use]
pub fn page(runs: &[Run], command: &str) -> String {
    // Data take the room that pictures and tables leave; a page with links has more bytes than the data by a third.
    let left_bytes = PAGE_BYTES_MAX.saturating_sub(filled(runs, command, 0).len()) / 4 * 3;
    filled(runs, command, left_bytes)
}

/// The page with this many bytes of data, about.
fn filled(runs: &[Run], command: &str, mut left_bytes: usize) -> String {
    let names: Vec<String> = runs.iter().flat_map(Run::experiments).collect();
    let page = Page::new(&title(&names)).summary(&summary(&names)).command(command);
    let all: Vec<&Run> = runs.iter().collect();
    let mut page = facts(page, &all);
    for (run, experiment) in in_order(runs) {
        page = page.section(&experiment, |section| self::experiment(section, run, &experiment, &mut left_bytes));
    }
    page.section("The machine", |section| machines(section, &all)).to_html()
}

/// Adds what the first run says of its machine.
pub(crate) fn facts(mut page: Page, runs: &[&Run]) -> Page {
    let Some(machine) = runs.iter().find_map(|run| run.machine()) else { return page };
    for (name, field) in [("processor", "cpu"), ("cores", "cores"), ("system", "os"), ("version", "version")] {
        let value = machine.text(field);
        page = if value.is_empty() { page } else { page.fact(name, &value) };
    }
    let memory = machine.number("memory_bytes").map(ogive_report::format::bytes);
    memory.iter().fold(page, |page, memory| page.fact("memory", memory))
}

/// Each experiment with its run, in the order of `ogive-research list`; unknown ones last.
fn in_order(runs: &[Run]) -> Vec<(&Run, String)> {
    let mut all: Vec<(&Run, String)> =
        runs.iter().flat_map(|run| run.experiments().into_iter().map(move |experiment| (run, experiment))).collect();
    let place = |name: &str| experiments().iter().position(|known| known.name == name).unwrap_or(usize::MAX);
    all.sort_by_key(|(_, experiment)| place(experiment));
    all
}

fn title(names: &[String]) -> String {
    let is_of = |paper: &str| names.iter().all(|name| name.split('/').next() == Some(paper));
    match (names, papers().iter().find(|paper| is_of(paper.family))) {
        ([], _) => "No experiments".to_owned(),
        (_, Some(paper)) => format!("{}: experiments", paper.title),
        _ => "Experiments".to_owned(),
    }
}

fn summary(names: &[String]) -> String {
    let is_run = |family: &str| names.iter().any(|name| name.split('/').next() == Some(family));
    let papers: Vec<&str> = papers().iter().filter(|paper| is_run(paper.family)).map(|paper| paper.title).collect();
    let of = if papers.is_empty() { String::new() } else { format!(" of {}", papers.join(", ")) };
    format!(
        "Experiments{of}, run with Ogive. Point at a mark for its numbers. Filled marks are ours; hollow ones are \
        figures of the papers, or of their authors' code."
    )
}

fn experiment(section: Section, run: &Run, experiment: &str, left_bytes: &mut usize) -> Section {
    let about = experiments().iter().find(|known| known.name == experiment).map_or("", |known| known.about);
    let mut section = if about.is_empty() { section } else { section.text(&sentence(about)) };
    for (place, claim) in claims_of(experiment) {
        section = section.note(&format!("{place}: {claim}"));
    }
    section = results_of(section, run, experiment);
    let command = run.command();
    if !command.is_empty() {
        section = section.preformatted("Command", &command);
    }
    let json = json_lines(&run.rows_of(experiment));
    let file = format!("{}.json", experiment.replace('/', "-"));
    match left_bytes.checked_sub(json.len()) {
        Some(left) => {
            *left_bytes = left;
            section.download(&file, &json)
        }
        None if run.file.is_empty() => section.note("The data are too large for the page; print them with --json."),
        None => section.note(&format!("The data are too large for the page; they are in {}.", run.file)),
    }
}

/// Adds the pictures of an experiment, or a table of its records if it has none.
pub(crate) fn results_of(mut section: Section, run: &Run, experiment: &str) -> Section {
    let rows = run.rows_of(experiment);
    let pictures = run.pictures_of(experiment);
    section = pictures.iter().fold(section, |section, picture| section.figure(picture.to_figure()));
    if pictures.is_empty() {
        section = section.table(&table(experiment, &rows));
        if rows.len() > ROWS_MAX {
            section = section.note(&format!("The first {ROWS_MAX} of {} records.", rows.len()));
        }
    }
    let refused = rows.iter().filter(|row| !row.text("refused").is_empty()).count();
    if refused > 0 {
        section = section.note(&format!("{refused} cases could not be run; the data say why."));
    }
    section
}

/// With a capital letter and a full stop.
fn sentence(about: &str) -> String {
    let mut letters = about.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// All fields of the records.
fn table(experiment: &str, rows: &[RunRow]) -> DataTable {
    let mut columns: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(RunRow::fields) {
        if name != "experiment" && !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    let mut table = DataTable::new(columns.iter().map(|column| column.replace('_', " "))).caption(experiment);
    for row in rows.iter().take(ROWS_MAX) {
        table.push(columns.iter().map(|column| row.text(column)));
    }
    table
}

/// The records as they were printed, one a line.
fn json_lines(rows: &[RunRow]) -> String {
    let mut lines = String::new();
    for row in rows {
        let fields =
            row.fields().iter().map(|(name, value)| format!("{}:{value}", serde_json::Value::from(name.as_str())));
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{{{}}}", fields.collect::<Vec<_>>().join(","));
    }
    lines
}

/// What each run says of its machine.
pub(crate) fn machines(section: Section, runs: &[&Run]) -> Section {
    let mut table = DataTable::new(["run", "machine"]).caption("Machines");
    for (number, run) in runs.iter().enumerate() {
        let fields = run.machine().map(RunRow::fields).unwrap_or_default();
        let fields = fields.iter().filter(|(name, _)| !matches!(name.as_str(), "experiment" | "command"));
        let facts: Vec<String> =
            fields.map(|(name, value)| format!("{} {}", name.replace('_', " "), shown(value))).collect();
        let name = if run.file.is_empty() { format!("run {}", number + 1) } else { run.file.clone() };
        table.push([name, facts.join("; ")]);
    }
    section.table(&table)
}
