//! Request distributions over the keys of a growing index.

use std::path::PathBuf;
use std::str::FromStr;

use super::population::Population;
use super::trace::{self, Trace};
use super::zipf::ZipfRanks;
use crate::error::{Error, Result};
use crate::math::{exp, ln};
use crate::random::{Permutation, Random};

/// Default share of the keys that are hot, and of the requests for them.
const HOT_SHARES: (f64, f64) = (0.01, 0.9);
/// Share of the newest keys in YCSB's exponential distribution, and of the requests for them.
const NEW_SHARES: (f64, f64) = (0.857_142_857, 0.95);
/// All requests in a share of the keys is no exponential law.
const MOST_NEW_REQUESTS: f64 = 0.999_999;
/// Zipf's law is recomputed when the number of keys has grown by 1/N.
const REFRESH: u64 = 16;

/// A distribution of requests over the keys that are present.
#[derive(Debug, Clone, PartialEq)]
pub enum Requests {
    /// Every present key is as likely as any other.
    Uniform,
    /// Zipf's law; popular keys lie scattered over the key space, those that come in are the least popular.
    Zipf {
        /// The exponent.
        skew: f64,
    },
    /// A run of neighbouring keys takes most requests, the rest are uniform.
    Hotspot {
        /// Share of the bulk-loaded keys that are hot.
        keys: f64,
        /// Share of the requests that go to them.
        requests: f64,
    },
    /// Zipf's law over age: the key that came in last is the most popular.
    Latest {
        /// The exponent.
        skew: f64,
    },
    /// An exponential law over age: the key that came in last is the most popular, and a share of the newest keys takes
    /// a share of the requests (YCSB).
    Exponential {
        /// Share of the keys, the newest ones, that
        keys: f64,
        /// this share of the requests goes to.
        requests: f64,
    },
    /// The bulk-loaded keys in ascending order, from a random one on, from the first again after the last.
    Sequential,
    /// As other requests, but after a number of draws other bulk-loaded keys are the popular ones.
    Shifting {
        /// What is drawn between two changes.
        requests: Box<Self>,
        /// Draws between two changes.
        every: u64,
    },
    /// A recorded trace of little-endian u32 numbers, spread evenly and in order over the bulk-loaded keys.
    Trace(PathBuf),
}

impl Requests {
    /// The skew of YCSB's Zipf and latest distributions.
    pub const YCSB_SKEW: f64 = 0.99;
}

impl FromStr for Requests {
    type Err = Error;

    /// Reads `uniform`, `sequential`, `zipf[:SKEW]`, `latest[:SKEW]`, `hotspot[:KEYS,REQUESTS]`,
    /// `exponential[:KEYS,REQUESTS]`, `shifting:REQUESTS,EVERY` or the path of a `.u32` file.
    fn from_str(text: &str) -> Result<Self> {
        if text.ends_with(".u32") {
            return Ok(Self::Trace(text.into()));
        }
        let (name, option) = text.split_once(':').map_or((text, None), |(name, option)| (name, Some(option)));
        let number = |option: &str, most: f64| match option.parse::<f64>() {
            Ok(number) if (0.0..=most).contains(&number) => Ok(number),
            _ => Err(Error::spec(text, format!("{option:?} is not a number from 0 to {most}"))),
        };
        let skew = || option.map_or(Ok(Self::YCSB_SKEW), |option| number(option, 100.0));
        let shares = |option: &str, most: f64| {
            let (keys, requests) = option
                .split_once(',')
                .ok_or_else(|| Error::spec(text, format!("{name} takes two shares, such as {name}:0.01,0.9")))?;
            Ok((number(keys, 1.0)?, number(requests, most)?))
        };
        match (name, option) {
            ("uniform", None) => Ok(Self::Uniform),
            ("sequential", None) => Ok(Self::Sequential),
            ("zipf", _) => Ok(Self::Zipf { skew: skew()? }),
            ("latest", _) => Ok(Self::Latest { skew: skew()? }),
            ("hotspot", option) => {
                let (keys, requests) = option.map_or(Ok(HOT_SHARES), |option| shares(option, 1.0))?;
                Ok(Self::Hotspot { keys, requests })
            }
            ("shifting", option) => shifting(text, option.unwrap_or_default()),
            ("exponential", option) => {
                let (keys, requests) = option.map_or(Ok(NEW_SHARES), |option| shares(option, MOST_NEW_REQUESTS))?;
                Ok(Self::Exponential { keys, requests })
            }
            _ => Err(Error::spec(
                text,
                "requests are uniform, sequential, zipf[:SKEW], latest[:SKEW], hotspot[:KEYS,REQUESTS], \
                 exponential[:KEYS,REQUESTS], shifting:REQUESTS,EVERY or a .u32 trace",
            )),
        }
    }
}

