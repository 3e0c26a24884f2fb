//! Comparison of two results: of two machines, or of two versions.
//!
//! Records are matched by what they are about (experiment, key set, structure, ...). Counts and computed figures must
//! be equal. Measured figures must be equal within their noise: their spreads overlap, or, for single measurements,
//! they differ by no more than [`TIMING_TOLERANCE`].

use std::collections::{BTreeMap, BTreeSet};

use crate::pages::{Run, RunRow};

/// Single timings may differ by this factor: equal runs of this project differed by a tenth, and by a quarter beside
/// other work (`research/src/aulid/page.md`, `research/src/airindex/page.md`).
pub const TIMING_TOLERANCE: f64 = 1.25;
/// Computed figures are printed to the last bit, and may differ by the rounding of another order of sums.
const ROUNDING: f64 = 1e-9;

/// Fields that say what a record is about.
const SUBJECT: &[&str] = &[
    "experiment",
    "part",
    "keys",
    "profile",
    "design",
    "builders",
    "knob",
    "value",
    "latency_us",
    "bandwidth_mb_per_s",
    "latency_factor",
    "bandwidth_factor",
    "records",
    "lookups",
    "up_to_lookup",
    "skew",
    "top_k",
    "workload",
    "requests",
    "structure",
    "phase",
    "resident_bytes",
    "block_bytes",
    "buffer_bytes",
    "alpha",
    "beta",
    "stage",
    "round",
    "learning",
    "load",
    "writes_percent",
    "level",
    "guideline",
    "at_operation",
    "error_records",
    "range_entries",
    "method",
    "order",
    "ratio",
    "threads",
    "window_keys",
    "memory_bytes",
    "memory",
    "memory_share",
    "warmed_bytes",
    "goal",
    "fill_percent",
    "rebuilt",
    "data_bytes",
    "search",
    "tables",
];

/// Parts of the names of measured fields. Names end in their units, and computed times have `modelled` or `metered`.
const MEASURED: &[&str] = &[
    "measured_",
    "cpu",
    "processor",
    "build_",
    "load_s",
    "load_ratio",
    "load_speedup",
    "tune_s",
    "index_s",
    "index_share",
    "ns_per_",
    "_ns",
    "foreground",
    "learning_s",
    "compaction_s",
    "total_s",
    "total_us",
    "total_ratio",
    "speedup",
    "normalized_throughput",
    "indexing_share",
    "operations_per_s",
    "loading_us",
    "preparation_us",
    "reading_us",
    "writing_us",
    "peak_memory",
    "over_best",
    "auto_us",
    "emulated_us",
    "search_s",
    "wall_",
    "pipe_s",
    "program_",
];
/// Fields that depend on what was measured: what an analyser learned in time.
const DECIDED_BY_TIME: &[&str] =
    &["model_path_share", "models_learned", "models_given_up", "tables_skipped", "stored_ratio_to_raw"];
/// Beginnings of fields that a store estimates from a sample of its lookups.
const ESTIMATED: &[&str] = &["positive_per_", "negative_per_", "lookups_per_table"];

/// The field of a difference of records that one side lacks.
const RECORDS: &str = "records";
/// A fact of the machine in records of experiments whose times depend on it.
const CORES: &str = "cores";
/// Why a subject could not be run, in words that may name a file of the run: only whether there are any is compared.
const REFUSED: &str = "refused";

/// A figure that differs by more than the noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// What the record is about.
    pub subject: String,
    /// The field, or `records` if one side has none.
    pub field: String,
    /// The figure of the first results.
    pub first: String,
    /// The figure of the second results.
    pub second: String,
    /// Why this is more than noise.
    pub reason: String,
}

impl Difference {
    /// Whether one side has fewer records about this.
    pub fn is_of_one_side(&self) -> bool {
        self.field == RECORDS
    }
}

