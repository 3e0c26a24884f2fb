//! Results over an emulated object store: requests, bytes and modelled times.

use super::report::short;
use super::subject::Subject;
use crate::emulated::StoreCounts;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Requests of some queries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueryRequests {
    counts: StoreCounts,
    queries: usize,
}

impl QueryRequests {
    pub(super) fn add(&mut self, counts: &StoreCounts, queries: usize) {
        self.counts = self.counts.plus(counts);
        self.queries += queries;
    }

    fn of_one(&self, number: f64) -> f64 {
        number / self.queries.max(1) as f64
    }

    fn requests(&self) -> f64 {
        self.of_one(self.counts.requests() as f64)
    }

    fn bytes(&self) -> f64 {
        self.of_one(self.counts.bytes as f64)
    }

    pub(super) fn modelled_ms(&self) -> f64 {
        self.of_one(self.counts.modelled_us()) / 1_000.0
    }

    fn cells(&self) -> String {
        let (requests, bytes) = (short(self.requests()), self.bytes());
        let (at_once, time) = (short(self.counts.at_once()), short(self.modelled_ms()));
        format!("{requests:>9} {bytes:>11.0} {at_once:>7} {time:>11}")
    }

    /// Fields of a line of JSON.
    pub(super) fn json(&self) -> String {
        let fields = [
            ("store_gets", self.of_one(self.counts.gets as f64)),
            ("store_lookups", self.of_one(self.counts.lookups as f64)),
            ("store_bytes", self.bytes()),
            ("store_requests_at_once", self.counts.at_once()),
            ("modelled_ms", self.modelled_ms()),
        ];
        fields.iter().fold(String::new(), |mut text, (name, value)| {
            _ = write!(text, ",\"{name}\":{value:.4}");
            text
        })
    }
}

pub(super) fn head(output: &mut dyn Write, subjects: &[Subject]) -> io::Result<()> {
    write!(output, "{:30}", "query")?;
    for subject in subjects {
        write!(
            output,
            " {:>9} {:>11} {:>7} {:>11}",
            format!("{} GETs", subject.name()),
            "bytes",
            "at once",
            "modelled ms"
        )?;
    }
    writeln!(output, " {:>9}", "parquet/")
}

/// A line of a kind of query: what each engine took, or `None` if it failed.
pub(super) fn case(
    output: &mut dyn Write,
    query: &str,
    measured: &[(Subject, Option<QueryRequests>)],
) -> io::Result<()> {
    write!(output, "{query:30}")?;
    for (_, requests) in measured {
        write!(output, " {}", requests.map_or_else(|| format!("{:>41}", "failed"), |requests| requests.cells()))?;
    }
    let modelled = |subject| {
        let (_, requests) = measured.iter().find(|(of, _)| *of == subject)?;
        requests.map(|requests| requests.modelled_ms()).filter(|&ms| ms > 0.0)
    };
    let ratio = modelled(Subject::Parquet).zip(modelled(Subject::Ogive)).map(|(parquet, ogive)| parquet / ogive);
    writeln!(output, " {:>9}", ratio.map_or_else(|| "-".to_owned(), short))
}

pub(super) fn foot(output: &mut dyn Write) -> io::Result<()> {
    writeln!(
        output,
        "\nFor one query, means of the counted rounds. GETs: all requests, with the few HEAD and LIST of Parquet. \
         modelled ms: the sum of the profile's T(n) over all requests, divided by the requests that the emulated store \
         served at once (at once: mean over the time in which it served any). It is a model of the storage: no time of \
         the processor, and no measurement of a real store. Ogive tables are opened anew in each round, without cached \
         blocks; the metadata of Parquet files stay cached. parquet/: modelled time over Parquet as a multiple of that \
         over Ogive."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_those_of_one_query_and_their_time_is_modelled() {
        let round = StoreCounts {
            gets: 9,
            lookups: 1,
            bytes: 5_000,
            profile_us: 400_000.0,
            served_us: 440_000.0,
            busy_us: 110_000.0,
        };
        let mut requests = QueryRequests::default();
        requests.add(&round, 5);
        requests.add(&round, 5);
        // Twenty requests of ten queries; 800 ms of requests, four at once.
        assert_eq!((requests.requests(), requests.bytes()), (2.0, 1_000.0));
        assert!((requests.modelled_ms() - 20.0).abs() < 1e-9);
        assert_eq!(requests.cells(), "     2.00        1000    4.00        20.0");
        let mut line = Vec::new();
        let twice = QueryRequests { counts: StoreCounts { profile_us: 1_600_000.0, ..requests.counts }, ..requests };
        case(&mut line, "point", &[(Subject::Ogive, Some(requests)), (Subject::Parquet, Some(twice))]).unwrap();
        assert!(String::from_utf8(line).unwrap().ends_with("     2.00\n"));
    }
}
