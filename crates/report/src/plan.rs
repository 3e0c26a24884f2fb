//! The page of a query's plan: its operators with the rows and the time of each.

use crate::data_table::DataTable;
use crate::figure::Figure;
use crate::format::{grouped, time_us};
use crate::page::Page;
use crate::svg::{BarTree, BarTreeRow};

/// Operators that the drawing shows; all others are in the table.
const DRAWN_MAX: usize = 200;

/// An operator of a plan that has run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanOperator {
    /// Its name, such as `Filter`.
    pub name: String,
    /// Its expressions, files and the like, as the engine states them.
    pub details: String,
    /// Rows that it gave, if it counts them.
    pub rows: Option<u64>,
    /// Time that it computed, over all threads, in microseconds, if it measures it.
    pub busy_us: Option<f64>,
    /// All other metrics, by name.
    pub metrics: Vec<(String, String)>,
    /// The operators whose rows it takes.
    pub inputs: Vec<PlanOperator>,
}

/// A statement that has run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanRun {
    /// The statement.
    pub statement: String,
    /// Rows of the result.
    pub rows: u64,
    /// Time from planning to the last row, in microseconds.
    pub elapsed_us: f64,
    /// The operator that gives the result.
    pub root: PlanOperator,
}

/// The page of a plan.
#[must_use]
pub fn plan_page(run: &PlanRun) -> String {
    let operators = flat(&run.root);
    let busy_us = operators.iter().filter_map(|(_, operator)| operator.busy_us).sum::<f64>();
    let mut table = DataTable::new(["operator", "rows", "time", "metrics", "details"]);
    for (_, operator) in &operators {
        let metrics = operator.metrics.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>();
        table.push([
            operator.name.clone(),
            operator.rows.map(grouped).unwrap_or_default(),
            operator.busy_us.map(time_us).unwrap_or_default(),
            metrics.join(", "),
            operator.details.clone(),
        ]);
    }
    let rows = operators.iter().take(DRAWN_MAX).map(|(depth, operator)| drawn(*depth, operator)).collect();
    let tree = BarTree::new("Operators", rows)
        .description("The operators of the plan, each above its inputs, with the time that each computed");
    let caption = "An operator takes its rows from those below it. Bars are the time that it computed, over all \
                   threads; operators without a bar do not measure it.";
    Page::new("Plan of a query")
        .fact("rows", &grouped(run.rows))
        .fact("took", &time_us(run.elapsed_us))
        .fact("computed", &time_us(busy_us))
        .fact("operators", &grouped(operators.len() as u64))
        .section("The statement", |section| section.preformatted("Statement", &run.statement))
        .section("The plan", |section| {
            let section = section.figure(Figure::of_svg(caption, &tree));
            match operators.len() {
                0..=DRAWN_MAX => section,
                all => section.note(&format!("{} more operators are in the table.", all - DRAWN_MAX)),
            }
        })
        .section("All metrics", |section| section.table(&table))
        .to_html()
}

/// The operators with their levels, each before its inputs.
fn flat(root: &PlanOperator) -> Vec<(usize, &PlanOperator)> {
    let mut found = Vec::new();
    let mut left = vec![(0, root)];
    while let Some((depth, operator)) = left.pop() {
        found.push((depth, operator));
        left.extend(operator.inputs.iter().rev().map(|input| (depth + 1, input)));
    }
    found
}

fn drawn(depth: usize, operator: &PlanOperator) -> BarTreeRow {
    let time = operator.busy_us.map(time_us);
    let rows = operator.rows.map(|rows| format!("{} rows", grouped(rows)));
    let note = [time, rows].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let name = match operator.details.as_str() {
        "" => operator.name.clone(),
        details => format!("{}: {details}", operator.name),
    };
    let hover = name.clone();
    BarTreeRow { depth, name, size: operator.busy_us.unwrap_or(0.0), note, hover }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operator(name: &str, inputs: Vec<PlanOperator>) -> PlanOperator {
        PlanOperator { name: name.to_owned(), inputs, ..PlanOperator::default() }
    }

    #[test]
    fn operators_stand_above_their_inputs_in_order() {
        let left = operator("left", vec![operator("scan", Vec::new())]);
        let root = operator("join", vec![left, operator("right", Vec::new())]);
        let found: Vec<_> = flat(&root).into_iter().map(|(depth, operator)| (depth, operator.name.as_str())).collect();
        assert_eq!(found, [(0, "join"), (1, "left"), (2, "scan"), (1, "right")]);
    }

    #[test]
    fn the_page_has_all_numbers_and_no_markup_of_the_statement() {
        let mut root = operator("Filter", vec![operator("Scan", Vec::new())]);
        (root.rows, root.busy_us) = (Some(1234), Some(12_300.0));
        root.metrics = vec![("spilled_bytes".to_owned(), "7.0 MB".to_owned())];
        root.details = "<b>a > 1</b>".to_owned();
        let statement = "select '<script>alert(1)</script>'".to_owned();
        let html = plan_page(&PlanRun { statement, rows: 1234, elapsed_us: 5e6, root });
        for shown in ["1,234 rows", "12.3 ms", "spilled_bytes 7.0 MB", "5 s", "&lt;script&gt;", "Scan"] {
            assert!(html.contains(shown), "{shown}");
        }
        assert!(!html.contains("<script>alert") && !html.contains("<b>"));
    }

    #[test]
    fn a_plan_of_many_operators_is_drawn_in_part() {
        let deep = (0..300).fold(operator("Scan", Vec::new()), |below, _| operator("Filter", vec![below]));
        let html = plan_page(&PlanRun { root: deep, ..PlanRun::default() });
        assert!(html.contains("101 more operators") && html.len() < crate::PAGE_BYTES_MAX);
    }
}