/// A comparison.
#[derive(Clone, Debug, Default)]
pub struct Differences {
    /// Figures that were compared.
    pub figures: usize,
    /// Measured figures of runs that were too short to time, which were not.
    pub too_short: usize,
    /// Experiments that only one side has, which are not compared.
    pub of_one_side: Vec<String>,
    /// Figures that differ by more than the noise.
    pub found: Vec<Difference>,
}

/// A record with the scale of its run.
type Scaled<'r> = (&'r RunRow, bool);

/// Compares two results.
pub fn diff(first: &[Run], second: &[Run]) -> Differences {
    let (of_first, of_second) = (experiments(first), experiments(second));
    let in_both = |run: &&RunRow| of_first.contains(run.experiment()) && of_second.contains(run.experiment());
    let of_one_side = of_first.symmetric_difference(&of_second).map(|&name| name.to_owned()).collect();
    let (first, second) = (by_subject(first, &in_both), by_subject(second, &in_both));
    let mut differences = Differences { of_one_side, ..Differences::default() };
    for (subject, runs) in &first {
        let others = second.get(subject).map(Vec::as_slice).unwrap_or_default();
        if others.is_empty() {
            differences.missing(subject, records_of(runs), 0);
        }
        // Papers that share a step have its records each, and one side may have fewer papers.
        for (rows, others) in runs.iter().zip(others) {
            if rows.len() == others.len() {
                rows.iter().zip(others).for_each(|(row, other)| differences.compare(subject, *row, *other));
            } else {
                differences.missing(subject, rows.len(), others.len());
            }
        }
    }
    for (subject, runs) in second.iter().filter(|(subject, _)| !first.contains_key(*subject)) {
        differences.missing(subject, 0, records_of(runs));
    }
    differences
}

/// The names of the experiments of some runs.
fn experiments(runs: &[Run]) -> BTreeSet<&str> {
    runs.iter().flat_map(Run::records).map(RunRow::experiment).collect()
}

fn records_of(runs: &[Vec<Scaled<'_>>]) -> usize {
    runs.iter().map(Vec::len).sum()
}

/// The records that are compared, by what they are about, of each run that has some; those about the same are in order.
fn by_subject<'r>(runs: &'r [Run], is_compared: &dyn Fn(&&RunRow) -> bool) -> BTreeMap<String, Vec<Vec<Scaled<'r>>>> {
    let mut all: BTreeMap<String, Vec<Vec<Scaled<'r>>>> = BTreeMap::new();
    for run in runs {
        let mut rows: BTreeMap<String, Vec<Scaled<'r>>> = BTreeMap::new();
        let is_short = run.machine().is_some_and(|machine| machine.text("scale") == "small");
        for row in run.records().filter(is_compared) {
            let fields = SUBJECT.iter().filter(|field| is_subject(row, field)).map(|field| row.text(field));
            let fields = fields.filter(|text| !text.is_empty());
            rows.entry(fields.collect::<Vec<_>>().join(", ")).or_default().push((row, is_short));
        }
        rows.into_iter().for_each(|(subject, rows)| all.entry(subject).or_default().push(rows));
    }
    all
}

/// Whether a field says what a record is about. `requests` is a distribution of keys, or a count of reads.
fn is_subject(row: &RunRow, field: &str) -> bool {
    SUBJECT.contains(&field) && !(field == "requests" && row.number(field).is_some())
}

/// Whether a field of a record was measured, so that equal runs differ.
fn is_measured(row: &RunRow, field: &str) -> bool {
    let profile = row.text("profile");
    let on_device = profile.starts_with("this device") || profile.ends_with(", emulated");
    let family = row.experiment().split('/').next().unwrap_or_default();
    // Times of joins and of stores are the device's, which are modelled, and the processor's.
    let with_processor = match family {
        "join" => matches!(field, "modelled_us" | "best_us"),
        "bourbon" => field == "modelled_us",
        _ => false,
    };
    let is_emulated = row.experiment() == "airindex/emulated" && field == "slowdown";
    on_device
        || with_processor
        || is_emulated
        || MEASURED.iter().any(|part| field.contains(part)) && !field.contains("modelled_ops_per_s")
        || DECIDED_BY_TIME.contains(&field)
        || ESTIMATED.iter().any(|start| field.starts_with(start))
}

