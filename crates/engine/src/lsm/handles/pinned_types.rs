//! The types of a keyspace as its users see them: they are stated under the writer's lock, may be extended and altered
//! at any time, and are replaced only while no handle uses them and no version that is still read has a record.
//!
//! ```text
//! undecided (generation 0) --> stated (1) --> extended (2): handles of generation 1 go on
//!                                        |--> altered (2): they go on if no field has another type
//!                                        `--> replaced (2): there is no handle of generation 1, and no record
//! ```

use super::keyspace::{Keyspace, Swap};
use super::range::DbRange;
use crate::error::{Error, Result};
use crate::lsm::core::store::Core;
use crate::lsm::state::written_keyspace::wrong;
use crate::types::{Alteration, RecordType};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The types of a keyspace in one generation, as a handle uses them. While it lives, no other types replace them in
/// this process. They may be extended: a field that is added at the end is a new generation, in which the handle goes
/// on and does not see the field; rows that it writes are null there. A handle also goes on when a field may be null
/// from now on, but a row with a null there is an error to it; and no longer once a field has another type.
///
/// [`Keyspace::declare`] and [`Keyspace::pin_types`] make one. Typed keyspaces, their ranges and batches hold one each.
///
/// ```
/// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
/// use ogive::types::{KeyType, RecordType};
///
/// let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
/// let ages = db.keyspace("ages")?;
/// assert!(ages.is_undecided()?);
/// let pinned = ages.declare(&RecordType::new(KeyType::Text, KeyType::U32))?;
/// assert_eq!((pinned.generation(), pinned.is_current()), (1, true));
/// let refused = ages.declare(&RecordType::new(KeyType::Text, KeyType::I32)).unwrap_err();
/// assert!(refused.to_string().contains("1 typed handle"));
///
/// drop(pinned);
/// ages.declare(&RecordType::new(KeyType::Text, KeyType::I32))?;
/// # Ok::<(), ogive::Error>(())
/// ```
#[derive(Debug)]
pub struct PinnedTypes {
    keyspace: Keyspace,
    types: Arc<RecordType>,
    generation: u64,
}

impl PinnedTypes {
    /// Pins types of a keyspace. The caller holds the lock of the shared state, or that of the writer.
    fn new(keyspace: Keyspace, types: Arc<RecordType>, generation: u64) -> Self {
        keyspace.tree().pins.fetch_add(1, Ordering::AcqRel);
        let stating_nothing = keyspace.with(keyspace.written().clone().with(None));
        Self { keyspace: stating_nothing.of_types(&types, generation), types, generation }
    }

    /// The same types of the keyspace in another version of its store, of a reader that went on: rows are read without
    /// the fields that were added since.
    ///
    /// # Errors
    /// [`Cause::WrongType`](crate::Cause::WrongType) if its types are others now; as [`Keyspace::get`].
    pub fn renewed(&self, keyspace: &Keyspace) -> Result<Self> {
        let is_undecided = keyspace.is_undecided()?;
        let _shared = keyspace.core().contents.lock();
        Self::for_reading(keyspace, &self.types, is_undecided)
    }

    /// Types that a reader goes by: they extend those of the store, or are those from before fields were added.
    fn for_reading(keyspace: &Keyspace, types: &Arc<RecordType>, is_undecided: bool) -> Result<Self> {
        let found = keyspace.tree().types.get();
        // A generation that the types do not have lets each value be converted.
        let generation = match (is_undecided || types.extends(&found.types), found.types.is_alike(types)) {
            (true, _) => found.generation,
            (false, true) => 0,
            (false, false) => return Err(wrong(keyspace.written(), &found.types, types, 0)),
        };
        Ok(Self::new(keyspace.clone(), Arc::clone(types), generation))
    }

    /// The keyspace, whose values are read and written by these types.
    #[inline]
    #[must_use]
    pub fn keyspace(&self) -> &Keyspace {
        &self.keyspace
    }

