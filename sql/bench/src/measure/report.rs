//! Results as a table and as lines of JSON.

use super::object_report::{self, QueryRequests};
use super::subject::{Subject, Taken};
use crate::json::quoted;
use std::fmt::Write as _;
use std::io::{self, Write};

/// The spread of rounds, as a share of the median, from which a result is marked.
const SPREAD_MAX: f64 = 0.3;

/// Why there is no time of an engine.
#[derive(Clone, Debug)]
pub(super) enum MeasureError {
    /// A query fails.
    Failed(String),
    /// An answer is not that of DuckDB.
    Wrong(String),
}

impl MeasureError {
    fn message(&self) -> &str {
        let (Self::Failed(message) | Self::Wrong(message)) = self;
        message
    }
}

/// What one engine took for one kind of query.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) subject: Subject,
    /// Milliseconds of one query, a number for each round.
    rounds_ms: Vec<f64>,
    /// Of the first round, divided by its queries.
    reads: Option<(f64, f64)>,
    read_bytes: Option<f64>,
    peak_rss_bytes: Option<u64>,
    /// Of the counted rounds, if the object store is emulated.
    requests: Option<QueryRequests>,
    pub(super) error: Option<MeasureError>,
}

impl Measured {
    pub(super) fn new(subject: Subject) -> Self {
        let rounds_ms = Vec::new();
        Self { subject, rounds_ms, reads: None, read_bytes: None, peak_rss_bytes: None, requests: None, error: None }
    }

    /// The reads of the first round, whose time is not counted.
    pub(super) fn warm(&mut self, taken: &Taken, queries: usize) {
        let bytes = taken.read_bytes.map(|bytes| bytes as f64 / queries as f64);
        self.read_bytes = bytes;
        self.reads = taken.read_requests.map(|requests| requests as f64 / queries as f64).zip(bytes);
    }

    pub(super) fn add(&mut self, taken: &Taken, queries: usize) {
        self.rounds_ms.push(taken.time.as_secs_f64() * 1_000.0 / queries as f64);
        self.peak_rss_bytes = self.peak_rss_bytes.max(taken.peak_rss_bytes);
        if let Some(counts) = &taken.store {
            self.requests.get_or_insert_default().add(counts, queries);
        }
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.rounds_ms.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }

    /// The median, the least and the most.
    fn summary(&self) -> Option<(f64, f64, f64)> {
        let sorted = self.sorted();
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Some((f64::midpoint(low, high), least, most))
    }

    fn cell(&self) -> String {
        match (&self.error, self.summary()) {
            (Some(MeasureError::Failed(_)), _) => "failed".to_owned(),
            (Some(MeasureError::Wrong(_)), _) => "wrong".to_owned(),
            (None, None) => "-".to_owned(),
            (None, Some((median, least, most))) => {
                let mark = if most - least > SPREAD_MAX * median { "~" } else { "" };
                format!("{} ({}-{}){mark}", short(median), short(least), short(most))
            }
        }
    }

    /// A line of JSON without its end.
    fn json(&self, query: &str, run: &RunFacts, memory_bytes: Option<usize>, answer_rows: Option<usize>) -> String {
        let number = |value: Option<f64>| value.map_or_else(|| "null".to_owned(), |value| format!("{value:.4}"));
        let count = |value: Option<u64>| value.map_or_else(|| "null".to_owned(), |value| value.to_string());
        let summary = self.summary();
        let mut line = format!(
            "{{\"experiment\":\"sql\",\"query\":{},\"subject\":{},\"keys\":{},\"profile\":{},\
             \"design\":\"tuned\"",
            quoted(query),
            quoted(self.subject.name()),
            run.keys,
            quoted(&run.profile)
        );
        let fields = [
            ("rounds", self.rounds_ms.len().to_string()),
            ("median_ms", number(summary.map(|summary| summary.0))),
            ("min_ms", number(summary.map(|summary| summary.1))),
            ("max_ms", number(summary.map(|summary| summary.2))),
            ("read_requests", number(self.reads.map(|reads| reads.0))),
            ("read_bytes", number(self.read_bytes)),
            ("memory_limit_bytes", count(memory_bytes.map(|bytes| bytes as u64))),
            ("peak_rss_bytes", count(self.peak_rss_bytes)),
            ("answer_rows", count(answer_rows.map(|rows| rows as u64))),
            ("error", self.error.as_ref().map_or_else(|| "null".to_owned(), |error| quoted(error.message()))),
        ];
        for (name, value) in fields {
            _ = write!(line, ",\"{name}\":{value}");
        }
        line.push_str(&self.requests.map_or_else(String::new, |requests| requests.json()));
        line.push('}');
        line
    }
}

/// Three digits.
pub(super) fn short(number: f64) -> String {
    match number {
        number if number >= 100.0 => format!("{number:.0}"),
        number if number >= 10.0 => format!("{number:.1}"),
        number if number >= 1.0 => format!("{number:.2}"),
        number => format!("{number:.3}"),
    }
}

/// Facts of all lines.
#[derive(Clone, Debug)]
pub(super) struct RunFacts {
    pub(super) keys: u64,
    /// The profile of the storage; `local` for files.
    pub(super) profile: String,
    /// Whether it is an emulated object store.
    pub(super) is_emulated: bool,
}

/// Prints results while they come.
pub(super) struct ReportWriter<'a> {
    pub(super) output: &'a mut dyn Write,
    pub(super) json: Option<Box<dyn Write>>,
    pub(super) run: RunFacts,
}