impl Differences {
    fn missing(&mut self, subject: &str, first: usize, second: usize) {
        self.found.push(Difference {
            subject: subject.to_owned(),
            field: RECORDS.to_owned(),
            first: first.to_string(),
            second: second.to_string(),
            reason: "the numbers of records differ".to_owned(),
        });
    }

    fn compare(&mut self, subject: &str, (row, is_short): Scaled<'_>, (other, other_is_short): Scaled<'_>) {
        let mut fields: Vec<&str> = row.fields().iter().map(|(name, _)| name.as_str()).collect();
        fields.extend(other.fields().iter().map(|(name, _)| name.as_str()).filter(|name| row.field(name).is_none()));
        let is_compared = |name: &&str| *name != CORES && !is_subject(row, name) && !is_extreme(row, name);
        for field in fields.into_iter().filter(is_compared) {
            let measured = is_measured(row, field);
            if measured && (is_short || other_is_short) {
                self.too_short += 1;
                continue;
            }
            self.figures += 1;
            let reason = if measured { beyond_noise(row, other, field) } else { unequal(row, other, field) };
            if let Some(reason) = reason {
                self.found.push(Difference {
                    subject: subject.to_owned(),
                    field: field.to_owned(),
                    first: row.text(field),
                    second: other.text(field),
                    reason,
                });
            }
        }
    }
}

/// Whether a field is the least or greatest value of another one.
fn is_extreme(row: &RunRow, field: &str) -> bool {
    let of = field.strip_suffix("_min").or_else(|| field.strip_suffix("_max"));
    of.is_some_and(|of| row.field(of).is_some())
}

/// Why exact figures differ; `None` if they do not.
fn unequal(row: &RunRow, other: &RunRow, field: &str) -> Option<String> {
    let is_equal = match (row.number(field), other.number(field)) {
        (Some(one), Some(two)) => (one - two).abs() <= ROUNDING * one.abs().max(two.abs()),
        _ if field == REFUSED => row.field(field).is_some() == other.field(field).is_some(),
        _ => row.text(field) == other.text(field),
    };
    (!is_equal).then(|| "exact figures differ".to_owned())
}

