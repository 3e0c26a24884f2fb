//! The catalogue of generated key sets: our own, and those that a program has registered.

use std::collections::BTreeMap;

use super::extend::{KeyGenerator, registered};
use super::source::{Source, SourceResult};
use super::spec::{Fields, Plan, format_count};
use super::{arithmetic, distributions, hardness, nasty, poison, zipf};
use crate::error::{Error, Result};

/// A generated key set.
#[derive(Debug, Clone, Copy)]
pub struct Generator {
    /// The name that specifications start with.
    pub name: &'static str,
    /// Description of its keys, in one line.
    pub about: &'static str,
    /// Whether all its keys differ.
    pub distinct: bool,
    /// Maximum number of keys.
    pub most_keys: u64,
    /// Options beyond count and seed, with their default values.
    pub options: &'static [(&'static str, f64)],
    maker: Maker,
}

#[derive(Debug, Clone, Copy)]
enum Maker {
    /// A function of this crate.
    Own(fn(&Plan) -> Result<Box<dyn Source>>),
    /// A generator of another crate, whose keys are checked.
    Registered(&'static dyn KeyGenerator),
}

impl Generator {
    /// The plan of parsed fields: completes them with the defaults, and checks them.
    pub(super) fn plan(&self, spec: &str, fields: Fields, default_count: u64) -> Result<Plan> {
        let unknown = |name: &str| {
            let known: Vec<&str> = self.options.iter().map(|(option, _)| *option).chain(["seed"]).collect();
            Error::spec(spec, format!("{} has no option {name:?}; it has {}", self.name, known.join(", ")))
        };
        let mut options: BTreeMap<&'static str, f64> = self.options.iter().copied().collect();
        for (name, value) in &fields.options {
            let option = self.options.iter().find(|(option, _)| option == name).ok_or_else(|| unknown(name))?;
            if !(value.is_finite() && *value >= 0.0) {
                return Err(Error::spec(spec, format!("{name} must be a finite number, not negative")));
            }
            options.insert(option.0, *value);
        }
        let count = fields.count.unwrap_or(default_count.min(self.most_keys));
        let seed = fields.seed.unwrap_or(1);
        let mut name = format!("{}:{}:seed={seed}", self.name, format_count(count));
        for (option, value) in fields.options {
            name.push_str(&format!(":{option}={value}"));
        }
        let plan = Plan { name, count, seed, options };
        if count > self.most_keys {
            return Err(plan.too_many(format!("this set has at most {} keys", self.most_keys)));
        }
        Ok(plan)
    }

    /// The keys of a plan, from the first.
    pub(super) fn make(&self, plan: &Plan) -> SourceResult {
        match self.maker {
            Maker::Own(make) => make(plan),
            Maker::Registered(generator) => super::extend::checked(generator, plan),
        }
    }
}

/// All generated key sets: those of this crate, then registered ones.
pub fn generators() -> Vec<Generator> {
    let added = registered().into_iter().map(|generator| Generator {
        name: generator.name(),
        about: generator.about(),
        distinct: generator.distinct(),
        most_keys: generator.most_keys(),
        options: generator.options(),
        maker: Maker::Registered(generator),
    });
    GENERATORS.iter().copied().chain(added).collect()
}

/// Whether a generated key set of this crate has the name.
pub(super) fn is_own(name: &str) -> bool {
    GENERATORS.iter().any(|generator| generator.name == name)
}

const fn distinct(name: &'static str, about: &'static str, make: fn(&Plan) -> Result<Box<dyn Source>>) -> Generator {
    Generator { name, about, distinct: true, most_keys: u64::MAX, options: &[], maker: Maker::Own(make) }
}

const GENERATORS: &[Generator] = &[
    distinct("uniform", "uniform in 1..2^62", distributions::uniform),
    distinct("lognormal", "exp(N(0, 2)) x 10^12", distributions::lognormal),
    distinct("step", "runs of a thousand consecutive keys, jumps of up to 10^9 between them", arithmetic::step),
    distinct("normal", "N(2^55, 2^50)", distributions::normal),
    distinct("linear", "0, 1, 2, ...", arithmetic::linear),
    distinct("seg1", "runs of 100 consecutive keys with gaps (Bourbon's segmented-1%)", arithmetic::segmented_1),
    distinct("seg10", "runs of 10 consecutive keys with gaps (Bourbon's segmented-10%)", arithmetic::segmented_10),
    distinct("gmm", "a mixture of 100 normal distributions", distributions::gaussian_mixture),
    distinct("dense", "every second integer, at random", arithmetic::dense),
    distinct("sparse", "uniform in 0..2^64", distributions::sparse),
    Generator {
        options: &[("local", 815.0), ("global", 18.0)],
        ..distinct("hardness", "chosen segments per million keys at error 32 and 4096", hardness::hardness)
    },
    Generator {
        distinct: false,
        options: &[("skew", 1.0), ("repeats", 10.0)],
        ..distinct("zipf", "repeated keys, with multiplicities by Zipf's law", zipf::zipf)
    },
    distinct("dense-runs", "runs of consecutive keys at 0, 2^32, 2^53, 2^63 and up to 2^64 - 1", nasty::dense_runs),
    Generator { most_keys: 64, ..distinct("powers", "powers of two", nasty::powers_of_two) },
    distinct("nested-halves", "equal numbers of keys in each of 64 nested halves", nasty::nested_halves),
    distinct("far-runs", "two runs of consecutive keys, 2^63 apart", nasty::far_runs),
    distinct("clusters", "a thousand runs of consecutive keys, 2^43 apart", nasty::clusters),
    distinct("log-uniform", "uniform logarithms from 0 to 64 bits", distributions::log_uniform),
    Generator { most_keys: 92, ..distinct("fibonacci", "Fibonacci numbers", nasty::fibonacci) },
    distinct("bit-reversed", "0, 1, 2, ... with their 64 bits reversed", arithmetic::bit_reversed),
    distinct("near-linear", "multiples of 16 plus -1, 0 or 1", arithmetic::nearly_linear),
    Generator {
        options: &[("width", 65.0)],
        ..distinct("staircase", "runs of WIDTH consecutive keys, 2^20 apart", arithmetic::staircase)
    },
    Generator { distinct: false, ..distinct("equal", "one key, repeated", arithmetic::equal) },
    distinct("poison", "uniform keys, one in eleven placed to mislead a regression", poison::poison),
    Generator {
        options: &[("outliers", 20.0)],
        ..distinct("outliers", "ids below a thousand times the count, and a few near 2^64", distributions::outliers)
    },
];
