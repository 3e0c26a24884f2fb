//! Key sets of other crates: the trait that they implement, their registration, and the check of what they yield.

use std::fmt::Debug;
use std::sync::{PoisonError, RwLock};

use super::catalog::is_own;
use super::source::{BLOCK_KEYS, Source, SourceResult};
use super::spec::Plan;
use crate::error::{Error, Result};

/// Key sets that this program has registered, in the order of registration.
static REGISTERED: RwLock<Vec<&'static dyn KeyGenerator>> = RwLock::new(Vec::new());

/// A generated key set of another crate, which takes part in every experiment under its name.
///
/// A generator is a constant. The same plan must give the same keys on every machine, or tables cannot be repeated;
/// [`crate::random::Random`] and [`crate::math`] are made for that.
///
/// ```
/// use ogive_research::Result;
/// use ogive_research::keys::spec::Plan;
/// use ogive_research::keys::{KeyGenerator, open, register};
///
/// #[derive(Debug)]
/// struct Squares;
///
/// impl KeyGenerator for Squares {
///     fn name(&self) -> &'static str {
///         "squares"
///     }
///
///     fn about(&self) -> &'static str {
///         "0, 1, 4, 9, ..."
///     }
///
///     fn most_keys(&self) -> u64 {
///         1 << 32
///     }
///
///     fn keys(&self, plan: &Plan) -> Result<Box<dyn Iterator<Item = Result<u64>> + Send>> {
///         Ok(Box::new((0..plan.count).map(|root| Ok(root * root))))
///     }
/// }
///
/// register(&Squares)?;
/// assert_eq!(open("squares:4")?.load()?, [0, 1, 4, 9]);
/// # Ok::<(), ogive_research::Error>(())
/// ```
pub trait KeyGenerator: Debug + Sync {
    /// The name that specifications start with: lowercase letters, digits and hyphens.
    fn name(&self) -> &'static str;

    /// Description of the keys, in one line.
    fn about(&self) -> &'static str;

    /// Whether all keys differ, which is checked.
    fn distinct(&self) -> bool {
        true
    }

    /// Maximum number of keys.
    fn most_keys(&self) -> u64 {
        u64::MAX
    }

    /// Options beyond count and seed, with their default values, none of which is negative.
    fn options(&self) -> &'static [(&'static str, f64)] {
        &[]
    }

    /// The keys of a plan: `plan.count` in ascending order, which is checked. Called anew for every pass, and once
    /// only to see whether the plan is accepted; so the work belongs into the iterator.
    ///
    /// # Errors
    /// [`Error::Spec`] or [`Plan::too_many`] for a plan that cannot be met; an error that the iterator yields ends it.
    fn keys(&self, plan: &Plan) -> Result<Box<dyn Iterator<Item = Result<u64>> + Send>>;
}

/// Registers a key set with this program: it is listed, and its name can be opened. Registering it again has no effect.
///
/// # Errors
/// [`Error::Generator`] for a name that is not lowercase letters, digits and hyphens, and for that of another key set.
pub fn register(generator: &'static dyn KeyGenerator) -> Result<()> {
    let name = generator.name();
    let refuse = |detail: &str| Err(Error::Generator { name: name.into(), detail: detail.into() });
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || !name.bytes().all(is_plain) {
        return refuse("a name has lowercase letters, digits and hyphens");
    }
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let former = registered.iter().find(|other| other.name() == name);
    // Constants have no identity, so what they say of themselves has to tell them apart.
    if is_own(name) || former.is_some_and(|former| former.about() != generator.about()) {
        return refuse("there is a key set of this name; choose another");
    }
    if former.is_none() {
        registered.push(generator);
    }
    Ok(())
}

/// The registered key sets.
pub(super) fn registered() -> Vec<&'static dyn KeyGenerator> {
    REGISTERED.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The keys of a registered generator, as long as they are as many and in the order that it states.
