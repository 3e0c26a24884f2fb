//! The spill storage of a join that has none configured: rejects every file with advice.

use crate::error::{Error, Result};
use crate::io::{MemoryStorage, Storage, StorageWrapper, UpdatableFile, WritableFile};
use std::sync::Arc;

/// A storage that takes nothing, and says what to do about it.
#[derive(Debug, Default)]
pub(super) struct Nowhere {
    empty: MemoryStorage,
}

impl Nowhere {
    fn refusal() -> Error {
        Error::InvalidArgument(
            "this join has more than its memory holds, and no place for spill files: set `JoinOptions::spill`, or raise `JoinOptions::memory_bytes`".into(),
        )
    }
}

impl StorageWrapper for Nowhere {
    fn inner(&self) -> &dyn Storage {
        &self.empty
    }

    fn create(&self, _name: &str) -> Result<Box<dyn WritableFile>> {
        Err(Self::refusal())
    }

    fn create_update(&self, _name: &str) -> Result<Arc<dyn UpdatableFile>> {
        Err(Self::refusal())
    }
}
