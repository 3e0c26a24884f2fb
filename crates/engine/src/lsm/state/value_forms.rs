//! The forms of the values of a keyspace: a row is stored in the type with which it was written, and read in the type
//! that is asked for.
//!
//! ```text
//! written before any alteration    row                     form 0
//! written since                    number of the form | row
//! ```
//!
//! The number is a varint of four times the form plus 3, and no row begins with such a one; of values without fields,
//! the length tells whether they have one. A form is the generation of the alteration that began it. So nothing else in
//! a store knows of forms: a stored value takes its number along, in a batch, a log, a memtable, a table or a value
//! file.
//!
//! Values are converted in two places: when one leaves the store (`delivered.rs`), and when a flush or a compaction
//! writes it anew ([`ValueForms::rewritten`]).

use crate::block::varint::{put_varint, take_varint};
use crate::error::{Error, Result};
use crate::types::{RecordType, ValueType};
use std::borrow::Cow;
use std::sync::Arc;

/// The lowest bits of the number of a form, which no header of a row has.
const MARK: u64 = 3;
const MARK_BITS: u32 = 2;
/// The greatest form: its number is a varint.
const FORM_MAX: u64 = u64::MAX >> MARK_BITS;
/// Longest number of a form in bytes.
pub(in crate::lsm) const MARK_BYTES_MAX: usize = 10;

/// Longer values keep their form when tables are rewritten, in bytes.
const REWRITTEN_BYTES_MAX: usize = 1 << 20;

/// The forms of the values of a keyspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ValueForms {
    /// The form in which values are written; 0 before the first alteration.
    pub(crate) current: u64,
    /// The older ones in ascending order, each with its type, which extends all that values were written with.
    pub(crate) older: Vec<(u64, ValueType)>,
}

/// The types in which a handle reads values, whatever those of the keyspace are now, and the form that it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lsm) struct HandleTypes {
    pub(in crate::lsm) types: Arc<RecordType>,
    pub(in crate::lsm) generation: u64,
    pub(in crate::lsm) form: u64,
}

/// What is in front of a value of this form; nothing of form 0, without an allocation.
pub(in crate::lsm) fn mark_of(form: u64) -> Vec<u8> {
    let mut mark = Vec::new();
    if form > 0 {
        put_varint(&mut mark, (form << MARK_BITS) | MARK);
    }
    mark
}

impl ValueForms {
    /// Whether the keyspace was ever altered.
    pub(crate) fn is_altered(&self) -> bool {
        self.current > 0
    }

    /// The forms after an alteration, which begins the form of this number.
    pub(in crate::lsm) fn altered(&self, values: &ValueType, form: u64) -> Self {
        let older = self.older.iter().cloned().chain([(self.current, values.clone())]);
        Self { current: form, older: older.collect() }
    }

    /// The forms of other types, of a keyspace without records: no value is of an older form.
    pub(in crate::lsm) fn replaced(&self) -> Self {
        Self { current: self.current, older: Vec::new() }
    }

    /// Appends the code in files: the current form, the number of the others, and for each its own, and the length of
    /// the code of its type and that code, all numbers as varints.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.current);
        put_varint(out, self.older.len() as u64);
        for (form, values) in &self.older {
            put_varint(out, *form);
            let code = values.code();
            put_varint(out, code.len() as u64);
            out.extend_from_slice(&code);
        }
    }

    /// The forms of a code at `at`; `None` for an invalid one.
    pub(crate) fn decode(bytes: &[u8], at: &mut usize) -> Option<Self> {
        let mut forms = Self { current: take_varint(bytes, at)?, older: Vec::new() };
        for _ in 0..take_varint(bytes, at)? {
            let form = take_varint(bytes, at)?;
            let length = usize::try_from(take_varint(bytes, at)?).ok()?;
            let end = at.checked_add(length)?;
            let values = ValueType::from_code(bytes.get(*at..end)?)?;
            *at = end;
            let rises = forms.older.last().is_none_or(|(before, _)| *before < form);
            forms.older.push((form, values));
            if !rises || form >= forms.current {
                return None;
            }
        }
        (forms.current > 0 && forms.current <= FORM_MAX).then_some(forms)
    }

    /// The form of a stored value, or of its first bytes, and the length of its number.
    fn form_of(&self, stored: &[u8], stored_bytes: u64) -> Option<(u64, usize)> {
        let is_unmarked = match self.older.first() {
            _ if !self.is_altered() => true,
            Some((0, ValueType::Scalar(key_type))) => key_type.width().map(|width| width as u64) == Some(stored_bytes),
            _ => stored.first().is_none_or(|first| u64::from(*first) & MARK != MARK),
        };
        if is_unmarked {
            return Some((0, 0));
        }
        let mut at = 0;
        let mark = take_varint(stored, &mut at).filter(|mark| mark & MARK == MARK)?;
        Some((mark >> MARK_BITS, at))
    }

    /// The form of a stored value, by its first bytes; `values` is the type of the current one.
    pub(super) fn source<'a>(&'a self, values: &'a ValueType, stored: &[u8], stored_bytes: u64) -> Result<Source<'a>> {
        let unknown = || {
            Error::input(format!("a value of {stored_bytes} bytes has no form of {values}, the type of its keyspace"))
        };
        let (form, skip) = self.form_of(stored, stored_bytes).ok_or_else(unknown)?;
        if form == self.current {
            return Ok(Source { form, values, skip });
        }
        let found = self.older.binary_search_by_key(&form, |(older, _)| *older).map_err(|_| unknown())?;
        Ok(Source { form, values: &self.older[found].1, skip })
    }

    /// A value as a flush or a compaction writes it: in the current form, if it was of an older one. Values that no
    /// reader sees may be anything; they stay as they are.
    pub(crate) fn rewritten<'a>(&self, values: &ValueType, stored: &'a [u8]) -> Cow<'a, [u8]> {
        if !self.is_altered() || stored.len() > REWRITTEN_BYTES_MAX {
            return Cow::Borrowed(stored);
        }
        match self.source(values, stored, stored.len() as u64) {
            Ok(source) if source.form != self.current => {
                let mut written = mark_of(self.current);
                match values.append_whole(source.values, &stored[source.skip..], &mut written) {
                    Ok(()) => Cow::Owned(written),
                    Err(_) => Cow::Borrowed(stored),
                }
            }
            _ => Cow::Borrowed(stored),
        }
    }
}

/// The form of a stored value.
pub(super) struct Source<'a> {
    form: u64,
    pub(super) values: &'a ValueType,
    /// Length of its number in bytes.
    pub(super) skip: usize,
}