pub(super) fn checked(generator: &'static dyn KeyGenerator, plan: &Plan) -> SourceResult {
    let keys = generator.keys(plan)?;
    Ok(Box::new(Checked { keys, plan: plan.clone(), distinct: generator.distinct(), made: 0, last: None }))
}

/// Experiments rely on count and order, and a wrong set would blame the structures that it is loaded into.
struct Checked {
    keys: Box<dyn Iterator<Item = Result<u64>> + Send>,
    plan: Plan,
    distinct: bool,
    made: u64,
    last: Option<u64>,
}

impl Checked {
    fn wrong(&self, detail: String) -> Error {
        Error::Generator { name: self.plan.name.clone(), detail }
    }
}

impl Source for Checked {
    fn fill(&mut self, block: &mut Vec<u64>) -> Result<()> {
        while block.len() < BLOCK_KEYS {
            let Some(key) = self.keys.next().transpose()? else { break };
            if self.made == self.plan.count {
                return Err(self.wrong(format!("it yields more than {} keys", self.plan.count)));
            }
            if self.last.is_some_and(|last| key < last || self.distinct && key == last) {
                let order = if self.distinct { "greater than" } else { "at least" };
                let last = self.last.unwrap_or_default();
                return Err(self.wrong(format!("key {} is {key}, and must be {order} {last}", self.made)));
            }
            self.last = Some(key);
            self.made += 1;
            block.push(key);
        }
        if block.is_empty() && self.made < self.plan.count {
            return Err(self.wrong(format!("it yields {} of {} keys", self.made, self.plan.count)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{generators, open};

    /// Yields these keys, whatever the plan.
    #[derive(Debug)]
    struct Given(&'static str, &'static [u64], bool);

    impl KeyGenerator for Given {
        fn name(&self) -> &'static str {
            self.0
        }

        fn about(&self) -> &'static str {
            "given keys"
        }

        fn distinct(&self) -> bool {
            self.2
        }

        fn keys(&self, _: &Plan) -> Result<Box<dyn Iterator<Item = Result<u64>> + Send>> {
            Ok(Box::new(self.1.iter().map(|key| Ok(*key))))
        }
    }

    #[test]
    fn a_registered_set_is_listed_and_opened_by_its_name() -> Result<()> {
        register(&Given("given-3", &[1, 5, 5], false))?;
        register(&Given("given-3", &[1, 5, 5], false))?;
        assert_eq!(generators().iter().filter(|generator| generator.name == "given-3").count(), 1);
        let set = open("given-3:3")?;
        assert_eq!((set.name(), set.load()?), ("given-3:3:seed=1", vec![1, 5, 5]));
        Ok(())
    }

    #[test]
    fn names_that_are_taken_or_none_are_refused() {
        for name in ["", "Upper", "a:b", "uniform"] {
            let refused = register(Box::leak(Box::new(Given(name, &[], true))));
            assert!(matches!(refused, Err(Error::Generator { .. })), "{name:?}");
        }
        assert!(generators().iter().all(|generator| generator.about != "given keys" || generator.name != "uniform"));
    }

    #[test]
    fn keys_out_of_order_repeated_missing_or_too_many_are_errors() -> Result<()> {
        register(&Given("given-down", &[5, 4], false))?;
        register(&Given("given-twice", &[5, 5], true))?;
        register(&Given("given-one", &[5], true))?;
        for (spec, said) in [
            ("given-down:2", "key 1 is 4, and must be at least 5"),
            ("given-twice:2", "key 1 is 5, and must be greater than 5"),
            ("given-one:2", "it yields 1 of 2 keys"),
            ("given-one:0", "it yields more than 0 keys"),
        ] {
            let error = open(spec)?.load().map(|keys| format!("{keys:?}")).unwrap_err();
            assert!(matches!(error, Error::Generator { .. }) && error.to_string().contains(said), "{spec}: {error}");
        }
        Ok(())
    }
}