    /// The types.
    #[must_use]
    pub fn types(&self) -> &Arc<RecordType> {
        &self.types
    }

    /// The generation of the types of the keyspace when they were pinned: how often types had been stated.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether the types of the keyspace are still of this generation: one atomic load.
    #[inline]
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.keyspace.tree().generation() == self.generation
    }

    /// Checks that a handle of these types can go on with those of the keyspace: they are these, or have more fields,
    /// or other nulls. One atomic load if they are of this generation.
    ///
    /// # Errors
    /// [`Cause::WrongType`](crate::Cause::WrongType).
    #[inline]
    pub fn check(&self) -> Result<()> {
        self.keyspace.written().check_types()
    }

    /// Atomically sets the value of a key to `new` (`None` removes it) if its value is `expected` (`None` if it is
    /// absent), both in bytes of these types. Values are [compared](crate::types::ValueType::comparable) as these types
    /// have them.
    ///
    /// # Errors
    /// As [`Keyspace::compare_and_swap`] and [`Self::check`]; `Cause::Input` if `expected`, or the current
    /// value, is not of these types.
    pub fn compare_and_swap(&self, key: impl AsRef<[u8]>, expected: Option<&[u8]>, new: Option<&[u8]>) -> Result<Swap> {
        self.check()?;
        let expected = expected.map(|bytes| self.comparable(bytes)).transpose()?;
        self.keyspace.swap_if(key.as_ref(), new, |current| {
            let is_expected = current.as_deref().map(|bytes| self.comparable(bytes)).transpose()? == expected;
            Ok((current, is_expected))
        })
    }

    /// A value in bytes that are equal for equal values.
    fn comparable(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let no_value = || Error::input(format!("{} bytes are no value of type {}", bytes.len(), self.types));
        self.types.values.comparable(bytes).ok_or_else(no_value)
    }

    /// Whether two values, or their absence, are equal as these types have them.
    pub(super) fn are_equal(&self, one: Option<&[u8]>, other: Option<&[u8]>) -> Result<bool> {
        let comparable = |value: Option<&[u8]>| value.map(|bytes| self.comparable(bytes)).transpose();
        Ok(comparable(one)? == comparable(other)?)
    }

    /// A range of the keyspace whose values are those of these types, and which pins them.
    #[must_use]
    pub fn adapt_range(&self, range: DbRange) -> DbRange {
        range.pinned(self.clone())
    }
}

impl Clone for PinnedTypes {
    fn clone(&self) -> Self {
        self.keyspace.tree().pins.fetch_add(1, Ordering::AcqRel);
        // With the form of its types, whatever that of the keyspace is now.
        Self { keyspace: self.keyspace.clone(), types: Arc::clone(&self.types), generation: self.generation }
    }
}

