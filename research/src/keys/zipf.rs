//! Repeated keys whose multiplicities follow Zipf's law.

use super::distributions::uniform;
use super::source::{BLOCK_KEYS, KeyStream, Source};
use super::spec::Plan;
use crate::error::{Error, Result};
use crate::math::power;
use crate::random::{Permutation, Random};

/// One key in `repeats` distinct, uniform keys; every key comes at least once, and the key of popularity rank r (from
/// 1, scattered over the key space) gets a share of the rest that is proportional to r^-skew.
pub(super) fn zipf(plan: &Plan) -> Result<Box<dyn Source>> {
    let (skew, repeats) = (plan.option("skew"), plan.option("repeats"));
    if repeats < 1.0 {
        return Err(Error::spec(&plan.name, "repeats, the mean number of records with one key, is at least 1"));
    }
    let distinct = ((plan.count as f64 / repeats) as u64).clamp(plan.count.min(1), plan.count);
    let keys = KeyStream::new(uniform(&Plan { count: distinct, ..plan.clone() })?);
    let total = (1..=distinct).map(|rank| power(rank as f64, -skew)).sum();
    let ranks = Permutation::new(distinct, &mut Random::new(plan.seed, "popularity"));
    let state = Repeated { keys, index: 0, distinct, extra: plan.count - distinct, given: 0, weight: 0.0, total };
    Ok(Box::new(ZipfRepeats { state, ranks, skew, key: 0, left: 0 }))
}

/// The split of the extra records over the keys, so far.
struct Repeated {
    keys: KeyStream,
    index: u64,
    distinct: u64,
    /// Records beyond one for each key, and how many of them are given out.
    extra: u64,
    given: u64,
    /// Sum of the weights so far, and of all.
    weight: f64,
    total: f64,
}

struct ZipfRepeats {
    state: Repeated,
    ranks: Permutation,
    skew: f64,
    key: u64,
    left: u64,
}

impl ZipfRepeats {
    /// Moves to the next key; false at the end.
    fn advance(&mut self) -> Result<bool> {
        let state = &mut self.state;
        let Some(key) = state.keys.next() else { return Ok(false) };
        self.key = key?;
        state.weight += power((self.ranks.apply(state.index) + 1) as f64, -self.skew);
        state.index += 1;
        // Rounding the running sum keeps the total exact; the last key takes what rounding left.
        let due = (state.extra as f64 * (state.weight / state.total)) as u64;
        let due = if state.index == state.distinct { state.extra } else { due.clamp(state.given, state.extra) };
        self.left = 1 + due - state.given;
        state.given = due;
        Ok(true)
    }
}

impl Source for ZipfRepeats {
    fn fill(&mut self, block: &mut Vec<u64>) -> Result<()> {
        while block.len() < BLOCK_KEYS {
            if self.left == 0 && !self.advance()? {
                return Ok(());
            }
            let now = self.left.min((BLOCK_KEYS - block.len()) as u64);
            block.extend(std::iter::repeat_n(self.key, now as usize));
            self.left -= now;
        }
        Ok(())
    }
}
