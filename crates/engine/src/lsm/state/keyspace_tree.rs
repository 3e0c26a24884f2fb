//! A keyspace of a store: its name, its stated types, and its current view.

use super::entry::KeyspaceId;
use super::expiry::rule::ExpiryRule;
use super::indexes::kept::KeptIndexes;
use super::version::{INDEX_PREFIX, StatedTypes};
use super::view::KeyspaceView;
use crate::error::Error;
use crate::io::local::sync::Published;
use crate::table::LookupSample;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The keyspace with notes about secondary indexes.
pub(in crate::lsm) const INDEX_NOTES: &str = "ogive.indexes";

/// Whether a keyspace of this name has what the store keeps for itself: notes about indexes, or their entries.
pub(in crate::lsm) fn is_of_store(name: &str) -> bool {
    name == INDEX_NOTES || name.starts_with(INDEX_PREFIX)
}

/// A keyspace, with its current view.
#[derive(Debug)]
pub(crate) struct KeyspaceTree {
    pub(crate) id: KeyspaceId,
    pub(crate) name: String,
    /// The folder of its store, for error messages.
    pub(in crate::lsm) folder: Arc<Path>,
    /// Changed by [`PinnedTypes`](crate::lsm::PinnedTypes) alone, with the generation behind it.
    pub(in crate::lsm) types: Published<StatedTypes>,
    pub(in crate::lsm) generation: AtomicU64,
    /// The form in which values are written; 0 before the first alteration.
    form: AtomicU64,
    /// Whether the types say that there are no values.
    pub(in crate::lsm) keys_only: AtomicBool,
    /// Typed handles, ranges and batches of this process.
    pub(in crate::lsm) pins: AtomicUsize,
    pub(crate) view: Published<KeyspaceView>,
    /// The sample of the keys that are looked up, once one is asked for.
    pub(crate) lookup_sample: OnceLock<LookupSample>,
    /// The indexes that all writes keep.
    pub(in crate::lsm) indexes: KeptIndexes,
    /// The rule by which its records expire, if there is one.
    expiry: Published<Option<ExpiryRule>>,
    has_expiry_rule: AtomicBool,
    dropped: AtomicBool,
}

impl KeyspaceTree {
    pub(crate) fn new(
        (id, name): (KeyspaceId, String),
        folder: Arc<Path>,
        types: StatedTypes,
        view: KeyspaceView,
    ) -> Self {
        Self {
            id,
            name,
            folder,
            generation: AtomicU64::new(types.generation),
            form: AtomicU64::new(types.forms.current),
            keys_only: AtomicBool::new(types.types.is_keys_only()),
            types: Published::new(types),
            pins: AtomicUsize::new(0),
            view: Published::new(view),
            lookup_sample: OnceLock::new(),
            indexes: KeptIndexes::default(),
            expiry: Published::new(None),
            has_expiry_rule: AtomicBool::new(false),
            dropped: AtomicBool::new(false),
        }
    }

    /// The same keyspace with its current view, whatever happens to this one.
    pub(crate) fn copy(&self) -> Self {
        let named = (self.id, self.name.clone());
        let (types, view) = (self.types.get().as_ref().clone(), self.view.get().as_ref().clone());
        Self::new(named, Arc::clone(&self.folder), types, view)
    }

    /// Whether no other view was published since this one. An operation that became visible after the view was taken is
    /// in its memtable, but may point into a value file that only the next view has.
    pub(in crate::lsm) fn has_current(&self, view: &Arc<KeyspaceView>) -> bool {
        Arc::ptr_eq(view, &self.view.peek())
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }

    pub(crate) fn mark_dropped(&self, dropped: bool) {
        self.dropped.store(dropped, Ordering::Release);
    }

    /// Whether records expire that are written without a time of their own: one atomic load.
    #[inline]
    pub(in crate::lsm) fn has_expiry_rule(&self) -> bool {
        self.has_expiry_rule.load(Ordering::Acquire)
    }

    /// The rule by which its records expire.
    pub(in crate::lsm) fn expiry_rule(&self) -> Option<ExpiryRule> {
        self.expiry.get().as_ref().clone()
    }

    /// Publishes a rule for the writes from now on.
    pub(in crate::lsm) fn set_expiry_rule(&self, rule: Option<ExpiryRule>) {
        let has_rule = rule.is_some();
        self.expiry.set(rule);
        self.has_expiry_rule.store(has_rule, Ordering::Release);
    }

    #[cold]
    pub(super) fn keys_only_error(&self) -> Error {
        Error::input(format!(
            "the records of the keyspace {:?} are keys alone, which have no values; use another keyspace for values",
            self.name
        ))
    }

    /// How often types were stated; 0 while they are undecided.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The form in which values are written: see [`ValueForms`](super::value_forms::ValueForms).
    #[inline]
    pub(in crate::lsm) fn form(&self) -> u64 {
        self.form.load(Ordering::Acquire)
    }

    /// Publishes types, then their form and generation: who sees these sees them.
    pub(in crate::lsm) fn set_types(&self, stated: StatedTypes) {
        let (generation, form) = (stated.generation, stated.forms.current);
        self.keys_only.store(stated.types.is_keys_only(), Ordering::Release);
        self.types.set(stated);
        self.form.store(form, Ordering::Release);
        self.generation.store(generation, Ordering::Release);
    }
}
