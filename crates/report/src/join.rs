//! The page of `ogive join --explain`: the plan, and all methods with their costs.

use crate::data_table::DataTable;
use crate::figure::Figure;
use crate::format::{bytes, grouped, time_us};
use crate::notebook::JoinPlan;
use crate::page::Page;
use crate::section::Section;
use crate::svg::{BarChart, Unit};
use ogive::join::{JoinExplanation, JoinReport};

/// The page of a join; `command` is what made it, and `report` the result if it has run.
#[must_use]
pub fn join_page(plan: &JoinExplanation, report: Option<&JoinReport>, command: &str) -> String {
    let chosen = if plan.is_asked_for { "requested" } else { "chosen" };
    let page = Page::new(&format!("{} join {}", plan.left.name, plan.right.name))
        .summary(&format!(
            "Joined by {}, {chosen} for {}, within {} of memory.",
            plan.method,
            plan.profile,
            bytes(plan.memory_bytes as f64)
        ))
        .command(command)
        .fact("method", &plan.method)
        .fact("predicted", &time_us(plan.predicted.elapsed_us()));
    let page = match report {
        Some(report) => page.fact("took", &time_us(report.seconds.total() * 1e6)).fact("rows", &grouped(report.rows)),
        None => page,
    };
    let shown = JoinPlan(plan);
    page.section("The plan", |section| {
        let caption = "The method takes its inputs from the right. Rows and bytes of inputs are estimates.";
        section.figure(Figure::of_svg(caption, &shown.tree()))
    })
    .section("Predicted and actual", |section| compared(section, plan, report))
    .section("All methods", |section| {
        let section = section.text(
            "Methods are ranked by the sum of device and processor time. Reads that pass while rows are joined shorten \
            the predicted time.",
        );
        let caption = "Each bar is a method; methods that cost twenty times the cheapest are in the table only.";
        let section = section.figure(Figure::of_svg(caption, &shown.costs()).table(shown.table()));
        shown.refusals().iter().fold(section, |section, refusal| section.note(refusal))
    })
    .to_html()
}

fn compared(section: Section, plan: &JoinExplanation, report: Option<&JoinReport>) -> Section {
    let predicted = &plan.predicted;
    let Some(report) = report else { return section.text("The join has not run.") };
    let seconds = &report.seconds;
    let steps = [
        ("planning", seconds.planning),
        ("loading", seconds.loading),
        ("reading", seconds.reading),
        ("joining", seconds.joining),
        ("writing", seconds.writing),
    ];
    let mut parts = vec![0.0];
    parts.extend(steps.iter().map(|(_, seconds)| seconds * 1e6));
    let chart = BarChart::new("Time", Unit::Micros)
        .description("The predicted time of the join, and the time that it took by step")
        .parts(std::iter::once("predicted").chain(steps.iter().map(|(name, _)| *name)))
        .row("predicted", &[predicted.elapsed_us()])
        .row("actual", &parts);
    let table = DataTable::new(["quantity", "predicted", "actual"])
        .row(["time".to_owned(), time_us(predicted.elapsed_us()), time_us(seconds.total() * 1e6)])
        .row(["reads".to_owned(), grouped(predicted.requests.ceil() as u64), grouped(report.requests)])
        .row(["bytes read".to_owned(), bytes(predicted.bytes_read), bytes(report.bytes_read as f64)])
        .row(["memory".to_owned(), bytes(predicted.memory_bytes), bytes(report.peak_memory_bytes as f64)]);
    section.figure(Figure::of_svg("Predicted by the cost model, and measured by step.", &chart)).table(&table)
}
