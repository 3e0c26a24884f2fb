//! Work in batches, with the time on both sides of the pipe.
//!
//! The wall time of a batch is measured here, from its request to its reply; the program states the time of the work
//! alone. What lies between them is the pipe: writing, passing on and reading text. Its cost is measured by echoes, as
//! a round trip and a time for each number of the request and of the reply.

use super::index::{Cost, ProgramIndex};
use crate::error::Result;

/// Pairs of a line of the bulk load.
const LOAD_PAIRS: usize = 10_000;
/// Numbers of an echo, and how often each comes back in the larger one: more of them than in any batch but of scans.
const ECHO_NUMBERS: usize = 1_000;
const ECHO_TIMES: u64 = 20;
/// Echoes of each size; their median counts.
const ECHOES: usize = 9;

/// Cost of the pipe, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PipeCost {
    /// An empty request and its reply.
    pub round_trip_ns: f64,
    /// Each number of a request.
    pub number_in_ns: f64,
    /// Each number of a reply.
    pub number_out_ns: f64,
}

impl PipeCost {
    /// Nanoseconds of a request with some numbers, and its reply.
    pub fn exchange_ns(&self, numbers_in: usize, numbers_out: usize) -> f64 {
        self.round_trip_ns + self.number_in_ns * numbers_in as f64 + self.number_out_ns * numbers_out as f64
    }
}

/// Work of a program, summed over batches.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramWork {
    /// Operations.
    pub operations: u64,
    /// Nanoseconds from requests to replies.
    pub wall_ns: f64,
    /// Nanoseconds of them that the program states.
    pub program_ns: f64,
    /// Nanoseconds of them that the pipe takes, by its cost.
    pub pipe_ns: f64,
    /// Blocks read, if every reply counts them.
    pub blocks_read: Option<u64>,
    /// Blocks written, if every reply counts them.
    pub blocks_written: Option<u64>,
}

impl Default for ProgramWork {
    /// No work yet.
    fn default() -> Self {
        let (blocks_read, blocks_written) = (Some(0), Some(0));
        Self { operations: 0, wall_ns: 0.0, program_ns: 0.0, pipe_ns: 0.0, blocks_read, blocks_written }
    }
}

impl ProgramWork {
    fn add(&mut self, operations: usize, cost: Cost, pipe_ns: f64) {
        let sum = |all: Option<u64>, more: Option<u64>| all.zip(more).map(|(all, more)| all.saturating_add(more));
        self.operations += operations as u64;
        self.wall_ns += cost.wall_ns as f64;
        self.program_ns += cost.program_ns as f64;
        self.pipe_ns += pipe_ns;
        self.blocks_read = sum(self.blocks_read, cost.blocks_read);
        self.blocks_written = sum(self.blocks_written, cost.blocks_written);
    }

    /// A sum per operation.
    pub fn per_operation(&self, sum: f64) -> f64 {
        sum / self.operations.max(1) as f64
    }
}

impl ProgramIndex {
    /// Measures the pipe with numbers such as `like`.
    ///
    /// # Errors
    /// As for all requests: [`crate::Error::Program`].
    pub fn measure_pipe(&mut self, like: &[u64]) -> Result<PipeCost> {
        let numbers: Vec<u64> = like.iter().copied().cycle().take(ECHO_NUMBERS).collect();
        let round_trip_ns = self.median_echo_ns(&[], 0)?;
        let in_ns = self.median_echo_ns(&numbers, 0)?;
        let out_ns = self.median_echo_ns(&numbers, ECHO_TIMES)?;
        let count = numbers.len().max(1) as f64;
        Ok(PipeCost {
            round_trip_ns,
            number_in_ns: (in_ns - round_trip_ns).max(0.0) / count,
            number_out_ns: (out_ns - in_ns).max(0.0) / (count * ECHO_TIMES as f64),
        })
    }

