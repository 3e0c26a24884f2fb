//! The page of a paper in HTML: the verdicts, then for each figure our pictures and the command that repeats it.

use ogive_report::{DataTable, Page, Section};

use super::estimate::duration;
use super::plan::Item;
use super::results::{PaperResults, StepResult};
use crate::pages::{Run, facts, machines, results_of};

/// The page of a paper; `command` is what made it.
#[must_use]
pub fn html(results: &PaperResults, command: &str) -> String {
    let paper = results.paper;
    let summary = format!(
        "{}. Scale {}: {}. Our figures at medium scale, and our deviations, are in {}. Pictures: filled marks are \
        ours; hollow ones are figures of the papers, or of their authors' code.",
        paper.citation,
        results.scale,
        results.counts(),
        paper.document
    );
    let page = Page::new(&format!("{}: figures and tables", paper.title)).summary(&summary).command(command);
    let runs: Vec<&Run> = results.steps.iter().filter_map(|result| result.run.as_ref().ok()).collect();
    let mut page = facts(page, &runs).section("Verdicts", |section| verdicts(section, results));
    let mut drawn: Vec<String> = Vec::new();
    for item in paper.items {
        let heading = format!("{}: {}", item.place, item.shows);
        page = page.section(&heading, |section| self::item(section, results, item, &mut drawn));
    }
    page.section("The machine", |section| machines(section, &runs)).to_html()
}

fn verdicts(section: Section, results: &PaperResults) -> Section {
    let mut table = DataTable::new(["place", "the paper", "ours", "verdict"]).caption("Verdicts");
    for judged in results.judged() {
        let verdict = judged.verdict.with_reason();
        table.push([judged.item.place, judged.says(), judged.verdict.ours(), &verdict]);
    }
    let explanatory = results.paper.explanatory.join(", ");
    section.table(&table).note(&format!("Explanatory, without results: {explanatory}."))
}

/// The steps of an item. Those that an earlier item has are not drawn again.
fn item(mut section: Section, results: &PaperResults, item: &Item, drawn: &mut Vec<String>) -> Section {
    for result in results.steps_of(item) {
        let is_new = !drawn.contains(&result.file);
        section = step(section, result, is_new);
        drawn.push(result.file.clone());
    }
    section
}

fn step(section: Section, result: &StepResult, is_new: bool) -> Section {
    let experiment = result.step.experiment;
    let section = match (&result.run, is_new) {
        (Ok(run), true) => results_of(section, run, experiment),
        (Ok(_), false) => section.note(&format!("{} is shown above.", result.step.experiment)),
        (Err(missing), _) => section.note(&format!("{} {missing}", result.step.experiment)),
    };
    let section = section.preformatted("Command", &result.command);
    match &result.run {
        Ok(_) => section.note(&format!("The data are in {}; {}.", result.file, duration(result.elapsed_s))),
        Err(_) => section,
    }
}