/// Why measured figures differ by more than their noise; `None` if they do not.
fn beyond_noise(row: &RunRow, other: &RunRow, field: &str) -> Option<String> {
    let (Some(one), Some(two)) = (row.number(field), other.number(field)) else {
        return unequal(row, other, field);
    };
    let spread = |row: &RunRow| Some((row.number(&format!("{field}_min"))?, row.number(&format!("{field}_max"))?));
    match (spread(row), spread(other)) {
        (Some((min, max)), Some((other_min, other_max))) => {
            (max < other_min || other_max < min).then(|| "the spreads do not overlap".to_owned())
        }
        _ => {
            let ratio = if one == two { 1.0 } else { (two / one).abs() };
            let is_noise = (1.0 / TIMING_TOLERANCE..=TIMING_TOLERANCE).contains(&ratio);
            (!is_noise).then(|| format!("a factor of {ratio:.2}, and single timings may differ by {TIMING_TOLERANCE}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Result;
    use crate::output::Record;

    fn run(scale: &str, blocks: u64, seconds: &[f64], rate: f64) -> Result<Run> {
        let machine = Record::new("machine").figure("scale", scale);
        let record = Record::new("aulid/x").keys("uniform:1k").figure("structure", "btree");
        let record = record.figure("file_blocks", blocks).spread("load_s", seconds).figure("measured_ops_per_s", rate);
        Run::of_records(&[machine, record])
    }

    fn found(first: Run, second: Run) -> Vec<String> {
        diff(&[first], &[second]).found.into_iter().map(|difference| difference.field).collect()
    }

    #[test]
    fn counts_must_be_equal_and_measured_figures_within_their_noise() -> Result<()> {
        let base = || run("medium", 7, &[1.0, 1.2, 1.4], 100.0);
        assert!(found(base()?, base()?).is_empty());
        assert_eq!(found(base()?, run("medium", 8, &[1.0, 1.2, 1.4], 100.0)?), ["file_blocks"]);
        assert!(found(base()?, run("medium", 7, &[1.3, 1.6, 1.9], 81.0)?).is_empty());
        assert_eq!(found(base()?, run("medium", 7, &[1.5, 1.6, 1.9], 100.0)?), ["load_s"]);
        assert_eq!(found(base()?, run("medium", 7, &[1.0, 1.2, 1.4], 79.0)?), ["measured_ops_per_s"]);
        Ok(())
    }

    #[test]
    fn a_step_that_papers_share_is_compared_with_one_of_them() -> Result<()> {
        let of = |blocks| run("medium", blocks, &[1.0, 1.2], 100.0);
        let compared = |first: &[Run], second: &[Run]| {
            let found = diff(first, second).found;
            found.into_iter().map(|difference| difference.field).collect::<Vec<_>>()
        };
        assert!(compared(&[of(7)?, of(7)?], &[of(7)?]).is_empty() && compared(&[of(7)?], &[of(7)?, of(7)?]).is_empty());
        assert_eq!(compared(&[of(7)?, of(7)?], &[of(7)?, of(8)?]), ["file_blocks"]);
        let lost = Run::of_records(&[Record::new("machine").figure("scale", "medium")])?;
        assert_eq!(diff(&[of(7)?], &[lost]).of_one_side, ["aulid/x"]);
        Ok(())
    }

    #[test]
    fn times_of_short_runs_are_not_compared() -> Result<()> {
        let differences = diff(&[run("small", 7, &[1.0], 1.0)?], &[run("small", 7, &[9.0], 9.0)?]);
        assert!(differences.found.is_empty() && differences.too_short == 2 && differences.figures == 1);
        Ok(())
    }

    #[test]
    fn refusals_may_name_other_files() -> Result<()> {
        let refused = |words: &[&str]| {
            let record = Record::new("join/x").keys("uniform:1k");
            Run::of_records(&[words.iter().fold(record, |record, words| record.figure(REFUSED, *words))])
        };
        assert!(found(refused(&["a/left.bin is too large"])?, refused(&["b/left.bin is too large"])?).is_empty());
        assert_eq!(found(refused(&["a/left.bin is too large"])?, refused(&[])?), [REFUSED]);
        Ok(())
    }

    #[test]
    fn records_of_one_side_only_are_told() -> Result<()> {
        let of = |sets: &[&str]| {
            let record = |set: &&str| Record::new("aulid/x").keys(set).figure("file_blocks", 7_u64);
            Run::of_records(&sets.iter().map(record).collect::<Vec<_>>())
        };
        assert_eq!(found(of(&["a", "b"])?, of(&["a"])?), ["records"]);
        assert_eq!(found(of(&["a"])?, of(&["a", "b"])?), ["records"]);
        Ok(())
    }

    #[test]
    fn experiments_of_one_side_only_are_named_and_not_compared() -> Result<()> {
        let of = |experiment: &str| Run::of_records(&[Record::new(experiment).figure("file_blocks", 7_u64)]);
        for sides in [[vec![of("a")?, of("b")?], vec![of("a")?]], [vec![of("a")?], vec![of("a")?, of("b")?]]] {
            let differences = diff(&sides[0], &sides[1]);
            assert_eq!((differences.figures, differences.found.len()), (1, 0));
            assert_eq!(differences.of_one_side, ["b"]);
        }
        Ok(())
    }
}
