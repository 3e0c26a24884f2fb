//! The source below every key set, which yields blocks of ascending keys.

use crate::error::{Error, Result};

/// Keys handed out at a time, about.
pub(super) const BLOCK_KEYS: usize = 4_096;

/// Ascending keys in blocks: a virtual call for each block instead of each key.
pub(super) trait Source: Send {
    /// Appends the next keys to an empty `block`; leaves it empty at the end.
    fn fill(&mut self, block: &mut Vec<u64>) -> Result<()>;
}

/// The source of a key set, or why there is none.
pub(super) type SourceResult = Result<Box<dyn Source>>;

/// The keys of a set in ascending order. After an error it ends.
pub struct KeyStream {
    source: Box<dyn Source>,
    block: Vec<u64>,
    at: usize,
    ended: bool,
}

impl std::fmt::Debug for KeyStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyStream").field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl KeyStream {
    pub(super) fn new(source: Box<dyn Source>) -> Self {
        Self { source, block: Vec::with_capacity(BLOCK_KEYS), at: 0, ended: false }
    }

    /// The keys not yet handed out of the current block, after reading a block where there is none; empty at the end.
    pub fn next_block(&mut self) -> Result<&[u64]> {
        if self.at == self.block.len() && !self.ended {
            self.block.clear();
            self.at = 0;
            let filled = self.source.fill(&mut self.block);
            self.ended = filled.is_err() || self.block.is_empty();
            if filled.is_err() {
                self.block.clear();
            }
            filled?;
        }
        let start = std::mem::replace(&mut self.at, self.block.len());
        Ok(&self.block[start..])
    }
}

impl Iterator for KeyStream {
    type Item = Result<u64>;

    fn next(&mut self) -> Option<Result<u64>> {
        if self.at == self.block.len() {
            match self.next_block() {
                Ok([]) => return None,
                Ok(_) => self.at = 0,
                Err(error) => return Some(Err(error)),
            }
        }
        let key = self.block[self.at];
        self.at += 1;
        Some(Ok(key))
    }
}

/// `count` keys, each made from its index; `make` sees the indexes 0, 1, 2, ... once each.
pub(super) struct Counted<F> {
    made: u64,
    count: u64,
    make: F,
}

impl<F: FnMut(u64) -> u64 + Send + 'static> Counted<F> {
    pub(super) fn boxed(count: u64, make: F) -> Box<dyn Source> {
        Box::new(Self { made: 0, count, make })
    }
}

impl<F: FnMut(u64) -> u64 + Send> Source for Counted<F> {
    fn fill(&mut self, block: &mut Vec<u64>) -> Result<()> {
        let end = self.count.min(self.made + BLOCK_KEYS as u64);
        block.extend((self.made..end).map(&mut self.make));
        self.made = end;
        Ok(())
    }
}

/// A source whose keys are changed one by one by an ascending function.
pub(super) struct Mapped<S, F> {
    inner: S,
    change: F,
    last: u64,
}

impl<S: Source, F: FnMut(u64) -> u64 + Send> Mapped<S, F> {
    pub(super) fn new(inner: S, change: F) -> Self {
        Self { inner, change, last: 0 }
    }
}

impl<S: Source, F: FnMut(u64) -> u64 + Send> Source for Mapped<S, F> {
    fn fill(&mut self, block: &mut Vec<u64>) -> Result<()> {
        self.inner.fill(block)?;
        for key in block {
            // A function that ascends in the reals may fall by a last bit in floating point.
            self.last = self.last.max((self.change)(*key));
            *key = self.last;
        }
        Ok(())
    }
}

/// Turns repeats into the next free integer: as many keys come out as went in, all different.
pub(super) struct Distinct<S> {
    inner: S,
    spec: String,
    /// The least key that may still come; none once `u64::MAX` is used.
    free: Option<u64>,
}

impl<S: Source + 'static> Distinct<S> {
    /// `spec` names the set where it runs out of integers.
    pub(super) fn boxed(inner: S, spec: String) -> Box<dyn Source> {
        Box::new(Self { inner, spec, free: Some(0) })
    }
}

impl<S: Source> Source for Distinct<S> {
    fn fill(&mut self, block: &mut Vec<u64>) -> Result<()> {
        self.inner.fill(block)?;
        for key in block {
            let Some(free) = self.free else {
                let detail = "too many keys fall on the largest integer; ask for fewer".into();
                return Err(Error::TooManyKeys { spec: self.spec.clone(), detail });
            };
            *key = free.max(*key);
            self.free = key.checked_add(1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_become_the_next_free_integers() -> Result<()> {
        let keys = [3, 3, 3, 4, 9, 9, u64::MAX - 1, u64::MAX - 1];
        let source = Distinct::boxed(CountedKeys(keys.to_vec()), "test".into());
        let found = KeyStream::new(source).collect::<Result<Vec<_>>>()?;
        assert_eq!(found, [3, 4, 5, 6, 9, 10, u64::MAX - 1, u64::MAX]);
        Ok(())
    }

    #[test]
    fn running_out_of_integers_is_an_error_and_not_an_end() {
        let source = Distinct::boxed(CountedKeys(vec![u64::MAX, u64::MAX]), "test".into());
        let mut stream = KeyStream::new(source);
        assert!(matches!(stream.next(), Some(Err(Error::TooManyKeys { .. }))));
        assert!(stream.next().is_none());
    }

    struct CountedKeys(Vec<u64>);

    impl Source for CountedKeys {
        fn fill(&mut self, block: &mut Vec<u64>) -> Result<()> {
            block.append(&mut self.0);
            Ok(())
        }
    }
}
