//! Answers that are kept during a measurement, so that they can be compared when its clock has stopped.
//!
//! All answers would take the memory that is measured, and comparing them the time. So some are kept, spread evenly
//! over the run; the others are only counted.

/// Most answers that are kept, and most bytes of them.
const KEPT_MAX: u64 = 10_000;
const KEPT_BYTES_MAX: u64 = 16 << 20;

/// Every n-th answer of a measurement.
#[derive(Debug)]
pub(super) struct KeptAnswers {
    step: u64,
    /// Answers until the next one that is kept.
    left: u64,
    bytes: Vec<u8>,
    /// Of each kept answer: how many records there were, and the end of its bytes.
    kept: Vec<(usize, usize)>,
}

impl KeptAnswers {
    /// For a measurement of `count` answers of about this size.
    pub(super) fn new(count: u64, answer_bytes: usize) -> Self {
        let answer_bytes = (answer_bytes as u64).max(1);
        let most = KEPT_MAX.min(KEPT_BYTES_MAX / answer_bytes).max(1);
        let step = count.div_ceil(most).max(1);
        let kept = count.div_ceil(step) as usize;
        let bytes = kept as u64 * answer_bytes;
        // Allocated ahead: a measured operation never waits for a larger buffer.
        let bytes = Vec::with_capacity(bytes.min(KEPT_BYTES_MAX + answer_bytes) as usize);
        Self { step, left: 1, bytes, kept: Vec::with_capacity(kept) }
    }

    /// Takes note of an answer: the number of records found, and their bytes.
    #[inline]
    pub(super) fn offer(&mut self, found: usize, answer: &[u8]) {
        self.left -= 1;
        if self.left == 0 {
            self.left = self.step;
            self.keep(found, answer);
        }
    }

    fn keep(&mut self, found: usize, answer: &[u8]) {
        self.bytes.extend_from_slice(answer);
        self.kept.push((found, self.bytes.len()));
    }

    /// The answer of this number, counted from 0, if it was kept: how many records were found, and their bytes.
    pub(super) fn at(&self, number: u64) -> Option<(usize, &[u8])> {
        let index = number.is_multiple_of(self.step).then_some((number / self.step) as usize)?;
        let (found, end) = *self.kept.get(index)?;
        let start = index.checked_sub(1).and_then(|before| self.kept.get(before)).map_or(0, |(_, end)| *end);
        self.bytes.get(start..end).map(|bytes| (found, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_kept_evenly_and_found_by_their_number() {
        let mut answers = KeptAnswers::new(25_000, 8);
        for number in 0..25_000_u64 {
            answers.offer(1, &number.to_le_bytes());
        }
        assert_eq!(answers.kept.len(), 8_334);
        for number in 0..25_000_u64 {
            let expected = number.is_multiple_of(3).then(|| (1, number.to_le_bytes().to_vec()));
            assert_eq!(answers.at(number).map(|(found, bytes)| (found, bytes.to_vec())), expected);
        }
        assert_eq!(answers.at(25_002), None);
    }

    #[test]
    fn long_answers_are_few() {
        let mut answers = KeptAnswers::new(1_000, 1 << 20);
        for _ in 0..1_000 {
            answers.offer(0, &[]);
        }
        assert_eq!(answers.kept.len(), 16);
        assert_eq!(answers.at(0), Some((0, &[][..])));
    }
}
