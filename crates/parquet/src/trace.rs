//! Traces: the requests of lookups, in rounds.

use ogive::io::{Profile, Purpose};
use std::path::{Path, PathBuf};

/// A request that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedRequest {
    /// The round, counted from 1: requests of one round are under way at the same time.
    pub round: u32,
    /// The file.
    pub path: PathBuf,
    /// Offset in the file in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// What it brings: parts of the index, or pages of columns.
    pub parts: Vec<String>,
}

impl TracedRequest {
    /// A request of a data file; its round is set when it is added.
    pub(crate) fn data(path: &Path, offset: u64, bytes: u64, parts: Vec<String>) -> Self {
        Self { round: 0, path: path.to_owned(), offset, bytes, parts }
    }
}

/// The requests of one or more operations, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The requests.
    pub requests: Vec<TracedRequest>,
    round: u32,
}

impl Trace {
    /// An empty trace.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of rounds: requests that waited for others.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.round
    }

    /// Total number of bytes read.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.requests.iter().map(|request| request.bytes).sum()
    }

    /// Modelled time on a storage in microseconds: the rounds one after the other, the requests of each side by side.
    #[must_use]
    pub fn modelled_us(&self, profile: &Profile) -> f64 {
        let rounds = self.requests.chunk_by(|left, right| left.round == right.round);
        rounds.map(|round| profile.batch_us(&round.iter().map(|request| request.bytes).collect::<Vec<_>>())).sum()
    }

    /// Adds the reads of an index file. Each waits for those before it; if `side_by_side`, only for those of another
    /// purpose.
    pub fn add_index_reads(&mut self, path: &Path, reads: &[ogive::table::TracedRead], side_by_side: bool) {
        let mut before = None;
        for read in reads {
            if !side_by_side || before != Some(read.purpose) {
                self.begin_round();
            }
            before = Some(read.purpose);
            let part = match read.purpose {
                Purpose::Open => "index: its tail".to_owned(),
                Purpose::Layer(layer) => format!("index: layer {layer}"),
                Purpose::Counts => "index: counts".to_owned(),
                Purpose::Filter => "index: filter".to_owned(),
                _ => "index: block".to_owned(),
            };
            self.push(TracedRequest::data(path, read.offset, read.bytes, vec![part]));
        }
    }

    pub(crate) fn begin_round(&mut self) {
        self.round += 1;
    }

    pub(crate) fn push(&mut self, request: TracedRequest) {
        self.requests.push(TracedRequest { round: self.round, ..request });
    }
}
