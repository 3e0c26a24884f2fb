//! Kinds of index: structures by name and code, and the registry of kinds that this program can open.

use crate::error::{Error, Result};
use crate::index::entries::word::Word;
use crate::index::tree::layout::IndexLayout;
use crate::index::tree::structure::Structure;
use std::fmt::{self, Debug, Display};
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::{Arc, PoisonError, RwLock};

/// The names of the kinds whose codes are reserved, in the order of their codes, from 1 on.
const RESERVED: [&str; 12] = [
    "ogive",
    "aulid",
    "btree",
    "fiting",
    "pgm",
    "alex",
    "lipp",
    "fiting-btree",
    "pgm-btree",
    "alex-btree",
    "lipp-btree",
    "airindex",
];

/// Registered kinds, in ascending order of their codes.
static REGISTERED: RwLock<Vec<IndexKind>> = RwLock::new(Vec::new());

/// A parameter of a structure, as the header of an index stores it: id and value.
pub type Tunable = (u8, u64);

/// Creates the structure of an index from the layout and the tunables in its file.
///
/// A factory is a constant without state of a single index. The [module](crate::index::extend) has an example.
pub trait StructureFactory: Debug + Sync {
    /// The name of the kind in commands and messages: lowercase letters, digits and hyphens.
    fn name(&self) -> &'static str;

    /// The code of the kind in the header of a file. Codes 1 to 12 belong to Ogive and `ogive-research`, 0 and 13 to
    /// 127 are reserved; structures of other crates take one from 128 to 255.
    fn code(&self) -> u8;

    /// Whether a key may have several entries.
    fn allows_duplicates(&self) -> bool {
        false
    }

    /// Completes the tunables of an index: returns every tunable of the structure, with its default if `given` lacks
    /// it. The result, at most 255 tunables, is stored in the file and passed to the constructors.
    ///
    /// # Errors
    /// The accepted values, as the end of a sentence: "an error from 1 to 1,048,576 positions".
    fn tunables(&self, given: &[Tunable]) -> Result<Vec<Tunable>, String> {
        if given.is_empty() { Ok(Vec::new()) } else { Err("no tunables".to_owned()) }
    }

    /// The structure for keys of up to 8 bytes.
    fn for_u64(&self, layout: IndexLayout, tunables: &[Tunable]) -> Arc<dyn Structure<u64>>;

    /// The structure for keys of up to 16 bytes.
    fn for_u128(&self, layout: IndexLayout, tunables: &[Tunable]) -> Arc<dyn Structure<u128>>;
}

/// A native key that factories have structures for.
pub trait FactoryWord: Word {
    /// The structure that a factory creates for keys of this size.
    fn structure(factory: &dyn StructureFactory, layout: IndexLayout, tunables: &[Tunable])
    -> Arc<dyn Structure<Self>>;
}

impl FactoryWord for u64 {
    fn structure(
        factory: &dyn StructureFactory,
        layout: IndexLayout,
        tunables: &[Tunable],
    ) -> Arc<dyn Structure<Self>> {
        factory.for_u64(layout, tunables)
    }
}

impl FactoryWord for u128 {
    fn structure(
        factory: &dyn StructureFactory,
        layout: IndexLayout,
        tunables: &[Tunable],
    ) -> Arc<dyn Structure<Self>> {
        factory.for_u128(layout, tunables)
    }
}

/// The structure of an index.
///
/// The engine has two: [`IndexKind::OGIVE`] and [`IndexKind::BTREE`]. Other crates add their own with
/// [`IndexKind::new`] and [`IndexKind::register`]; structures of published papers are in `ogive-research`. Kinds are
/// equal if their codes are.
#[derive(Clone, Copy)]
pub struct IndexKind(&'static dyn StructureFactory);

impl IndexKind {
    /// B+-tree leaves under coded inner nodes: Ogive's own structure, and the default.
    pub const OGIVE: Self = Self(&super::builtin::Ogive);
    /// The B+-tree.
    pub const BTREE: Self = Self(&super::builtin::Btree);

    /// The kind of the structures that `factory` creates. [Register](Self::register) it before you create or open an
    /// index of it.
    pub const fn new(factory: &'static dyn StructureFactory) -> Self {
        Self(factory)
    }

    /// Registers the kind with this program, so that its indexes can be created and opened, and its name parsed.
    /// Registering a kind again has no effect: the first factory of a code and name stays.
    ///
    /// # Errors
    /// `Cause::Input` for a name that is not lowercase letters, digits and hyphens, for a reserved code
    /// under another name or a reserved name under another code, and for a code or a name of another registered kind.
    pub fn register(self) -> Result<()> {
        self.check()?;
        let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = own()
            .into_iter()
            .chain(registered.iter().copied())
            .find(|other| other.code() == self.code() || other.name() == self.name())
        {
            if (other.code(), other.name()) == (self.code(), self.name()) {
                return Ok(());
            }
            return Err(Error::input(format!(
                "kind '{self}' with code {} collides with kind '{other}' with code {}; choose another name and code",
                self.code(),
                other.code()
            )));
        }
        let index = registered.partition_point(|other| other.code() < self.code());
        registered.insert(index, self);
        Ok(())
    }

    /// Checks name and code, apart from other kinds.
    fn check(self) -> Result<()> {
        let (name, code) = (self.name(), self.code());
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.is_empty() || !name.bytes().all(is_plain) {
            return Err(Error::input(format!(
                "'{name}' cannot name a kind of index; use lowercase letters, digits and hyphens"
            )));
        }
        let belongs = match (reserved_name(code), RESERVED.contains(&name)) {
            (Some(reserved), _) => reserved == name,
            (None, is_reserved) => code > 127 && !is_reserved,
        };
        if !belongs {
            return Err(Error::input(format!(
                "kind '{name}' cannot have code {code}: codes up to 127 and the names {} are reserved; \
                 choose a code from 128 to 255",
                RESERVED.join(", ")
            )));
        }
        Ok(())
    }

    /// The registered kinds, in ascending order of their codes.
    pub fn all() -> Vec<Self> {
        let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Self> = own().into_iter().chain(registered.iter().copied()).collect();
        all.sort_unstable();
        all
    }

    /// Whether the kind is registered.
    pub fn is_registered(self) -> bool {
        Self::of_code(self.code()).is_some()
    }

    /// The registered kind of a code.
    pub(in crate::index) fn of_code(code: u8) -> Option<Self> {
        Self::all().into_iter().find(|kind| kind.code() == code)
    }

    /// Its name in commands and documents.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The code in the header of a file.
    pub fn code(self) -> u8 {
        self.0.code()
    }

    /// Whether a key may have several entries in an index of this kind.
    pub fn allows_duplicates(self) -> bool {
        self.0.allows_duplicates()
    }

    /// The factory of its structure.
    pub fn factory(self) -> &'static dyn StructureFactory {
        self.0
    }
}

