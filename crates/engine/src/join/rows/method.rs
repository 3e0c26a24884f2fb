//! Join methods: those of the engine, and the registry of those that other crates add.

use super::copy_method::CopyMethod;
use super::probe_method::JoinProbeMethod;
use crate::error::{Error, Result};
use std::fmt::{self, Debug, Display};
use std::hash::{Hash, Hasher};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::str::FromStr;
use std::sync::{PoisonError, RwLock};

/// The names of the methods of `ogive-research`, which lead to an error of their own while they are not registered.
const RESERVED: [&str; 7] = [
    "inlj:btree",
    "inlj:btree-iter",
    "inlj:pgm",
    "inlj:pgm-sampled",
    "inlj:radix-spline",
    "inlj:rmi",
    "partition:btree",
];

/// Registered methods, in the order of their registration.
static REGISTERED: RwLock<Vec<RegisteredMethod>> = RwLock::new(Vec::new());

/// The method of a join.
///
/// As text: `auto`, `merge`, `hash`, `inlj`, `inlj:index`, `partition`, and the names of registered methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JoinMethod {
    /// The method with the lowest predicted cost.
    #[default]
    Auto,
    /// Merges both relations in key order; sorts unsorted ones first.
    Merge,
    /// Builds a hash table over one relation and probes it with the other; partitions both if memory is short.
    Hash,
    /// Planned scan: reads the outer relation in key order, and of the inner table only the blocks located by its own
    /// index, in batches.
    Inlj,
    /// Probes an open [`Index`](crate::index::Index) or a store.
    InljIndex,
    /// Partitions both relations by a learned key distribution, and sorts each pair of partitions in memory.
    Partition,
    /// A method of another crate, by [`JoinMethod::probe`] or [`JoinMethod::copy`].
    #[doc(hidden)]
    Registered(RegisteredMethod),
}

/// The methods of the engine, with their names.
const OWN: [(JoinMethod, &str); 6] = [
    (JoinMethod::Auto, "auto"),
    (JoinMethod::Merge, "merge"),
    (JoinMethod::Hash, "hash"),
    (JoinMethod::Inlj, "inlj"),
    (JoinMethod::InljIndex, "inlj:index"),
    (JoinMethod::Partition, "partition"),
];

/// A method of another crate, and its number if it takes one.
#[derive(Clone, Copy)]
pub struct RegisteredMethod {
    implementation: MethodImplementation,
    /// The number of a method that takes one, unless it is the listed one.
    number: Option<u64>,
}

/// The two forms of registered methods.
#[derive(Clone, Copy)]
pub(in crate::join) enum MethodImplementation {
    Probe(&'static dyn JoinProbeMethod),
    Copy(&'static dyn CopyMethod),
}

impl JoinMethod {
    /// A method that probes a table by an index of its own, with the number under which the planner lists it.
    #[doc(hidden)]
    #[must_use]
    pub const fn probe(implementation: &'static dyn JoinProbeMethod) -> Self {
        Self::Registered(RegisteredMethod { implementation: MethodImplementation::Probe(implementation), number: None })
    }

    /// A method that copies both relations before it joins them.
    #[doc(hidden)]
    #[must_use]
    pub const fn copy(implementation: &'static dyn CopyMethod) -> Self {
        Self::Registered(RegisteredMethod { implementation: MethodImplementation::Copy(implementation), number: None })
    }

    /// The method with another number, as in `inlj:pgm:64`. Methods without a number are returned unchanged.
    #[must_use]
    pub fn with_number(self, number: u64) -> Self {
        match self {
            Self::Registered(method) if method.listed_number().is_some() => {
                Self::Registered(RegisteredMethod { number: Some(number), ..method })
            }
            other => other,
        }
    }

    /// Makes the method known to this program: it can be parsed and used, and the planner lists it. Registering a
    /// method again has no effect; the first method of a name stays. The methods of the engine need no registration.
    ///
    /// # Errors
    /// `Cause::Input` for a name that is not lowercase letters, digits, hyphens and colons, or that is the
    /// name of a method of the engine.
    pub fn register(self) -> Result<()> {
        let Self::Registered(method) = self else { return Ok(()) };
        let name = method.name();
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b':';
        if name.is_empty() || !name.bytes().all(is_plain) || OWN.iter().any(|(_, own)| *own == name) {
            return Err(Error::input(format!(
                "'{name}' cannot name a join method; use lowercase letters, digits, hyphens and colons, and no name \
                 of the engine's own methods"
            )));
        }
        let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
        if !registered.iter().any(|known| known.name() == name) {
            registered.push(method);
        }
        Ok(())
    }

    /// The methods that this program knows, [`Self::Auto`] first. A registered method follows the engine's method
    /// whose name its own continues: `inlj:btree` follows `inlj`.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner).clone();
        let family = |name: &'static str| name.split(':').next().unwrap_or(name);
        let mut all = Vec::with_capacity(OWN.len() + registered.len());
        for (own, own_name) in OWN {
            all.push(own);
            all.extend(
                registered.iter().filter(|method| family(method.name()) == own_name).copied().map(Self::Registered),
            );
        }
        let is_other = |method: &&RegisteredMethod| OWN.iter().all(|(_, own)| *own != family(method.name()));
        all.extend(registered.iter().filter(is_other).copied().map(Self::Registered));
        all
    }

    /// Ensures that a registered method is known to this program.
    ///
    /// # Errors
    /// [`Cause::UnregisteredMethod`](crate::Cause::UnregisteredMethod).
    pub(in crate::join) fn check(self) -> Result<()> {
        match self {
            Self::Registered(method) if !Self::all().iter().any(|known| known.is_like(self)) => {
                Err(Error::unregistered_method(method.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// Whether two methods differ at most in their numbers.
    pub(in crate::join) fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Registered(own), Self::Registered(other)) => own.name() == other.name(),
            _ => self == other,
        }
    }

    /// The registered method that copies both relations.
    pub(in crate::join) fn as_copy(self) -> Option<&'static dyn CopyMethod> {
        match self {
            Self::Registered(RegisteredMethod { implementation: MethodImplementation::Copy(copy), .. }) => Some(copy),
            _ => None,
        }
    }

    /// Whether the method looks keys up in an index of one relation.
    pub(in crate::join) fn is_lookup(self) -> bool {
        match self {
            Self::Inlj | Self::InljIndex => true,
            Self::Registered(method) => matches!(method.implementation, MethodImplementation::Probe(_)),
            _ => false,
        }
    }
}

impl RegisteredMethod {
    /// The name of the method, without its number.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.implementation {
            MethodImplementation::Probe(probe) => probe.name(),
            MethodImplementation::Copy(copy) => copy.name(),
        }
    }