impl ReportWriter<'_> {
    pub(super) fn head(&mut self, subjects: &[Subject]) -> io::Result<()> {
        if self.run.is_emulated {
            return object_report::head(self.output, subjects);
        }
        write!(self.output, "{:30}", "query")?;
        for subject in subjects {
            write!(self.output, " {:>24}", format!("{} ms", subject.name()))?;
        }
        writeln!(self.output, " {:>10} {:>10} {:>12}", "parquet/", "reads", "bytes")
    }

    pub(super) fn case(
        &mut self,
        query: &str,
        memory_bytes: Option<usize>,
        answer_rows: Option<usize>,
        measured: &[Measured],
    ) -> io::Result<()> {
        if self.run.is_emulated {
            let requests = |of: &Measured| (of.subject, of.requests.filter(|_| of.error.is_none()));
            object_report::case(self.output, query, &measured.iter().map(requests).collect::<Vec<_>>())?;
        } else {
            self.times(query, measured)?;
        }
        for of in measured {
            if let Some(error) = &of.error {
                let line = error.message().lines().next().unwrap_or_default();
                writeln!(self.output, "    {}: {line}", of.subject.name())?;
            }
            if let Some(json) = &mut self.json {
                writeln!(json, "{}", of.json(query, &self.run, memory_bytes, answer_rows))?;
                json.flush()?;
            }
        }
        self.output.flush()
    }

    /// The line of a kind of query, with its times.
    fn times(&mut self, query: &str, measured: &[Measured]) -> io::Result<()> {
        write!(self.output, "{query:30}")?;
        for of in measured {
            write!(self.output, " {:>24}", of.cell())?;
        }
        let median = |subject: Subject| {
            let of = measured.iter().find(|of| of.subject == subject && of.error.is_none())?;
            Some(of.summary()?.0)
        };
        let ratio = median(Subject::Parquet).zip(median(Subject::Ogive)).map(|(parquet, ogive)| parquet / ogive);
        let ratio = ratio.map_or_else(|| "-".to_owned(), short);
        let reads = measured.iter().find_map(|of| of.reads);
        let (requests, bytes) = reads.map_or_else(
            || ("-".to_owned(), "-".to_owned()),
            |(requests, bytes)| (short(requests), format!("{bytes:.0}")),
        );
        writeln!(self.output, " {ratio:>10} {requests:>10} {bytes:>12}")
    }

    pub(super) fn foot(&mut self) -> io::Result<()> {
        if self.run.is_emulated {
            return object_report::foot(self.output);
        }
        writeln!(
            self.output,
            "\nMedian (least-most) of the rounds, for one query; ~ marks a spread above {} % of the median: repeat \
             these on a quiet machine; wrong: an answer that is not that of DuckDB.\n\
             parquet/: times of DataFusion over Parquet, as multiples of those over Ogive. reads, \
             bytes: of Ogive tables in the first round, for one query.",
            SPREAD_MAX * 100.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn taken(ms: u64) -> Taken {
        Taken { time: Duration::from_millis(ms), read_requests: Some(4), read_bytes: Some(100), ..Taken::default() }
    }

    #[test]
    fn a_result_is_the_median_of_rounds_for_one_query() {
        let mut measured = Measured::new(Subject::Ogive);
        measured.warm(&taken(900), 2);
        for ms in [60, 20, 40, 24] {
            measured.add(&taken(ms), 2);
        }
        assert_eq!(measured.summary(), Some((16.0, 10.0, 30.0)));
        assert_eq!(measured.cell(), "16.0 (10.0-30.0)~");
        let line = measured.json(
            "a \"b\"",
            &RunFacts { keys: 7, profile: "local".to_owned(), is_emulated: false },
            None,
            Some(1),
        );
        assert_eq!(
            line,
            "{\"experiment\":\"sql\",\"query\":\"a \\\"b\\\"\",\"subject\":\"ogive\",\"keys\":7,\"profile\":\"local\",\
             \"design\":\"tuned\",\"rounds\":4,\"median_ms\":16.0000,\"min_ms\":10.0000,\"max_ms\":30.0000,\
             \"read_requests\":2.0000,\"read_bytes\":50.0000,\"memory_limit_bytes\":null,\"peak_rss_bytes\":null,\
             \"answer_rows\":1,\"error\":null}"
        );
    }

    #[test]
    fn a_wrong_answer_has_no_time_and_says_what_is_wrong() {
        let mut output = Vec::new();
        let (mut ours, mut rival) = (Measured::new(Subject::Ogive), Measured::new(Subject::Parquet));
        ours.add(&taken(20), 1);
        rival.error = Some(MeasureError::Wrong("parquet has 6 where duckdb has 5".to_owned()));
        let run = RunFacts { keys: 7, profile: "local".to_owned(), is_emulated: false };
        let mut report = ReportWriter { output: &mut output, json: None, run };
        report.case("next 10", None, Some(1), &[ours, rival]).unwrap();
        let shown = String::from_utf8(output).unwrap();
        let words: Vec<&str> = shown.split_whitespace().take(7).collect();
        assert_eq!(words, ["next", "10", "20.0", "(20.0-20.0)", "wrong", "-", "-"], "{shown}");
        assert!(shown.contains("parquet: parquet has 6 where duckdb has 5"), "{shown}");
    }
}
