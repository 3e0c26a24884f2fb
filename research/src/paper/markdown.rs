//! The page of a paper in Markdown: the verdicts, then for each figure the command that repeats it.

use super::estimate::duration;
use super::results::{PaperResults, StepResult};
use crate::pages::{Run, shown};

/// Fields of a machine's record that describe the run of a step.
const OF_A_STEP: [&str; 4] = ["experiment", "command", "elapsed_s", "records"];

/// The page of a paper; `command` is what made it.
#[must_use]
pub fn markdown(results: &PaperResults, command: &str) -> String {
    let paper = results.paper;
    let citation = wrapped(&format!("{}.", text(paper.citation)));
    let mut page = format!("# {}: figures and tables\n\n{citation}\n\n", text(paper.title));
    page.push_str(&format!(
        "Scale `{}`: {}.\nOur figures at medium scale, and our deviations, are in `{}`.\n\n```sh\n{command}\n```\n\n",
        results.scale,
        results.counts(),
        paper.document
    ));
    page.push_str("| place | the paper | ours | verdict |\n|---|---|---|---|\n");
    for judged in results.judged() {
        let cells = [judged.item.place, judged.says(), judged.verdict.ours(), &judged.verdict.with_reason()];
        page.push_str(&format!("| {} |\n", cells.map(text).join(" | ")));
    }
    page.push_str(&format!("\nExplanatory, without results: {}.\n\n", paper.explanatory.join(", ")));
    for item in paper.items {
        page.push_str(&format!("## {}: {}\n\n", text(item.place), text(item.shows)));
        results.steps_of(item).iter().for_each(|result| page.push_str(&step(result)));
    }
    page.push_str(&machines(results));
    page
}

/// A text in lines of a readable width.
fn wrapped(text: &str) -> String {
    /// As in the other documents.
    const COLUMNS: usize = 120;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut().filter(|line| line.chars().count() + 1 + word.chars().count() <= COLUMNS) {
            Some(line) => *line = format!("{line} {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// The command of a step, and where its records are.
fn step(result: &StepResult) -> String {
    let told = match &result.run {
        Ok(run) => format!("{} records in `{}`, {}.", run.records().count(), result.file, duration(result.elapsed_s)),
        Err(missing) => format!("{} {}.", result.step.experiment, text(&missing.to_string())),
    };
    let failed: String = result.failures().iter().map(|failure| format!("* Failed: {}\n", text(failure))).collect();
    let failed = if failed.is_empty() { failed } else { format!("{failed}\n") };
    format!("{told}\n\n```sh\n{}\n```\n\n{failed}", result.command)
}

/// What the steps say of their machines: a table for each, with the steps that it ran unless there is only one.
fn machines(results: &PaperResults) -> String {
    let mut machines: Vec<(String, Vec<&str>)> = Vec::new();
    for result in &results.steps {
        let Some(machine) = result.run.as_ref().ok().and_then(Run::machine) else { continue };
        let facts = machine.fields().iter().filter(|(name, _)| !OF_A_STEP.contains(&name.as_str()));
        let row =
            |(name, value): &(String, _)| format!("| {} | {} |\n", text(&name.replace('_', " ")), text(&shown(value)));
        let facts: String = facts.map(row).collect();
        match machines.iter_mut().find(|(known, _)| *known == facts) {
            Some((_, steps)) => steps.push(result.step.experiment),
            None => machines.push((facts, vec![result.step.experiment])),
        }
    }
    let title = if machines.len() > 1 { "The machines" } else { "The machine" };
    let mut section = format!("## {title}\n");
    for (facts, steps) in &machines {
        if machines.len() > 1 {
            section.push_str(&format!("\n{}\n", wrapped(&format!("Of {}:", steps.join(", ")))));
        }
        section.push_str(&format!("\n| | |\n|---|---|\n{facts}"));
    }
    section
}

/// Text in which nothing is markup, on one line.
fn text(raw: &str) -> String {
    let mut escaped = String::with_capacity(raw.len());
    for letter in raw.chars() {
        match letter {
            '\n' | '\r' => escaped.push(' '),
            '<' => escaped.push_str("&lt;"),
            '|' => escaped.push_str("\\|"),
            _ => escaped.push(letter),
        }
    }
    escaped
}