    /// The number of the method; 0 if it takes none.
    #[must_use]
    pub fn number(self) -> u64 {
        self.number.or_else(|| self.listed_number()).unwrap_or(0)
    }

    pub(in crate::join) fn implementation(self) -> MethodImplementation {
        self.implementation
    }

    fn listed_number(self) -> Option<u64> {
        match self.implementation {
            MethodImplementation::Probe(probe) => probe.listed_number(),
            MethodImplementation::Copy(_) => None,
        }
    }
}

// A method is a constant: a panic cannot leave it in a state of its own.
impl UnwindSafe for RegisteredMethod {}
impl RefUnwindSafe for RegisteredMethod {}

impl PartialEq for RegisteredMethod {
    fn eq(&self, other: &Self) -> bool {
        (self.name(), self.number()) == (other.name(), other.number())
    }
}

impl Eq for RegisteredMethod {}

impl Hash for RegisteredMethod {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.name(), self.number()).hash(state);
    }
}

impl Debug for RegisteredMethod {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RegisteredMethod").field(&self.to_string()).finish()
    }
}

impl Display for RegisteredMethod {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.listed_number() {
            Some(_) => write!(formatter, "{}:{}", self.name(), self.number()),
            None => formatter.write_str(self.name()),
        }
    }
}

impl Display for JoinMethod {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registered(method) => Display::fmt(method, formatter),
            own => formatter.write_str(OWN.iter().find(|(method, _)| method == own).map_or("", |(_, name)| name)),
        }
    }
}