    fn median_echo_ns(&mut self, numbers: &[u64], times: u64) -> Result<f64> {
        let mut times_ns = (0..ECHOES).map(|_| self.echo(numbers, times)).collect::<Result<Vec<_>>>()?;
        times_ns.sort_unstable();
        Ok(times_ns.get(ECHOES / 2).copied().unwrap_or(0) as f64)
    }

    /// Loads sorted keys, each with its `value`.
    ///
    /// # Errors
    /// Those of `keys`, and as for all requests.
    pub fn bulk_load(
        &mut self,
        keys: impl IntoIterator<Item = Result<u64>>,
        value: fn(u64) -> u64,
        pipe: &PipeCost,
    ) -> Result<ProgramWork> {
        let mut work = ProgramWork::default();
        let mut keys = keys.into_iter();
        loop {
            let mut pairs = Vec::with_capacity(2 * LOAD_PAIRS);
            for key in keys.by_ref().take(LOAD_PAIRS) {
                let key = key?;
                pairs.extend([key, value(key)]);
            }
            let numbers = pairs.len();
            let cost = if numbers == 0 { self.build()? } else { self.load(pairs)? };
            work.add(numbers / 2, cost, pipe.exchange_ns(numbers, 0));
            if numbers == 0 {
                return Ok(work);
            }
        }
    }

    /// Looks up a batch of keys, whose right values `expected` gives, and adds it to `work`.
    ///
    /// # Errors
    /// [`super::ProgramFault::WrongAnswer`], and as for all requests.
    pub fn gets(
        &mut self,
        keys: &[u64],
        expected: impl Fn(u64) -> Option<u64>,
        pipe: &PipeCost,
        work: &mut ProgramWork,
    ) -> Result<()> {
        if !keys.is_empty() {
            let cost = self.get(keys, expected)?;
            work.add(keys.len(), cost, pipe.exchange_ns(keys.len(), keys.len()));
        }
        Ok(())
    }

    /// Scans `entries` from each key of a batch on. `sorted` has all keys of the index, and `value` gives their values.
    ///
    /// # Errors
    /// As for [`Self::gets`].
    pub fn scans(
        &mut self,
        keys: &[u64],
        entries: usize,
        sorted: &[u64],
        value: fn(u64) -> u64,
        pipe: &PipeCost,
        work: &mut ProgramWork,
    ) -> Result<()> {
        let from = |key: u64| sorted[sorted.partition_point(|other| *other < key)..].iter().take(entries);
        let expected = |key: u64| from(key).flat_map(|&key| [key, value(key)]).collect::<Vec<u64>>();
        if !keys.is_empty() {
            let cost = self.scan(keys, entries as u64, expected)?;
            let numbers_out: usize = keys.iter().map(|&key| 2 * from(key).len()).sum();
            work.add(keys.len(), cost, pipe.exchange_ns(keys.len(), numbers_out));
        }
        Ok(())
    }

    /// Inserts a batch of new keys, each with its `value`, as one commit.
    ///
    /// # Errors
    /// As for [`Self::gets`].
    pub fn inserts(
        &mut self,
        keys: &[u64],
        value: fn(u64) -> u64,
        pipe: &PipeCost,
        work: &mut ProgramWork,
    ) -> Result<()> {
        if !keys.is_empty() {
            let cost = self.insert(keys.iter().flat_map(|&key| [key, value(key)]).collect())?;
            work.add(keys.len(), cost, pipe.exchange_ns(2 * keys.len(), 0));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_known_only_if_every_batch_counts_them() {
        let cost = Cost { wall_ns: 10, program_ns: 4, blocks_read: Some(3), blocks_written: None };
        let mut work = ProgramWork::default();
        work.add(2, cost, 1.0);
        work.add(2, Cost { blocks_written: Some(1), ..cost }, 1.5);
        assert_eq!((work.operations, work.blocks_read, work.blocks_written), (4, Some(6), None));
        assert_eq!((work.per_operation(work.wall_ns), work.pipe_ns), (5.0, 2.5));
    }
}
