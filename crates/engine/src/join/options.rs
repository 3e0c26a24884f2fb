//! The options of a join: kind, method, memory, threads and storage profile.

use crate::error::{Error, Result};
use crate::io::{FastPaths, Profile, Storage};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Which rows a join gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// Each pair of a left and a right row of one key.
    #[default]
    Inner,
    /// As `Inner`, and each left row without partner once, alone.
    Left,
    /// Each left row that has a partner, once.
    Semi,
    /// Each left row that has none.
    Anti,
}

impl JoinKind {
    /// All kinds, with their names.
    pub const ALL: [(Self, &'static str); 4] =
        [(Self::Inner, "inner"), (Self::Left, "left"), (Self::Semi, "semi"), (Self::Anti, "anti")];

    /// Whether left rows without partner are wanted, so that all of the left relation must be read.
    #[must_use]
    pub fn keeps_unmatched(self) -> bool {
        matches!(self, Self::Left | Self::Anti)
    }

    /// Whether rows of the output have a right value.
    #[must_use]
    pub fn pairs(self) -> bool {
        matches!(self, Self::Inner | Self::Left)
    }
}

impl fmt::Display for JoinKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(Self::ALL.iter().find(|(kind, _)| kind == self).map_or("", |(_, name)| name))
    }
}

impl FromStr for JoinKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(kind, _)| *kind).ok_or_else(|| {
            Error::InvalidArgument(format!("{text:?} is no kind of join; give inner, left, semi or anti"))
        })
    }
}

/// How a join is done.
///
/// As text: `auto`, `merge`, `hash`, `inlj`, `inlj:btree`, `inlj:btree-iter`, `inlj:pgm:EPS`, `inlj:pgm-sampled`, `inlj:radix-spline`,
/// `inlj:rmi`, `inlj:index`, `partition`, `partition:btree`. INLJ is the index nested loop join of Chesetti and Pandey, Section 5.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// The one that the planner expects to be the fastest.
    #[default]
    Auto,
    /// Both relations in key order, sorted first where they are not.
    Merge,
    /// A hash table of one relation, asked for each row of the other; partitioned where memory is short.
    Hash,
    /// The outer relation in key order; of the inner, the blocks that its tuned index names, in batches.
    Inlj,
    /// Probes of a B-tree, each from the root.
    InljBtree,
    /// Probes of a B-tree by a cursor that only moves forward.
    InljBtreeIter,
    /// Probes of a PGM-index.
    InljPgm {
        /// Its error in keys.
        error_keys: u64,
    },
    /// Probes of a PGM-index over every 128th key.
    InljPgmSampled,
    /// Probes of a RadixSpline.
    InljRadixSpline,
    /// Probes of a recursive model index.
    InljRmi,
    /// Probes of an open [`Index`](crate::index::Index).
    InljIndex,
    /// Both relations partitioned by a learned distribution, pairs of partitions sorted in memory.
    Partition,
    /// A B-tree built of each relation by inserts in the order of arrival.
    PartitionBtree,
}

/// Error of the PGM-index that stands for all errors where methods are listed, in keys: that of the paper's window of 256.
const LISTED_ERROR_KEYS: u64 = 128;

impl Method {
    /// All methods, [`Self::Auto`] first; `InljPgm` with one error.
    pub const ALL: [Self; 13] = [
        Self::Auto,
        Self::Merge,
        Self::Hash,
        Self::Inlj,
        Self::InljBtree,
        Self::InljBtreeIter,
        Self::InljPgm { error_keys: LISTED_ERROR_KEYS },
        Self::InljPgmSampled,
        Self::InljRadixSpline,
        Self::InljRmi,
        Self::InljIndex,
        Self::Partition,
        Self::PartitionBtree,
    ];
}

impl Method {
    /// Whether the method looks up in an index of one relation.
    pub(super) fn is_lookup(self) -> bool {
        matches!(
            self,
            Self::Inlj
                | Self::InljBtree
                | Self::InljBtreeIter
                | Self::InljPgm { .. }
                | Self::InljPgmSampled
                | Self::InljRadixSpline
                | Self::InljRmi
                | Self::InljIndex
        )
    }
}

impl fmt::Display for Method {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Auto => "auto",
            Self::Merge => "merge",
            Self::Hash => "hash",
            Self::Inlj => "inlj",
            Self::InljBtree => "inlj:btree",
            Self::InljBtreeIter => "inlj:btree-iter",
            Self::InljPgm { error_keys } => return write!(formatter, "inlj:pgm:{error_keys}"),
            Self::InljPgmSampled => "inlj:pgm-sampled",
            Self::InljRadixSpline => "inlj:radix-spline",
            Self::InljRmi => "inlj:rmi",
            Self::InljIndex => "inlj:index",
            Self::Partition => "partition",
            Self::PartitionBtree => "partition:btree",
        };
        formatter.write_str(name)
    }
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(error) = text.strip_prefix("inlj:pgm:") {
            return match error.parse() {
                Ok(error_keys) if error_keys > 0 => Ok(Self::InljPgm { error_keys }),
                _ => Err(Error::InvalidArgument(format!("the error of {text:?} is no whole number above 0"))),
            };
        }
        Self::ALL.into_iter().find(|method| method.to_string() == text).ok_or_else(|| {
            let names: Vec<String> = Self::ALL.iter().map(Self::to_string).collect();
            Error::InvalidArgument(format!("{text:?} is no method of joining; give one of {}", names.join(", ")))
        })
    }
}