impl FromStr for JoinMethod {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let all = Self::all();
        if let Some(method) = all.iter().find(|method| method.to_string() == text) {
            return Ok(*method);
        }
        // A name that ends with a number.
        let numbered = text.rsplit_once(':');
        if let Some((name, number)) = numbered
            && let Some(method) = all.iter().find(|method| {
                matches!(method, Self::Registered(known) if known.name() == name && known.listed_number().is_some())
            })
        {
            return match number.parse() {
                Ok(number) if number > 0 => Ok(method.with_number(number)),
                _ => Err(Error::input(format!("the error of {text:?} is not a positive integer"))),
            };
        }
        let is_known =
            |name: &str| all.iter().any(|method| matches!(method, Self::Registered(known) if known.name() == name));
        let is_reserved = |name: &str| RESERVED.contains(&name) && !is_known(name);
        if is_reserved(text) || numbered.is_some_and(|(name, _)| is_reserved(name)) {
            return Err(Error::unregistered_method(text));
        }
        let names: Vec<String> = all.iter().map(Self::to_string).collect();
        Err(Error::input(format!("{text:?} is not a join method; give one of {}", names.join(", "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;
    use crate::index::extend::Tunable;
    use crate::join::extend::{CopiedRelation, CopyJob, InnerTable, JoinCostModel, JoinProbe};
    use crate::join::{JoinCost, JoinSide};

    /// A method that never runs.
    #[derive(Debug)]
    struct Named(&'static str, Option<u64>);

    impl JoinProbeMethod for Named {
        fn name(&self) -> &'static str {
            self.0
        }

        fn listed_number(&self) -> Option<u64> {
            self.1
        }

        fn cost(&self, _: &JoinCostModel<'_>, _: JoinSide, _: u64) -> Result<JoinCost, String> {
            Err("it never runs".into())
        }

        fn prepare(&self, _: InnerTable<'_>, _: u64, _: &[Tunable]) -> Result<Box<dyn JoinProbe>> {
            Err(Error::input("it never runs"))
        }
    }

    impl CopyMethod for Named {
        fn name(&self) -> &'static str {
            self.0
        }

        fn cost(&self, _: &JoinCostModel<'_>) -> Result<JoinCost, String> {
            Err("it never runs".into())
        }

        fn copy(&self, _: &mut CopyJob<'_>) -> Result<[CopiedRelation; 2]> {
            Err(Error::input("it never runs"))
        }
    }

    #[test]
    fn methods_are_read_as_they_are_written() {
        for (method, name) in OWN {
            assert_eq!((method.to_string().as_str(), name.parse::<JoinMethod>().unwrap()), (name, method));
        }
        for wrong in ["", "inlj:", "inlj:unknown", "inlj:unknown:3", "Merge", "merge:3"] {
            assert!(matches!(wrong.parse::<JoinMethod>(), Err(Error { cause: Cause::Input, .. })), "{wrong}");
        }
    }

    #[test]
    fn registered_methods_are_read_as_they_are_written_and_follow_their_family() {
        const PLAIN: JoinMethod = JoinMethod::probe(&Named("inlj:plain", None));
        const NUMBERED: JoinMethod = JoinMethod::probe(&Named("inlj:numbered", Some(128)));
        const COPY: JoinMethod = JoinMethod::copy(&Named("partition:copy", None));
        const ALONE: JoinMethod = JoinMethod::copy(&Named("alone", None));
        assert!("inlj:plain".parse::<JoinMethod>().is_err());
        std::thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(|| PLAIN.register().unwrap())));
        [NUMBERED, COPY, ALONE, PLAIN, JoinMethod::Merge].into_iter().for_each(|method| method.register().unwrap());
        for method in [PLAIN, NUMBERED, NUMBERED.with_number(7), COPY, ALONE] {
            assert_eq!(method.to_string().parse::<JoinMethod>().unwrap(), method);
        }
        assert_eq!(NUMBERED.to_string(), "inlj:numbered:128");
        assert_eq!(NUMBERED.with_number(128), NUMBERED);
        assert_ne!(NUMBERED.with_number(7), NUMBERED);
        assert_eq!(PLAIN.with_number(7), PLAIN);
        for wrong in ["inlj:numbered", "inlj:numbered:0", "inlj:numbered:-1", "inlj:plain:7"] {
            assert!(matches!(wrong.parse::<JoinMethod>(), Err(Error { cause: Cause::Input, .. })), "{wrong}");
        }
        let names: Vec<String> = JoinMethod::all().iter().map(JoinMethod::to_string).collect();
        let at = |name: &str| names.iter().position(|known| known == name).unwrap();
        assert_eq!(names.iter().filter(|name| *name == "inlj:plain").count(), 1);
        assert!(at("inlj") < at("inlj:plain") && at("inlj:plain") < at("inlj:numbered:128"), "{names:?}");
        assert!(at("inlj:numbered:128") < at("inlj:index") && at("partition") < at("partition:copy"), "{names:?}");
        assert_eq!(at("alone"), names.len() - 1);
    }

    #[test]
    fn names_of_the_engine_and_names_that_are_no_words_are_refused() {
        for name in ["", "merge", "inlj:index", "Inlj:x", "inlj x"] {
            let method = JoinMethod::probe(Box::leak(Box::new(Named(name, None))));
            assert!(matches!(method.register(), Err(Error { cause: Cause::Input, .. })), "{name:?}");
        }
    }

    #[test]
    fn methods_of_the_papers_are_named_by_the_error() {
        for text in ["inlj:btree", "inlj:pgm:64", "partition:btree"] {
            let error = text.parse::<JoinMethod>().unwrap_err();
            assert!(
                matches!(&error, Error { cause: Cause::UnregisteredMethod, .. } if error.name() == text),
                "{error:?}"
            );
            assert!(error.to_string().contains("`ogive-research`"), "{error}");
        }
        const ABSENT: JoinMethod = JoinMethod::probe(&Named("inlj:absent", None));
        assert!(matches!(ABSENT.check(), Err(Error { cause: Cause::UnregisteredMethod, .. })));
        assert!(JoinMethod::Hash.check().is_ok());
    }
}
