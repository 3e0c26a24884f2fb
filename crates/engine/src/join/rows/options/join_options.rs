//! All options of a join.

use super::kind::{JoinKind, Side};
use super::progress::Watcher;
use crate::error::Result;
use crate::index::extend::Tunable;
use crate::io::{FastPaths, Profile, Storage};
use crate::join::rows::condition::{JoinCondition, JoinPair};
use crate::join::rows::method::JoinMethod;
use crate::join::rows::task::TaskSettings;
use crate::types::NullTest;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The kind of a join: which rows it returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// Every pair of a left and a right row with equal keys.
    #[default]
    Inner,
    /// As `Inner`, plus each left row without partner, once.
    Left,
    /// As `Left`, plus each right row without partner, once, without a left value.
    Full,
    /// Each left row that has a partner, once, without right values.
    Semi,
    /// Each left row that has no partner.
    Anti,
}

impl JoinKind {
    /// All kinds, with their textual names.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Inner, "inner"),
        (Self::Left, "left"),
        (Self::Full, "full"),
        (Self::Semi, "semi"),
        (Self::Anti, "anti"),
    ];

    /// Whether the join returns left rows without partner, and must therefore read the whole left relation.
    #[must_use]
    pub fn keeps_unmatched(self) -> bool {
        matches!(self, Self::Left | Self::Full | Self::Anti)
    }

    /// Whether the join returns right rows without partner, and must therefore read the whole right relation.
    #[must_use]
    pub fn keeps_unmatched_right(self) -> bool {
        self == Self::Full
    }

    /// Whether the join returns pairs of rows, with a left and a right value.
    #[must_use]
    pub fn pairs(self) -> bool {
        matches!(self, Self::Inner | Self::Left | Self::Full)
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
            Error::input(format!("{text:?} is not a kind of join; give inner, left, full, semi or anti"))
        })
    }
}

/// One of the two relations of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JoinSide {
    /// The first relation; left, full and anti joins return its unmatched rows.
    Left,
    /// The second relation; full joins return its unmatched rows.
    Right,
}

impl JoinSide {
    /// The opposite side.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

/// The phase of a running join, for progress reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JoinPhase {
    /// Choosing the method.
    Planning,
    /// Reading or building indexes.
    Loading,
    /// Sorting, partitioning or hashing unsorted input.
    Preparing,
    /// Joining and writing rows.
    Joining,
    /// Completing the output and syncing it.
    Finishing,
}

/// The progress of a join: input rows processed in the current phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinProgress {
    /// The current phase.
    pub phase: JoinPhase,
    /// Input rows processed in this phase.
    pub done: u64,
    /// Estimated number of input rows in this phase.
    pub total: u64,
}

/// A callback for progress reports. Called from any thread, at most a few hundred times per phase.
pub type JoinWatcher = Arc<dyn Fn(JoinProgress) + Send + Sync>;

/// The options of a join. The defaults: an inner join on one thread within 256 MiB, by the method that the planner
/// chooses, with output in key order, and storage priced as NVMe.
#[derive(Clone)]
#[non_exhaustive]
pub struct JoinOptions {
    /// The rows to return.
    pub kind: JoinKind,
    /// The method.
    pub method: JoinMethod,
    /// The relation to look keys up in, for methods that use an index; `None` lets the planner choose.
    pub inner: Option<JoinSide>,
    /// A condition on pairs of rows with equal keys, as [`Self::condition`] sets it.
    pub condition: Option<JoinCondition>,
    /// Memory limit in bytes, including the writer of the output; at least
    /// [`MEMORY_BYTES_MIN`](crate::join::MEMORY_BYTES_MIN).
    pub memory_bytes: u64,
    /// Number of joining threads. Prefetch and write-behind threads are additional.
    pub threads: usize,
    /// Whether rows may come in any order. Otherwise, and always if the output is a table, rows come in key order.
    pub any_order: bool,
    /// Cost profile of the storage that holds the relations and spill files.
    pub profile: Profile,
    /// Tunables of a registered method; others ignore them. The crate of the method says which it has.
    pub tunables: Vec<Tunable>,
    /// Storage and name prefix of spill files. `None` puts them beside the output; if the output is a callback, a join
    /// that has to spill then fails.
    pub spill: Option<(Arc<dyn Storage>, String)>,
    /// Set to `true` to stop the join, which then returns [`Cause::Interrupted`](crate::Cause::Interrupted).
    pub stop: Option<Arc<AtomicBool>>,
    /// Called with progress reports.
    pub watcher: Option<JoinWatcher>,
    /// For tests and measurements: the fast paths that the join may take (separators, prefetch, batches, write-behind).
    /// They do not change the rows.
    #[doc(hidden)]
    pub fast_paths: FastPaths,
    /// As `stop`, for the end of an iterator of rows.
    pub(in crate::join) ended: Option<Arc<AtomicBool>>,
    /// The test for nulls in the keys of both relations, if there may be any.
    pub(in crate::join) null_test: Option<NullTest>,
    /// The longest records of both inputs, in bytes together, if they are known.
    pub(in crate::join) row_bytes: Option<u64>,
}

