//! The way of a stored value out of the store: in the types of the handle that reads it, or in those of the keyspace.

use super::keyspace_tree::KeyspaceTree;
use super::value_forms::{HandleTypes, MARK_BYTES_MAX};
use super::version::StatedTypes;
use super::written_keyspace::wrong_types;
use crate::error::{Error, Result};
use crate::types::{RecordType, ValueRest, ValueType};
use std::borrow::Cow;

/// The head of a value that is read as a stream, as it leaves the store.
pub(in crate::lsm) struct DeliveredHead {
    /// In front of the rest.
    pub(in crate::lsm) head: Vec<u8>,
    /// What follows of the stored value.
    pub(in crate::lsm) rest: ValueRest,
}

impl KeyspaceTree {
    /// A stored value as it leaves the store: of the types of the handle, or of those of the keyspace, without the
    /// number of its form. The types are looked at after the value was read, since a value of a new form is written
    /// after that is published.
    #[inline]
    pub(in crate::lsm) fn delivered<'a>(&self, to: Option<&HandleTypes>, stored: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        if self.is_delivered_unchanged(to) { Ok(Cow::Borrowed(stored)) } else { self.converted(to, stored) }
    }

    /// Whether all values are of the form that is asked for: one atomic load, or two.
    #[inline]
    pub(in crate::lsm) fn is_delivered_unchanged(&self, to: Option<&HandleTypes>) -> bool {
        self.form() == 0 && to.is_none_or(|to| to.generation == self.generation())
    }

    #[cold]
    fn converted<'a>(&self, handle: Option<&HandleTypes>, stored: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        let found = self.types.get();
        let to = self.target(&found, handle)?;
        let source = found.forms.source(&found.types.values, stored, stored.len() as u64)?;
        let (values, value) = (source.values, &stored[source.skip..]);
        if to.extends(values) || values.extends(to) && to.accepts(value) {
            return Ok(Cow::Borrowed(value));
        }
        let mut converted = Vec::new();
        match to.append_whole(values, value, &mut converted) {
            Ok(()) => Ok(Cow::Owned(converted)),
            // It has a null where the handle knows none.
            Err(_) if values.accepts(value) => Err(self.too_narrow(&found, handle)),
            Err(error) => Err(self.not_shown(error)),
        }
    }

    /// The most bytes at the start of a value that [`Self::delivered_head`] looks at.
    pub(in crate::lsm) fn head_bytes_max(&self) -> usize {
        let found = self.types.get();
        let all = found.forms.older.iter().map(|(_, values)| values).chain([&found.types.values]);
        MARK_BYTES_MAX + all.map(ValueType::head_bytes_max).max().unwrap_or(0)
    }

    /// As [`Self::delivered`], of a value of `stored_bytes` of which these are the first bytes.
    pub(in crate::lsm) fn delivered_head(
        &self,
        handle: Option<&HandleTypes>,
        stored: &[u8],
        stored_bytes: u64,
    ) -> Result<DeliveredHead> {
        let found = self.types.get();
        let to = self.target(&found, handle)?;
        let source = found.forms.source(&found.types.values, stored, stored_bytes)?;
        if to.extends(source.values) {
            let rest = ValueRest { at: source.skip, bytes: usize::MAX };
            return Ok(DeliveredHead { head: Vec::new(), rest });
        }
        let mut head = Vec::new();
        let converted = to.append_converted(source.values, &stored[source.skip..], &mut head);
        let rest = converted.map_err(|error| self.not_shown(error))?;
        Ok(DeliveredHead { head, rest: ValueRest { at: source.skip + rest.at, ..rest } })
    }

    /// The type of values that is asked for.
    fn target<'a>(&self, found: &'a StatedTypes, to: Option<&'a HandleTypes>) -> Result<&'a ValueType> {
        let Some(to) = to.filter(|_| found.generation > 0) else { return Ok(&found.types.values) };
        self.check_alike(found, &to.types)?;
        Ok(&to.types.values)
    }

    /// Checks that a handle of these types can go on with those of the keyspace.
    pub(in crate::lsm) fn check_alike(&self, found: &StatedTypes, types: &RecordType) -> Result<()> {
        match found.generation == 0 || found.types.is_alike(types) {
            true => Ok(()),
            false => Err(wrong_types(self, &found.types, types, 0)),
        }
    }

    fn too_narrow(&self, found: &StatedTypes, handle: Option<&HandleTypes>) -> Error {
        wrong_types(self, &found.types, handle.map_or(&found.types, |handle| &handle.types), 0)
    }

    fn not_shown(&self, error: Error) -> Error {
        Error::input(format!("a record of the keyspace {:?} of {}: {error}", self.name, self.folder.display()))
    }
}
