//! The results of a run of a paper, and the verdicts on its claims.

use std::fmt;

use super::plan::{Claim, Item, Paper};
use super::rows::Rows;
use super::scale::Scale;
use super::step::Step;
use super::verdict::Verdict;
use crate::pages::{Run, RunRow};

/// The results of a paper.
#[derive(Debug)]
pub struct PaperResults {
    /// The paper.
    pub paper: &'static Paper,
    /// Size of the run.
    pub scale: Scale,
    /// The steps in order.
    pub steps: Vec<StepResult>,
}

/// The result of a step.
#[derive(Debug)]
pub struct StepResult {
    /// The step.
    pub step: &'static Step,
    /// Name of the file of its records.
    pub file: String,
    /// The command that repeats it.
    pub command: String,
    /// Time of the run, in seconds.
    pub elapsed_s: f64,
    /// Its records, or why there are none.
    pub run: Result<Run, MissingRun>,
}

impl StepResult {
    /// The subjects that failed, each with its reason.
    pub fn failures(&self) -> Vec<String> {
        let records = self.run.iter().flat_map(Run::records);
        let failure = |record: &RunRow| {
            let error = record.error()?;
            Some(format!("{}: {error}", record.label(&["keys", "workload", "structure"])))
        };
        let mut failures: Vec<String> = records.filter_map(failure).collect();
        failures.dedup();
        failures
    }
}

/// Why a step has no records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissingRun {
    /// It failed, for this reason.
    Failed(String),
    /// Only other steps were to run, and no former run has it.
    NotChosen,
}

impl fmt::Display for MissingRun {
    /// After the name of the experiment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(reason) => write!(f, "failed: {reason}"),
            Self::NotChosen => f.write_str("was not run: only other steps were chosen"),
        }
    }
}

/// A claim with its verdict.
#[derive(Debug)]
pub struct JudgedClaim {
    /// The figure or table.
    pub item: &'static Item,
    /// The claim.
    pub claim: &'static Claim,
    /// The verdict.
    pub verdict: Verdict,
}

impl PaperResults {
    /// The verdicts on all claims, in the order of the paper.
    pub fn judged(&self) -> Vec<JudgedClaim> {
        self.paper.items.iter().flat_map(|item| self.judged_of(item)).collect()
    }

    /// The verdicts on the claims of an item.
    fn judged_of(&self, item: &'static Item) -> Vec<JudgedClaim> {
        let steps = self.steps_of(item);
        let missing = steps.iter().find_map(|result| Some((result.step.experiment, result.run.as_ref().err()?)));
        let rows = Rows::new(steps.iter().filter_map(|result| result.run.as_ref().ok()).flat_map(Run::records));
        let failures = rows.failures();
        let judged = |claim: &'static Claim| {
            let verdict = match (claim.verdict(self.scale, &rows), &missing) {
                (Verdict::NotComparable(_), Some((name, missing))) => {
                    Verdict::NotComparable(format!("{name} {missing}"))
                }
                (Verdict::Confirmed(ours), _) if failures > 0 => {
                    Verdict::Confirmed(format!("{ours}; without {failures} records of subjects that failed"))
                }
                (verdict, _) => verdict,
            };
            JudgedClaim { item, claim, verdict }
        };
        item.claims.iter().map(judged).collect()
    }

    /// The results of the steps of an item.
    pub(super) fn steps_of(&self, item: &Item) -> Vec<&StepResult> {
        let is_of = |result: &&StepResult| item.steps.iter().any(|step| step.experiment == result.step.experiment);
        self.steps.iter().filter(is_of).collect()
    }

    /// The subjects that failed in steps that ended.
    pub fn failures(&self) -> usize {
        self.steps.iter().map(|result| result.failures().len()).sum()
    }

    /// The number of steps that failed.
    pub fn failed(&self) -> usize {
        self.steps.iter().filter(|result| matches!(result.run, Err(MissingRun::Failed(_)))).count()
    }

    /// The numbers of verdicts in a sentence.
    pub(super) fn counts(&self) -> String {
        let judged = self.judged();
        let count = |name: &str| judged.iter().filter(|judged| judged.verdict.name() == name).count();
        let names = ["confirmed", "not confirmed", "not comparable"];
        names.map(|name| format!("{} {name}", count(name))).join(", ")
    }
}

impl JudgedClaim {
    /// What the paper says.
    pub fn says(&self) -> &'static str {
        self.claim.says
    }
}