/// Reads what follows `shifting:`.
fn shifting(text: &str, option: &str) -> Result<Requests> {
    let refused = || {
        Error::spec(
            text,
            "shifting takes zipf or hotspot requests and a number of draws, such \
         as shifting:zipf:0.99,100000",
        )
    };
    let (requests, every) = option.rsplit_once(',').ok_or_else(refused)?;
    let every = every.parse().ok().filter(|every| *every > 0).ok_or_else(refused)?;
    match requests.parse()? {
        requests @ (Requests::Zipf { .. } | Requests::Hotspot { .. }) => {
            Ok(Requests::Shifting { requests: Box::new(requests), every })
        }
        _ => Err(refused()),
    }
}

impl std::fmt::Display for Requests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf { skew } => write!(f, "zipf:{skew}"),
            Self::Latest { skew } => write!(f, "latest:{skew}"),
            Self::Hotspot { keys, requests } => write!(f, "hotspot:{keys},{requests}"),
            Self::Exponential { keys, requests } => write!(f, "exponential:{keys},{requests}"),
            Self::Sequential => f.write_str("sequential"),
            Self::Shifting { requests, every } => write!(f, "shifting:{requests},{every}"),
            Self::Trace(path) => f.write_str(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()),
        }
    }
}

/// Draws requests.
#[derive(Debug)]
pub struct Chooser<'p> {
    population: &'p Population,
    requests: Requests,
    random: Random,
    /// Scatters popularity over the bulk-loaded keys.
    scatter: Permutation,
    /// Zipf's law, and for how many keys it was drawn up.
    law: Option<(ZipfRanks, u64)>,
    /// First hot key, or the next one of a sequence.
    start: u64,
    trace: Option<(Trace, usize)>,
    /// Draws after which other keys are popular, and draws until then.
    shift: Option<(u64, u64)>,
}

impl<'p> Chooser<'p> {
    /// Draws from the keys of a population.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Spec`] for a trace that cannot be read; [`Error::NoLookups`] where nothing is
    /// bulk-loaded.
    pub fn new(population: &'p Population, requests: &Requests, seed: u64) -> Result<Self> {
        let loaded = population.loaded().len() as u64;
        if loaded == 0 {
            let detail = "no key is bulk-loaded, so that there is nothing to ask for; take a larger set".into();
            return Err(Error::NoLookups { name: requests.to_string(), detail });
        }
        let mut random = Random::new(seed, "requests");
        let trace = match requests {
            Requests::Trace(path) => {
                let trace = trace::read(path)?;
                let start = random.below(trace.ranks.len() as u64) as usize;
                Some((trace, start))
            }
            _ => None,
        };
        let (requests, shift) = match requests {
            Requests::Shifting { requests, every } => (requests.as_ref(), Some((*every, *every))),
            _ => (requests, None),
        };
        Ok(Self {
            population,
            requests: requests.clone(),
            scatter: Permutation::new(loaded, &mut random),
            law: None,
            start: random.below(loaded),
            trace,
            random,
            shift,
        })
    }

