//! What single structures can be told beyond the layout, and its stored form.

use super::options::{IndexOptions, Kind};
use crate::error::Result;

/// The options of single structures.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tunables {}

impl Tunables {
    /// The tunables of a new index.
    ///
    /// # Errors
    /// [`crate::Error::InvalidArgument`] for values that make no sense.
    pub(super) fn new(_options: &IndexOptions) -> Result<Self> {
        Ok(Self {})
    }

    /// What a kind stores: tags and values.
    pub(super) fn list(&self, _kind: Kind) -> Vec<(u8, u64)> {
        Vec::new()
    }

    /// What was stored; `None` where it makes no sense.
    pub(super) fn from_list(_kind: Kind, stored: &[(u8, u64)]) -> Option<Self> {
        stored.is_empty().then_some(Self {})
    }
}
