//! A generator of ranks by Zipf's law, in constant time and memory per draw.

use crate::math::{ln, power};
use crate::random::Random;

/// Ranks from 1 to `count`, rank r with a probability proportional to r^-skew.
///
/// W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", ACM
/// TOMACS 6 (3), 1996: draw from the integral of x^-skew, round, and reject what the histogram does not cover.
#[derive(Debug, Clone)]
pub struct ZipfRanks {
    count: f64,
    skew: f64,
    /// The integral up to the left and the right end of what is drawn from.
    left: f64,
    right: f64,
    /// A point no further than this below its rank needs no test.
    certain: f64,
}

impl ZipfRanks {
    /// The law for `count` ranks, at least one, and a skew that is not negative; skew 0 is uniform.
    pub fn new(count: u64, skew: f64) -> Self {
        let mut law = Self { count: count.max(1) as f64, skew, left: 0.0, right: 0.0, certain: 0.0 };
        law.left = law.integral(1.5) - 1.0;
        law.right = law.integral(law.count + 0.5);
        law.certain = 2.0 - law.inverse(law.integral(2.5) - power(2.0, -skew));
        law
    }

    /// A rank.
    pub fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.right + random.unit() * (self.left - self.right);
            let point = self.inverse(area);
            let rank = point.round().clamp(1.0, self.count);
            if rank - point <= self.certain || area >= self.integral(rank + 0.5) - power(rank, -self.skew) {
                return rank as u64;
            }
        }
    }

    /// Integral of x^-skew, up to a constant.
    fn integral(&self, x: f64) -> f64 {
        if self.skew == 1.0 { ln(x) } else { (power(x, 1.0 - self.skew) - 1.0) / (1.0 - self.skew) }
    }

    fn inverse(&self, area: f64) -> f64 {
        if self.skew == 1.0 {
            return crate::math::exp(area);
        }
        let base = 1.0 + area * (1.0 - self.skew);
        if base <= 0.0 { self.count } else { power(base, 1.0 / (1.0 - self.skew)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_come_as_often_as_the_law_says() {
        let (count, draws) = (50, 200_000);
        for skew in [0.0, 0.5, 0.99, 1.0, 2.0] {
            let law = ZipfRanks::new(count, skew);
            let mut random = Random::new(1, "zipf test");
            let mut found = vec![0u32; count as usize];
            for _ in 0..draws {
                found[law.draw(&mut random) as usize - 1] += 1;
            }
            let total: f64 = (1..=count).map(|rank| (rank as f64).powf(-skew)).sum();
            for (rank, found) in (1..).zip(found) {
                let expected = f64::from(draws) * f64::from(rank).powf(-skew) / total;
                let far = (f64::from(found) - expected).abs() / expected.sqrt();
                assert!(far < 4.5, "skew {skew}, rank {rank}: {found} of {expected}");
            }
        }
    }

    #[test]
    fn many_ranks_and_a_single_one_stay_within_bounds() {
        let mut random = Random::new(2, "zipf test");
        for (count, skew) in [(1, 1.0), (2, 2.0), (800_000_000, 0.5), (1 << 60, 1.0), (1 << 60, 2.0)] {
            let law = ZipfRanks::new(count, skew);
            assert!((0..10_000).all(|_| (1..=count).contains(&law.draw(&mut random))), "{count} ranks, skew {skew}");
        }
    }
}