    /// A key that is present when `inserted` of the keys to come have come in.
    pub fn next_key(&mut self, inserted: usize) -> u64 {
        let loaded = self.population.loaded().len() as u64;
        let present = loaded + inserted as u64;
        if let Some((every, left)) = self.shift {
            if left == 0 {
                self.scatter = Permutation::new(loaded, &mut self.random);
                self.start = self.random.below(loaded);
            }
            self.shift = Some((every, if left == 0 { every } else { left } - 1));
        }
        let place = match self.requests {
            Requests::Uniform => self.random.below(present),
            Requests::Zipf { skew } => self.rank(skew, present) - 1,
            Requests::Latest { skew } => present - self.rank(skew, present),
            Requests::Hotspot { keys, requests } if self.random.unit() < requests => {
                let hot = ((keys * loaded as f64) as u64).max(1);
                return self.population.key((self.start + self.random.below(hot)) % loaded);
            }
            Requests::Hotspot { .. } => self.random.below(present),
            Requests::Exponential { keys, requests } => present - 1 - self.age(keys, requests, present),
            Requests::Sequential => {
                let place = self.start;
                self.start = (place + 1) % loaded;
                return self.population.key(place);
            }
            Requests::Trace(_) => return self.population.key(self.traced(loaded)),
            // The requests within are drawn instead.
            Requests::Shifting { .. } => self.random.below(present),
        };
        // Neighbours in age or popularity are none in the key space: bulk-loaded keys change places.
        self.population.key(self.scatter.apply(place))
    }

    /// A rank of Zipf's law over the keys that are present, from 1.
    fn rank(&mut self, skew: f64, present: u64) -> u64 {
        let law = match self.law.take() {
            Some((law, count)) if present < count + count / REFRESH + 1 => (law, count),
            _ => (ZipfRanks::new(present, skew), present),
        };
        let rank = law.0.draw(&mut self.random);
        self.law = Some(law);
        rank
    }

    /// How many of the keys that are present came in later: at most `keys` of them for a share `requests` of the draws.
    fn age(&mut self, keys: f64, requests: f64, present: u64) -> u64 {
        let mean = keys * present as f64 / -ln(1.0 - requests);
        // No key is older than the oldest.
        let oldest = exp(-(present as f64) / mean);
        let age = -ln(1.0 - self.random.unit() * (1.0 - oldest)) * mean;
        (age as u64).min(present - 1)
    }

