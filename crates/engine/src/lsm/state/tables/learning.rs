//! The learning policy as an option of a store, and the registry of policies by name.

use super::learner::{Learner, LearningPolicy};
use crate::error::{Error, Result};
use std::fmt::{self, Debug, Display};
use std::sync::{Arc, PoisonError, RwLock};

/// The name of the default.
const CODED_NAME: &str = "coded";

/// The names of the policies of `ogive-research`.
const RESERVED: [&str; 5] = ["never", "offline", "always", "cost-benefit", "inline"];

/// Registered policies, in the order of their registration.
static REGISTERED: RwLock<Vec<Learning>> = RwLock::new(Vec::new());

/// The way in which a store searches its tables: by exact separators, or by the models of a policy of papers, which
/// `ogive-research` has.
#[derive(Clone, Default)]
pub struct Learning(Option<Arc<dyn LearningPolicy>>);

impl Learning {
    /// The default: the exact separators of tables, without models.
    pub const CODED: Self = Self(None);

    /// The policy of another crate. It need not be registered.
    #[doc(hidden)]
    pub fn new(policy: impl LearningPolicy + 'static) -> Self {
        Self(Some(Arc::new(policy)))
    }

    /// Makes the policy known to [`Self::named`]. The first one of a name stays.
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for a name that is not lowercase letters, digits and hyphens.
    #[doc(hidden)]
    pub fn register(self) -> Result<()> {
        let name = self.name();
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.is_empty() || !name.bytes().all(is_plain) {
            return Err(Error::input(format!(
                "'{name}' cannot name a learning policy; use lowercase letters, digits and hyphens"
            )));
        }
        let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
        if name != CODED_NAME && !registered.iter().any(|other| other.name() == name) {
            registered.push(self);
        }
        Ok(())
    }

    /// The default and the registered policies.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
        std::iter::once(Self::CODED).chain(registered.iter().cloned()).collect()
    }

    /// The policy with this name.
    ///
    /// # Errors
    /// `Cause::UnregisteredPolicy` for a policy of `ogive-research` that this program has not registered;
    /// [`Cause::Input`](crate::Cause::Input) for other names, with the valid ones.
    pub fn named(name: &str) -> Result<Self> {
        let all = Self::all();
        if let Some(found) = all.iter().find(|learning| learning.name() == name) {
            return Ok(found.clone());
        }
        if RESERVED.contains(&name) {
            return Err(Error::unregistered_policy(name));
        }
        let names: Vec<&str> = all.iter().map(Self::name).collect();
        Err(Error::input(format!("unknown learning policy {name:?}; use one of {}", names.join(", "))))
    }

    /// The name of the policy in commands and documents.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.0.as_ref().map_or(CODED_NAME, |policy| policy.name())
    }

    /// Begins learning for a store with this memory limit, if there is a policy.
    pub(in crate::lsm) fn start(&self, memory_bytes: u64) -> Option<Arc<dyn Learner>> {
        Some(self.0.as_ref()?.start(memory_bytes))
    }
}

impl Debug for Learning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(policy) => formatter.debug_tuple("Learning").field(policy).finish(),
            None => formatter.write_str("Learning(coded)"),
        }
    }
}

impl Display for Learning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;

    #[derive(Debug)]
    struct NamedPolicy(&'static str);

    impl LearningPolicy for NamedPolicy {
        fn name(&self) -> &'static str {
            self.0
        }

        fn start(&self, _memory_bytes: u64) -> Arc<dyn Learner> {
            unreachable!("no store is opened with it")
        }
    }

    #[test]
    fn policies_have_names_that_lead_back() {
        assert_eq!(Learning::named("coded").unwrap().name(), Learning::default().name());
        Learning::new(NamedPolicy("mine")).register().unwrap();
        Learning::new(NamedPolicy("mine")).register().unwrap();
        assert_eq!(Learning::named("mine").unwrap().to_string(), "mine");
        assert_eq!(Learning::all().iter().filter(|learning| learning.name() == "mine").count(), 1);
        let error = Learning::new(NamedPolicy("Mine")).register().unwrap_err();
        assert!(matches!(error, Error { cause: Cause::Input, .. }), "{error}");
        let error = Learning::named("rmi").unwrap_err().to_string();
        assert!(error.contains("use one of coded"), "{error}");
    }
}
