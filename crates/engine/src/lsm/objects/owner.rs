//! The owner of the objects below a URL: a store may have been removed, and another one created in its place.
//!
//! A writer of the removed store may go on, and a request that it has given up may arrive late: so there may be parts
//! of both. The first part of the first manifest, or its stub, decides: the *anchor*. Nothing but the creation of a
//! store puts it. Each other part says of which store it is, by its [tag](super::tag) or by the header of its file.
//!
//! ```text
//! an opening          reads the anchor with the newest manifest; manifests of another store do not count
//! a chain             ends before a part of another store, which an opening for writing replaces by the seal
//! a manifest          is put only while the anchor is that of the writer's store, and won only if it still is then
//! a refused put       the anchor tells whether the store is gone
//! a collection        removes nothing unless the anchor is the store's
//! a failed checksum   is damage only if the anchor is the store's
//! a refresh           compares the anchor that is listed with the one that was read
//! ```

use super::stub::stub_name;
use super::tag;
use crate::error::{Advice, Call, Cause, Error, Result};
use crate::io::local::sync::Mutex;
use crate::io::{ListedFile, Storage};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The store whose objects a folder has.
#[derive(Debug, Default)]
pub(super) struct Owner {
    identity: OnceLock<u64>,
    /// Its anchor as a listing showed it, and as it was read then.
    pub(super) anchor: Arc<Mutex<Option<ListedFile>>>,
    /// Whether it has none, as a store of an earlier version.
    pub(super) lacks_anchor: AtomicBool,
    /// The manifest of a reader that goes on, which is one of the store.
    pub(super) known_manifest: OnceLock<u64>,
    pub(super) is_settled: OnceLock<()>,
}

impl Owner {
    pub(super) fn set(&self, identity: u64) {
        _ = self.identity.set(identity);
    }

    pub(super) fn identity(&self) -> Option<u64> {
        self.identity.get().copied()
    }

    /// That of a reader that goes on with what it knows.
    pub(super) fn going_on(before: &Self, manifest: u64) -> Self {
        Self {
            identity: before.identity.clone(),
            // What one of them finds out, the other one knows.
            anchor: Arc::clone(&before.anchor),
            lacks_anchor: before.lacks_anchor.load(Ordering::Relaxed).into(),
            known_manifest: manifest.into(),
            is_settled: OnceLock::new(),
        }
    }

    pub(super) fn check_anchor(&self, storage: &dyn Storage, anchor: Anchor, store: u64) -> Result<()> {
        let is_as_before = anchor == Anchor::Absent && self.lacks_anchor.load(Ordering::Relaxed);
        if anchor.denies(store) && !is_as_before { Err(Error::gone(root(storage))) } else { Ok(()) }
    }

    /// Fails if the store is not there any more, or another one is in its place.
    ///
    /// # Errors
    /// [`Cause::Gone`]; errors of the storage.
    pub(super) fn check_in_place(&self, storage: &dyn Storage) -> Result<()> {
        let Some(store) = self.identity() else { return Ok(()) };
        self.check_anchor(storage, read_anchor(storage)?, store)
    }
}

/// What the anchor says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Of(u64),
    Absent,
    /// It is damaged, or an answer is not whole.
    Unknown,
}

impl Anchor {
    pub(super) fn of(bytes: Option<&[u8]>) -> Self {
        bytes.map_or(Self::Absent, |bytes| tag::store_of(&stub_name(), bytes).map_or(Self::Unknown, Self::Of))
    }

    /// Whether it says that a store is not there any more.
    fn denies(self, store: u64) -> bool {
        matches!(self, Self::Of(found) if found != store) || self == Self::Absent
    }
}

pub(super) fn read_part(storage: &dyn Storage, listed: &ListedFile) -> Result<Option<Vec<u8>>> {
    match storage.read_listed(std::slice::from_ref(listed)).pop() {
        Some(Ok(bytes)) => Ok(Some(bytes)),
        Some(Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. })) => Ok(None),
        Some(Err(error)) => Err(error),
        None => Ok(None),
    }
}

/// The path of the store of a storage.
pub(super) fn root(storage: &dyn Storage) -> PathBuf {
    storage.path("x").parent().map(Into::into).unwrap_or_default()
}

pub(super) fn read_anchor(storage: &dyn Storage) -> Result<Anchor> {
    let name = stub_name();
    let found = read_part(storage, &ListedFile::named(&*name))?;
    if found.is_none() && storage.exists(&name)? {
        let detail = "it says that there is no such object (404), and then that there is one".to_owned();
        return Err(Error::wrong_answer(storage.path(&name), detail));
    }
    Ok(Anchor::of(found.as_deref()))
}

/// The error of a writer whose part was refused, since there is another one of that name.
pub(super) fn explain_taken(storage: &dyn Storage, owner: Option<u64>, name: &str, store: &Path) -> Error {
    let fenced = || Error::fenced(store, false);
    let Some(owner) = owner else { return fenced() };
    match read_anchor(storage) {
        Ok(anchor) if anchor.denies(owner) => return Error::gone(store),
        Ok(_) => {}
        Err(error) => return error,
    }
    match read_part(storage, &ListedFile::named(name)) {
        Ok(Some(part)) if tag::store_of(name, &part).is_some_and(|found| found != owner) => in_the_way(storage, name),
        Ok(_) => fenced(),
        Err(error) => error,
    }
}

/// The error of a part in whose place there is one of another store.
fn in_the_way(storage: &dyn Storage, name: &str) -> Error {
    let detail = "a writer of a store that was removed from there has put an object of this name; end that writer";
    Error::io("create", storage.path(name), std::io::Error::new(ErrorKind::AlreadyExists, detail))
        .advise(Advice::Use(Call::Resume))
}