    /// The place of the trace's next access among `loaded` keys.
    fn traced(&mut self, loaded: u64) -> u64 {
        let Some((trace, at)) = &mut self.trace else { return 0 };
        let rank = trace.ranks.get(*at).copied().unwrap_or(0);
        *at = (*at + 1) % trace.ranks.len().max(1);
        (u128::from(rank) * u128::from(loaded) / u128::from(trace.distinct.max(1))) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(requests: &str, draws: usize) -> Result<Vec<u64>> {
        let population = Population::halves((0..20_000).collect(), 1);
        let mut chooser = Chooser::new(&population, &requests.parse()?, 1)?;
        Ok((0..draws).map(|draw| chooser.next_key(draw * 10_000 / draws)).collect())
    }

    #[test]
    fn only_present_keys_are_asked_for() -> Result<()> {
        let population = Population::halves((0..20_000).collect(), 1);
        for requests in ["uniform", "sequential", "zipf:0.99", "latest", "hotspot", "exponential"] {
            let mut chooser = Chooser::new(&population, &requests.parse()?, 7)?;
            for inserted in (0..10_000).step_by(7) {
                let key = chooser.next_key(inserted);
                let present =
                    population.loaded().binary_search(&key).is_ok() || population.coming()[..inserted].contains(&key);
                assert!(present, "{requests}: {key} after {inserted} inserts");
            }
        }
        Ok(())
    }

    #[test]
    fn hot_keys_are_neighbours_and_popular_ones_are_not() -> Result<()> {
        let mut hot = drawn("hotspot:0.01,1", 5_000)?;
        hot.sort_unstable();
        hot.dedup();
        assert!((90..=100).contains(&hot.len()) && hot.windows(2).filter(|pair| pair[1] - pair[0] > 30).count() <= 1);
        let mut popular = drawn("zipf:1", 5_000)?;
        popular.sort_unstable();
        let mut runs: Vec<(usize, u64)> = popular.chunk_by(|a, b| a == b).map(|run| (run.len(), run[0])).collect();
        runs.sort_unstable_by(|a, b| b.cmp(a));
        assert!(runs[0].0 > 300 && !runs[..10].is_sorted_by_key(|(_, key)| *key), "{:?}", &runs[..10]);
        Ok(())
    }

    #[test]
    fn other_keys_become_popular_when_requests_shift() -> Result<()> {
        let asked = drawn("shifting:hotspot:0.01,1,1000", 3_000)?;
        let phases: Vec<std::collections::BTreeSet<u64>> =
            asked.chunks(1_000).map(|phase| phase.iter().copied().collect()).collect();
        assert!(phases.iter().all(|phase| phase.len() <= 100), "each phase asks for one hundredth of the keys");
        assert!(phases[0].is_disjoint(&phases[1]) && phases[1].is_disjoint(&phases[2]), "{phases:?}");
        Ok(())
    }

    #[test]
    fn the_latest_keys_are_asked_for_most() -> Result<()> {
        let population = Population::halves((0..20_000).collect(), 1);
        let mut chooser = Chooser::new(&population, &Requests::Latest { skew: 1.0 }, 3)?;
        let newest = population.coming()[..9_000].iter().rev().take(90).copied().collect::<Vec<_>>();
        let asked = (0..2_000).filter(|_| newest.contains(&chooser.next_key(9_000))).count();
        // The harmonic numbers of 90 and 19,000 are 5.08 and 10.43.
        assert!((850..1_100).contains(&asked), "{asked}");
        Ok(())
    }

    #[test]
    fn exponential_requests_go_to_the_newest_keys_in_the_share_that_is_stated() -> Result<()> {
        let population = Population::halves((0..20_000).collect(), 1);
        let mut chooser = Chooser::new(&population, &"exponential:0.25,0.75".parse()?, 3)?;
        let newest: std::collections::BTreeSet<u64> = population.coming()[5_000..].iter().copied().collect();
        let asked = (0..20_000).filter(|_| newest.contains(&chooser.next_key(10_000))).count();
        // The law ends at the oldest key, beyond which one draw in 256 would lie.
        assert!((14_800..15_300).contains(&asked), "{asked}");
        Ok(())
    }

    #[test]
    fn sequential_requests_ascend_and_begin_again() -> Result<()> {
        let asked = drawn("sequential", 10_001)?;
        assert_eq!(asked.windows(2).filter(|pair| pair[1] <= pair[0]).count(), 1);
        assert_eq!(asked.first(), asked.last());
        Ok(())
    }

    #[test]
    fn requests_are_read_as_they_are_written() -> Result<()> {
        let texts = ["uniform", "sequential", "zipf:0.5", "latest:2", "hotspot:0.1,0.8", "exponential:0.5,0.9"];
        for text in texts.into_iter().chain(["shifting:zipf:0.99,100000", "shifting:hotspot:0.1,0.8,5"]) {
            assert_eq!(text.parse::<Requests>()?.to_string(), text);
        }
        assert_eq!("zipf".parse::<Requests>()?, Requests::Zipf { skew: 0.99 });
        for text in [
            "",
            "uniform:1",
            "zipf:x",
            "hotspot:0.1",
            "hotspot:2,0.5",
            "exponential:0.5,1",
            "sequential:1",
            "trace",
            "shifting",
            "shifting:zipf:0.99",
            "shifting:zipf,0",
            "shifting:latest,5",
        ] {
            assert!(matches!(text.parse::<Requests>(), Err(Error::Spec { .. })), "{text}");
        }
        Ok(())
    }
}