/// The kinds that need no registration.
fn own() -> [IndexKind; 2] {
    [IndexKind::OGIVE, IndexKind::BTREE]
}

/// The name that a code is reserved for.
pub(in crate::index) fn reserved_name(code: u8) -> Option<&'static str> {
    RESERVED.get(usize::from(code).checked_sub(1)?).copied()
}

impl Default for IndexKind {
    fn default() -> Self {
        Self::OGIVE
    }
}

impl PartialEq for IndexKind {
    fn eq(&self, other: &Self) -> bool {
        self.code() == other.code()
    }
}

impl Eq for IndexKind {}

impl PartialOrd for IndexKind {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for IndexKind {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.code().cmp(&other.code())
    }
}

impl Hash for IndexKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.code().hash(state);
    }
}

impl Debug for IndexKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("IndexKind").field(&self.name()).finish()
    }
}

impl Display for IndexKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for IndexKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The papers call the hybrids LIPP-B+ and the like.
        let plain = text.to_ascii_lowercase().replace("b+-tree", "btree").replace("-b+", "-btree");
        let all = Self::all();
        all.iter().copied().find(|kind| kind.name() == plain).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|kind| kind.name()).collect();
            let names = names.join(", ");
            if RESERVED.contains(&plain.as_str()) {
                format!(
                    "'{plain}' is a kind of index of papers, which this program does not have; it has {names}; use the \
                    command `ogive-research`"
                )
            } else {
                format!("'{text}' is no kind of index; there are {names}")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;

    #[derive(Debug)]
    struct Named(&'static str, u8);

    impl StructureFactory for Named {
        fn name(&self) -> &'static str {
            self.0
        }

        fn code(&self) -> u8 {
            self.1
        }

        fn for_u64(&self, layout: IndexLayout, tunables: &[Tunable]) -> Arc<dyn Structure<u64>> {
            IndexKind::BTREE.factory().for_u64(layout, tunables)
        }

        fn for_u128(&self, layout: IndexLayout, tunables: &[Tunable]) -> Arc<dyn Structure<u128>> {
            IndexKind::BTREE.factory().for_u128(layout, tunables)
        }
    }

    #[test]
    fn names_of_kinds_round_trip() {
        for kind in own() {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(reserved_name(kind.code()), Some(kind.name()));
        }
        assert_eq!("B+-tree".parse(), Ok(IndexKind::BTREE));
        let error = "rmi".parse::<IndexKind>().unwrap_err();
        assert!(error.contains("there are ogive, btree"), "{error}");
        let error = "LIPP-B+".parse::<IndexKind>().unwrap_err();
        assert!(error.contains("`ogive-research`"), "{error}");
    }

    #[test]
    fn registering_a_kind_again_changes_nothing() {
        const MINE: IndexKind = IndexKind::new(&Named("kind-of-mine", 200));
        assert!(!MINE.is_registered());
        std::thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(|| MINE.register().unwrap())));
        assert_eq!("kind-of-mine".parse(), Ok(MINE));
        assert_eq!(IndexKind::all().iter().filter(|&&kind| kind == MINE).count(), 1);
        assert!(IndexKind::all().is_sorted());
        for kind in own() {
            kind.register().unwrap();
        }
    }

    #[test]
    fn colliding_and_reserved_names_and_codes_are_rejected() {
        const TAKEN: IndexKind = IndexKind::new(&Named("taken", 201));
        TAKEN.register().unwrap();
        const WRONG: [IndexKind; 9] = [
            IndexKind::new(&Named("", 210)),
            IndexKind::new(&Named("No", 210)),
            IndexKind::new(&Named("free", 0)),
            IndexKind::new(&Named("free", 6)),
            IndexKind::new(&Named("free", 13)),
            IndexKind::new(&Named("free", 127)),
            IndexKind::new(&Named("free", 201)),
            IndexKind::new(&Named("taken", 202)),
            IndexKind::new(&Named("alex", 210)),
        ];
        for kind in WRONG {
            let error = kind.register().unwrap_err();
            assert!(matches!(error, Error { cause: Cause::Input, .. }), "{error}");
        }
        assert!(!IndexKind::all().iter().any(|kind| kind.code() == 210));
    }
}