/// One of the two relations of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The first one, all rows of which some kinds of join keep.
    Left,
    /// The second one.
    Right,
}

impl Side {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

/// What a join is doing, for those who watch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Choosing the method.
    Planning,
    /// Reading or building indexes.
    Loading,
    /// Sorting, partitioning or hashing unsorted input.
    Arranging,
    /// Joining and writing.
    Joining,
    /// Completing the output and making it durable.
    Finishing,
}

/// How far a join has come: in its phase, so many rows of about so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinProgress {
    /// What it does.
    pub phase: Phase,
    /// Input rows dealt with in this phase.
    pub done: u64,
    /// Input rows that there are, about.
    pub total: u64,
}

/// Whoever is told of a join's progress; from any thread, some hundred times at most for each phase.
pub type Watcher = Arc<dyn Fn(JoinProgress) + Send + Sync>;

/// How a join is to be done. `JoinOptions::default()` gives an inner join by the method that the planner chooses, on one thread, within 256 MiB,
/// in key order, for NVMe.
#[derive(Clone)]
pub struct JoinOptions {
    /// Which rows are wanted.
    pub kind: JoinKind,
    /// How they are found.
    pub method: Method,
    /// The relation that is looked up in, in methods that have such a one; `None` lets the planner choose.
    pub inner: Option<Side>,
    /// Most memory that the join takes, in bytes, its output's writer included; at least [`MEMORY_BYTES_MIN`].
    pub memory_bytes: u64,
    /// Threads that join; those that read ahead and write behind come on top.
    pub threads: usize,
    /// Whether rows may come in any order; else, and always where the output is a table, they come in key order.
    pub any_order: bool,
    /// The storage that the relations, and the spill files, are read from.
    pub profile: Profile,
    /// Optimisation 1 of the paper (Section 4.1): walk the leaves of the index instead of descending from the root for each key. `None`
    /// is what the method stands for.
    pub leaf_iterator: Option<bool>,
    /// Optimisation 2 of the paper (Section 4.1): windows never begin before the place of the last key. `None` is what the method stands for.
    pub forward_window: Option<bool>,
    /// Where spill files go, and what their names begin with; `None` for beside the output. Where the output is the caller, a join that needs
    /// them is refused without.
    pub spill: Option<(Arc<dyn Storage>, String)>,
    /// Set to stop the join; it ends with [`Error::Interrupted`] soon after.
    pub stop: Option<Arc<AtomicBool>>,
    /// Told of the progress.
    pub watcher: Option<Watcher>,
    /// For tests and for measuring: which fast paths the join takes, of separators, prefetch, batches and writing behind. Rows are the same.
    pub fast_paths: FastPaths,
}

/// The smallest limit that a join works with, in bytes: its buffers would be shorter than a few blocks.
pub const MEMORY_BYTES_MIN: u64 = 1 << 20;
/// The limit unless said, in bytes.
const MEMORY_BYTES: u64 = 256 << 20;

impl Default for JoinOptions {
    fn default() -> Self {
        Self {
            kind: JoinKind::Inner,
            method: Method::Auto,
            inner: None,
            memory_bytes: MEMORY_BYTES,
            threads: 1,
            any_order: false,
            profile: Profile::default(),
            leaf_iterator: None,
            forward_window: None,
            spill: None,
            stop: None,
            watcher: None,
            fast_paths: FastPaths::ALL,
        }
    }
}

impl fmt::Debug for JoinOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("JoinOptions")
            .field("kind", &self.kind)
            .field("method", &self.method)
            .field("inner", &self.inner)
            .field("memory_bytes", &self.memory_bytes)
            .field("threads", &self.threads)
            .field("any_order", &self.any_order)
            .field("profile", &self.profile)
            .field("fast_paths", &self.fast_paths)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_methods_are_read_as_they_are_written() {
        for (kind, name) in JoinKind::ALL {
            assert_eq!((kind.to_string().as_str(), name.parse::<JoinKind>().unwrap()), (name, kind));
        }
        for method in Method::ALL.into_iter().chain([Method::InljPgm { error_keys: 7 }]) {
            assert_eq!(method.to_string().parse::<Method>().unwrap(), method);
        }
        for wrong in ["", "inlj:", "inlj:pgm", "inlj:pgm:0", "inlj:pgm:-1", "Merge"] {
            assert!(matches!(wrong.parse::<Method>(), Err(Error::InvalidArgument(_))), "{wrong}");
        }
    }
}
