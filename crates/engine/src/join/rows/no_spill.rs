//! The spill storage of a join that has none configured: rejects every file with advice.

use crate::error::{Advice, Call, Error, Result};
use crate::io::{MemoryStorage, Storage, StorageWrapper, UpdatableFile, WritableFile};
use std::sync::Arc;

/// A storage that rejects every file, with an error that says how to configure one.
#[derive(Debug, Default)]
pub(in crate::join) struct NoSpillStorage {
    empty: MemoryStorage,
}

impl NoSpillStorage {
    fn refusal() -> Error {
        Error::input("this join exceeds its memory and has no spill storage").advise(Advice::Use(Call::Spill))
    }
}

impl StorageWrapper for NoSpillStorage {
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
