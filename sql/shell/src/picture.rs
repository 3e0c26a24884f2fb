//! Pages with the plan of a statement that has run.

use crate::failure::{Failure, Result};
use crate::query::Done;
use crate::redact::has_credentials;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::displayable;
use datafusion::physical_plan::metrics::MetricValue;
use ogive_report::plan::{PlanOperator, PlanRun, plan_page};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// What a picture needs of a statement, without the tables that its plan holds open.
#[derive(Clone, Debug)]
pub(crate) struct Picture(PlanRun);

impl Picture {
    /// The picture of a statement.
    pub(crate) fn new(statement: &str, done: &Done) -> Self {
        let statement = if has_credentials(statement) { "(left out: it may hold credentials)" } else { statement };
        let elapsed_us = done.elapsed.as_secs_f64() * 1e6;
        Self(PlanRun { statement: statement.to_owned(), rows: done.rows, elapsed_us, root: operator(&done.plan) })
    }

    /// Writes the page, in place of one that is there.
    ///
    /// # Errors
    /// A file that cannot be written, and one that is not a page.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        claim(path)?;
        let written = std::fs::File::create(path).and_then(|mut file| file.write_all(plan_page(&self.0).as_bytes()));
        written.map_err(|source| cannot_write(path, source))
    }
}

/// Checks that a page may be written here, before the query that it shows.
///
/// # Errors
/// A file that is not a page, or that cannot be read.
pub(crate) fn claim(path: &Path) -> Result<()> {
    if is_page_or_absent(path).map_err(|source| cannot_write(path, source))? {
        return Ok(());
    }
    Err(Failure::refused(format!("{} exists and is not a page", path.display()), "choose another name"))
}

fn cannot_write(path: &Path, source: std::io::Error) -> Failure {
    Failure::File { action: "write", path: path.display().to_string(), source }
}

/// Whether nothing would be lost: there is no file, an empty one, or a page.
fn is_page_or_absent(path: &Path) -> std::io::Result<bool> {
    match std::fs::read(path) {
        Ok(bytes) => {
            let mark = ogive_report::PAGE_MARK.as_bytes();
            Ok(bytes.is_empty() || bytes.windows(mark.len()).any(|window| window == mark))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// An operator with its metrics, added up over partitions.
fn operator(plan: &Arc<dyn ExecutionPlan>) -> PlanOperator {
    let line = displayable(plan.as_ref()).one_line().to_string();
    let (name, details) = line.trim().split_once(": ").unwrap_or((line.trim(), ""));
    let mut operator = PlanOperator {
        name: name.trim_end_matches("Exec").to_owned(),
        details: details.to_owned(),
        rows: None,
        busy_us: None,
        metrics: Vec::new(),
        inputs: plan.children().into_iter().map(self::operator).collect(),
    };
    let metrics = plan.metrics().unwrap_or_default().aggregate_by_name().sorted_for_display().timestamps_removed();
    for metric in metrics.iter() {
        let value = metric.value();
        match value {
            MetricValue::OutputRows(rows) => operator.rows = Some(rows.value() as u64),
            MetricValue::ElapsedCompute(time) if time.value() > 0 => {
                operator.busy_us = Some(time.value() as f64 / 1e3);
            }
            _ if value.as_usize() > 0 => operator.metrics.push((value.name().to_owned(), value.to_string())),
            _ => {}
        }
    }
    operator
}
