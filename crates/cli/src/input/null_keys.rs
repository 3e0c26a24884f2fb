//! Records whose keys have a null though the type of the keys has none: errors for most commands, and left out by
//! joins, in which such a key matches nothing.

use super::options::InputOptions;
use super::schema::{ReadColumn, Schema};
use ogive::KeyType;
use ogive::types::NullOrder;

/// What becomes of records whose keys have a null that the type of the keys has not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NullKeys {
    /// They are errors. In a key of one column of text, an empty field is empty text.
    #[default]
    Refused,
    /// They are left out.
    LeftOut,
    /// They are the only ones that are read; others would have keys of this type.
    Only(KeyType),
}

impl NullKeys {
    /// Whether a record is read; of each component of its key it is given whether that is null.
    pub(super) fn takes(self, key_type: KeyType, nulls: impl Iterator<Item = bool>) -> bool {
        let of_type = match self {
            Self::Only(others) => others,
            Self::Refused | Self::LeftOut => key_type,
        };
        let has_nulls = |component: usize| match of_type {
            KeyType::Tuple(tuple) => {
                tuple.components().nth(component).is_some_and(|component| component.nulls != NullOrder::Never)
            }
            _ => false,
        };
        let is_left_out = nulls.enumerate().any(|(component, is_null)| is_null && !has_nulls(component));
        match self {
            Self::Refused => true,
            Self::LeftOut => !is_left_out,
            Self::Only(_) => is_left_out,
        }
    }
}

impl InputOptions {
    /// What becomes of records whose keys have nulls.
    pub(super) fn null_keys(&self) -> NullKeys {
        if self.leaves_null_keys_out() { NullKeys::LeftOut } else { NullKeys::Refused }
    }

    /// Completes the columns of the key, whose types are known or yet to be guessed.
    pub(super) fn complete_keys(&self, keys: &mut [ReadColumn]) {
        // Where such records are left out, a type of keys that is known is that of the other side of a join.
        let is_of_other_side = self.leave_null_keys_out && self.key_type.is_some();
        keys.iter_mut().for_each(|column| column.is_united = is_of_other_side);
        match keys {
            _ if self.leaves_null_keys_out() => {
                keys.iter_mut().for_each(|column| column.nullable |= is_of_other_side);
            }
            // Keys of one column are never null, unless they are tuples of it.
            [column] if self.key_type.is_none_or(|key_type| key_type == column.key_type) => column.nullable = false,
            _ => {}
        }
    }

    /// Whether records with nulls in their keys are left out. Keys without columns have no nulls.
    pub(super) fn leaves_null_keys_out(&self) -> bool {
        self.leave_null_keys_out && self.has_columns()
    }
}

impl Schema {
    /// The same for records that are left out, whose keys have a type with nulls.
    ///
    /// # Errors
    /// `Cause::Input` for a type that has none with nulls.
    pub(crate) fn of_null_keys(&self) -> ogive::Result<Self> {
        let keys = self.record_type.keys;
        let mut schema = Self { null_keys: NullKeys::Only(keys), ..self.clone() };
        schema.record_type.keys = keys.with_nulls()?;
        Ok(schema)
    }

    /// Whether records with nulls in their keys were seen where types were guessed; `None` if that is not known.
    pub(crate) fn has_seen_null_keys(&self) -> Option<bool> {
        let has_seen = |key: &ReadColumn| Some(key.seen.as_ref().filter(|_| key.guessed)?.guessed(true).nullable);
        self.keys.iter().try_fold(false, |has_seen_any, key| Some(has_seen_any || has_seen(key)?))
    }

    /// The same, for which a record with a null in its key is an error.
    pub(crate) fn refusing_null_keys(mut self) -> Self {
        if self.null_keys == NullKeys::LeftOut {
            self.null_keys = NullKeys::Refused;
            self.keys.iter_mut().for_each(|key| key.nullable = false);
        }
        self
    }
}