/// Default memory limit in bytes.
const MEMORY_BYTES: u64 = 256 << 20;

impl Default for JoinOptions {
    fn default() -> Self {
        Self {
            kind: JoinKind::Inner,
            method: JoinMethod::Auto,
            inner: None,
            condition: None,
            memory_bytes: MEMORY_BYTES,
            threads: 1,
            any_order: false,
            profile: Profile::default(),
            tunables: Vec::new(),
            spill: None,
            stop: None,
            watcher: None,
            fast_paths: FastPaths::ALL,
            ended: None,
            null_test: None,
            row_bytes: None,
        }
    }
}

setters! {
    JoinOptions {
        kind: JoinKind,
        method: JoinMethod,
        memory_bytes: u64,
        threads: usize,
        any_order: bool,
        profile: Profile,
        tunables: Vec<Tunable>,
        spill: Option<(Arc<dyn Storage>, String)>,
        stop: Option<Arc<AtomicBool>>,
        watcher: Option<JoinWatcher>,
        #[doc(hidden)]
        fast_paths: FastPaths,
    } optional {
        inner: JoinSide,
    }
}

impl JoinOptions {
    /// Sets a condition on pairs of rows with equal keys: a pair for which it is `false` is no match. As with a further
    /// condition in SQL's `ON`, a row none of whose pairs passes is a row without partner. The condition may be called
    /// from any thread, for any pair with equal keys, in any order; an error that it returns ends the join.
    ///
    /// ```
    /// # use ogive::join::JoinOptions;
    /// // Values that begin with a big-endian number: only pairs with an increasing one.
    /// let number = |value: &[u8]| value.first_chunk().map(|number| u64::from_be_bytes(*number));
    /// let options = JoinOptions::default().condition(move |pair| Ok(number(pair.left) < number(pair.right)));
    /// ```
    #[must_use]
    pub fn condition(self, holds: impl Fn(JoinPair<'_>) -> Result<bool> + Send + Sync + 'static) -> Self {
        Self { condition: Some(Arc::new(holds)), ..self }
    }
}

impl fmt::Debug for JoinOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("JoinOptions")
            .field("kind", &self.kind)
            .field("method", &self.method)
            .field("inner", &self.inner)
            .field("has_condition", &self.condition.is_some())
            .field("memory_bytes", &self.memory_bytes)
            .field("threads", &self.threads)
            .field("any_order", &self.any_order)
            .field("profile", &self.profile)
            .field("fast_paths", &self.fast_paths)
            .finish_non_exhaustive()
    }
}

impl From<&JoinOptions> for TaskSettings {
    fn from(options: &JoinOptions) -> Self {
        Self {
            kind: options.kind,
            memory_bytes: options.memory_bytes,
            row_bytes: options.row_bytes,
            profile: options.profile.clone(),
            fast_paths: options.fast_paths,
            null_test: options.null_test.clone(),
            stops: [options.stop.clone(), options.ended.clone()],
            watcher: options.watcher.clone(),
        }
    }
}