impl Drop for PinnedTypes {
    fn drop(&mut self) {
        self.keyspace.tree().pins.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Keyspace {
    /// The types of its keys and values: bytes while they are undecided.
    #[must_use]
    pub fn record_type(&self) -> Arc<RecordType> {
        Arc::clone(&self.tree().types.peek().types)
    }

    /// Whether no types were stated and there is no record: the first who writes decides. Another handle, or another
    /// process, may decide at any time, so this is asked again before each use.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn is_undecided(&self) -> Result<bool> {
        Ok(self.tree().generation() == 0 && self.is_empty()?)
    }

    /// The same keyspace, but each write of this handle, be it an insertion, a batch or an ingestion, states types in
    /// one step with its records, as [`Self::declare`] does. If the write fails, no types are stated.
    ///
    /// ```
    /// # let storage = std::sync::Arc::new(ogive::io::MemoryStorage::new());
    /// use ogive::types::{KeyType, RecordType};
    ///
    /// let db = ogive::Db::open(storage, &ogive::DbOptions::default())?;
    /// let ages = db.keyspace("ages")?;
    /// let stating = ages.stating(&RecordType::new(KeyType::Text, KeyType::U32))?;
    /// assert!(stating.insert("x".repeat(100_000), 36_u32.to_be_bytes()).is_err(), "the key is too long");
    /// assert!(ages.is_undecided()?);
    /// stating.insert("ada", 36_u32.to_be_bytes())?;
    /// assert_eq!(ages.record_type().to_string(), "text -> u32");
    /// # Ok::<(), ogive::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Cause::Input`](crate::Cause::Input) for types that no keyspace has. Writes fail with
    /// [`Cause::WrongType`](crate::Cause::WrongType), too.
    pub fn stating(&self, types: &RecordType) -> Result<Self> {
        types.check()?;
        Ok(self.with(self.written().clone().of_types(None).stating(&Arc::new(types.clone()), false)))
    }

    /// As [`Self::stating`], but types that are decided when a write happens stay: they must be these or extend these.
    ///
    /// # Errors
    /// As [`Self::stating`].
    pub fn deciding(&self, types: &RecordType) -> Result<Self> {
        types.check()?;
        Ok(self.with(self.written().clone().of_types(None).stating(&Arc::new(types.clone()), true)))
    }

    /// As [`Self::alter`], whatever indexes it has.
    pub(crate) fn alter_values(&self, alteration: &Alteration) -> Result<Arc<RecordType>> {
        self.core().alter_types(self.written(), alteration)
    }

    /// Pins its types as they are.
    #[must_use]
    pub fn pin_types(&self) -> PinnedTypes {
        let _shared = self.core().contents.lock();
        let found = self.tree().types.get();
        PinnedTypes::new(self.clone(), Arc::clone(&found.types), found.generation)
    }

    /// States types, in one step with the check that they can be those of the keyspace, and pins them.
    ///
    /// Undecided types are decided. Others are extended if the values are rows with fields added at their end, which
    /// may be null ([`RowType::extends`](crate::types::RowType::extends)), and are replaced only while there is no
    /// record, in the newest version and in all live snapshots, and no typed handle, range or batch in this process. A
    /// reader changes nothing, and reads records by types that extend those of the store, or that these extend.
    ///
    /// Types are statements: keys and values that are written as bytes are not checked.
    ///
    /// # Errors
    /// [`Cause::WrongType`](crate::Cause::WrongType); as [`Batch::commit`](crate::lsm::Batch::commit).
    pub fn declare(&self, types: &RecordType) -> Result<PinnedTypes> {
        types.check()?;
        self.core().declare_types(self, &Arc::new(types.clone()))
    }
}

impl Core {
    /// See [`Keyspace::declare`].
    fn declare_types(&self, keyspace: &Keyspace, types: &Arc<RecordType>) -> Result<PinnedTypes> {
        if let Some(pinned) = self.pin_if_same(keyspace, types) {
            return Ok(pinned);
        }
        if self.access.is_read_only() {
            return self.pin_for_reading(keyspace, types);
        }
        // No record is written, and no types are stated, until they are pinned.
        let _writer = self.writer_alone();
        self.state_types(&[keyspace.written().stating(types, false)])?;
        let _shared = self.contents.lock();
        if keyspace.tree().is_dropped() {
            return Err(self.gone(keyspace.tree()));
        }
        Ok(PinnedTypes::new(keyspace.clone(), Arc::clone(types), keyspace.tree().generation()))
    }

    /// Pins types that the keyspace has already; undecided ones are never the same.
    fn pin_if_same(&self, keyspace: &Keyspace, types: &Arc<RecordType>) -> Option<PinnedTypes> {
        let _shared = self.contents.lock();
        let found = keyspace.tree().types.get();
        let is_same = found.generation > 0 && found.types == *types && !keyspace.tree().is_dropped();
        is_same.then(|| PinnedTypes::new(keyspace.clone(), Arc::clone(types), found.generation))
    }

    /// The types of a reader never change.
    fn pin_for_reading(&self, keyspace: &Keyspace, types: &Arc<RecordType>) -> Result<PinnedTypes> {
        PinnedTypes::for_reading(keyspace, types, keyspace.is_undecided()?)
    }
}
