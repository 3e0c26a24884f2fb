//! All options of a join.

use super::kind::{JoinKind, JoinSide};
use super::progress::{JoinProgress, JoinWatcher};
use crate::error::Result;
use crate::index::extend::Tunable;
use crate::io::{FastPaths, Profile, Storage};
use crate::join::rows::condition::{JoinCondition, JoinPair};
use crate::join::rows::method::JoinMethod;
use crate::join::rows::task::{MEMORY_BYTES_MIN, TaskSettings};
use crate::join::rows::text_hints::InputHints;
use crate::types::NullTest;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
    /// The upper limit, in bytes, of all memory that the join keeps and works with, including the writer of the output;
    /// at least [`Self::MEMORY_BYTES_MIN`]. The memory of open inputs is theirs.
    pub memory_bytes: u64,
    /// Number of joining threads. Prefetch and write-behind threads are additional.
    pub threads: usize,
    /// Whether rows may come in any order. Otherwise, and always if the output is a table, rows come in key order.
    pub any_order: bool,
    /// Cost profile of the storage that holds the relations and spill files.
    pub profile: Profile,
    /// Tunables of a registered method; others ignore them. The crate of the method says which it has.
    #[doc(hidden)]
    pub tunables: Vec<Tunable>,
    /// Storage and name prefix of spill files. `None` puts them beside the output; if the output is a callback, a join
    /// that has to spill then fails.
    pub spill: Option<(Arc<dyn Storage>, String)>,
    /// Fields of each row that the output formats as text, for planning; `None` if it does not.
    pub formatted_fields: Option<u32>,
    /// Set to `true` to stop the join, which then returns [`Cause::Interrupted`](crate::Cause::Interrupted).
    pub stop: Option<Arc<AtomicBool>>,
    /// Called with progress reports, as [`Self::watcher`](fn@Self::watcher) sets it.
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
    /// What is known of both inputs besides.
    pub(in crate::join) inputs: [InputHints; 2],
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
            formatted_fields: None,
            stop: None,
            watcher: None,
            fast_paths: FastPaths::ALL,
            ended: None,
            null_test: None,
            row_bytes: None,
            inputs: [InputHints::default(); 2],
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
        #[doc(hidden)]
        tunables: Vec<Tunable>,
        spill: Option<(Arc<dyn Storage>, String)>,
        stop: Option<Arc<AtomicBool>>,
        #[doc(hidden)]
        fast_paths: FastPaths,
    } optional {
        inner: JoinSide,
        formatted_fields: u32,
    }
}

impl JoinOptions {
    /// The least memory of a join, in bytes.
    pub const MEMORY_BYTES_MIN: u64 = MEMORY_BYTES_MIN;

    /// Sets a watcher: it is called with progress reports, from any thread, at most a few hundred times per phase.
    #[must_use]
    pub fn watcher(self, watcher: impl Fn(JoinProgress) + Send + Sync + 'static) -> Self {
        Self { watcher: Some(Arc::new(watcher)), ..self }
    }

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
