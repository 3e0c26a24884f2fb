//! Whose the objects below a URL are, where a store was removed and another one made in its place.
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

use super::folder::ObjectFolder;
use super::listing::Listing;
use super::names::ChainId;
use super::stub::{self, FIRST_MANIFEST, stub_name};
use super::{seal, tag};
use crate::error::{Advice, Call, Cause, Error, Result};
use crate::io::sync::Mutex;
use crate::io::{ListedFile, Storage};
use crate::lsm::version::FileKind;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The store whose objects a folder has.
#[derive(Debug, Default)]
pub(super) struct Owner {
    identity: OnceLock<u64>,
    /// Its anchor as a listing showed it, and as it was read then.
    anchor: Arc<Mutex<Option<ListedFile>>>,
    /// Whether it has none, as a store of an earlier version.
    lacks_anchor: AtomicBool,
    /// The manifest of a reader that goes on, which is one of the store.
    known_manifest: OnceLock<u64>,
    is_settled: OnceLock<()>,
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

    fn check_anchor(&self, storage: &dyn Storage, anchor: Anchor, store: u64) -> Result<()> {
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
enum Anchor {
    Of(u64),
    Absent,
    /// It is damaged, or an answer is not whole.
    Unknown,
}

impl Anchor {
    fn of(bytes: Option<&[u8]>) -> Self {
        bytes.map_or(Self::Absent, |bytes| tag::store_of(&stub_name(), bytes).map_or(Self::Unknown, Self::Of))
    }

    /// Whether it says that a store is not there any more.
    fn denies(self, store: u64) -> bool {
        matches!(self, Self::Of(found) if found != store) || self == Self::Absent
    }
}

fn read_part(storage: &dyn Storage, listed: &ListedFile) -> Result<Option<Vec<u8>>> {
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

fn read_anchor(storage: &dyn Storage) -> Result<Anchor> {
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

impl ObjectFolder {
    /// Notes that the store, which had no anchor, has its stub.
    pub(super) fn note_stub_put(&self) {
        self.owner.lacks_anchor.store(false, Ordering::Relaxed);
        self.has_stub.store(true, Ordering::Relaxed);
    }

    /// Fails if the store is not there any more, or another one is in its place.
    ///
    /// # Errors
    /// [`Cause::Gone`]; errors of the storage.
    pub(crate) fn check_in_place(&self) -> Result<()> {
        self.owner.check_in_place(&*self.inner)
    }

    /// As [`Self::check_in_place`], without a request if a listing shows the anchor that was read before.
    ///
    /// # Errors
    /// As [`Self::check_in_place`].
    pub(super) fn check_in_place_by(&self, listing: &Listing) -> Result<()> {
        let Some(store) = self.owner.identity() else { return Ok(()) };
        let listed = listing.anchor().filter(|listed| listed.e_tag.is_some());
        if listed.is_some() && listed == self.owner.anchor.lock().as_ref() {
            return Ok(());
        }
        let anchor = match listed.map(|listed| read_part(&*self.inner, listed)) {
            Some(Ok(Some(bytes))) => {
                let anchor = Anchor::of(Some(&bytes));
                self.note_anchor(listing, anchor);
                anchor
            }
            // The listing may be old.
            _ => read_anchor(&*self.inner)?,
        };
        self.owner.check_anchor(&*self.inner, anchor, store)
    }

    fn note_anchor(&self, listing: &Listing, anchor: Anchor) {
        if self.owner.identity().is_some_and(|store| anchor == Anchor::Of(store)) {
            *self.owner.anchor.lock() = listing.anchor().cloned();
        }
    }

    /// Finds out which store is there, by the listing by which it is being opened, and hides manifests of another one.
    ///
    /// # Errors
    /// [`Cause::Gone`] for a reader that goes on; [`Cause::WrongAnswer`]; errors of the storage.
    pub(super) fn settle(&self) -> Result<()> {
        let Some(mut listing) = self.listing.lock().clone() else { return Ok(()) };
        if self.owner.is_settled.get().is_some() {
            return Ok(());
        }
        match self.owner.identity() {
            Some(store) => {
                self.check_in_place_by(&listing)?;
                let known = self.owner.known_manifest.get().copied().unwrap_or(0);
                self.hide_foreign(&mut listing, store, known)?;
            }
            None => self.find_owner(&mut listing)?,
        }
        if let Some(now) = &mut *self.listing.lock() {
            *now = listing;
        }
        _ = self.owner.is_settled.set(());
        Ok(())
    }

    /// As [`Self::settle`], for an opening: reads the newest manifest, and with the same requests the anchor.
    fn find_owner(&self, listing: &mut Listing) -> Result<()> {
        let number = listing.newest(FileKind::Manifest);
        let chain = ChainId { kind: FileKind::Manifest, number };
        let names: Vec<String> = (0..listing.parts(chain)).map(|part| chain.part_name(part)).collect();
        let Some(first) = names.first() else { return Ok(()) };
        let is_first = chain == FIRST_MANIFEST;
        let anchor_name = stub_name();
        self.fetch(&names, if is_first { &[] } else { std::slice::from_ref(&anchor_name) })?;
        let owner = self.has_read(first).and_then(|part| tag::store_of(first, &part));
        let anchor = Anchor::of(self.has_read(&anchor_name).as_deref());
        match (owner, anchor) {
            (Some(owner), Anchor::Of(store)) if owner != store => {
                self.hide_foreign(listing, store, 0)?;
                if listing.newest(FileKind::Manifest) == 0 {
                    let detail = "it is of another store than the manifests there; remove the objects of one of them";
                    return Err(Error::damaged(self.inner.path(&anchor_name), 0, detail));
                }
                self.owner.set(store);
            }
            (owner, Anchor::Of(store)) => {
                self.owner.set(store);
                if owner.is_some() {
                    self.hide_foreign(listing, store, number)?;
                }
            }
            (owner, anchor) => {
                owner.into_iter().for_each(|owner| self.owner.set(owner));
                self.owner.lacks_anchor.store(!is_first && anchor == Anchor::Absent, Ordering::Relaxed);
            }
        }
        if is_first {
            self.note_anchor(listing, anchor);
        }
        Ok(())
    }

    /// Hides manifests with numbers above `known` that are of another store than this one: the greatest ones, up to one
    /// that is not.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(super) fn hide_foreign(&self, listing: &mut Listing, store: u64, known: u64) -> Result<()> {
        while let Some(chain) = listing.last_manifests().into_iter().filter(|chain| chain.number > known).max() {
            let Some(listed) = listing.first_part(chain).cloned() else { break };
            let part = match self.has_read(&listed.name) {
                Some(part) => Some(part.to_vec()),
                None => read_part(&*self.inner, &listed)?,
            };
            let found = part.as_deref().and_then(|part| tag::store_of(&listed.name, part));
            if found.is_none_or(|found| found == store) {
                break;
            }
            listing.hide(chain);
        }
        Ok(())
    }

    /// Whether a part is of another store.
    ///
    /// # Errors
    /// [`Cause::WrongAnswer`] for one of another place.
    pub(super) fn is_foreign(&self, name: &str, part: &[u8]) -> Result<bool> {
        if !tag::is_of(part, name) {
            return Err(self.misplaced(name));
        }
        let Some(owner) = self.owner.identity() else { return Ok(false) };
        Ok(tag::store_of(name, part).is_some_and(|found| found != owner))
    }

    /// Puts the seal of a chain over the first of its parts that is of another store. So its writer still meets it when
    /// the rest of the chain is gone. Returns `false` if there is none.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(super) fn seal_foreign(&self, chain: ChainId, parts: u64, nonce: u64) -> Result<bool> {
        let names: Vec<String> = (0..parts).map(|part| chain.part_name(part)).collect();
        self.fetch(&names, &[])?;
        for name in names {
            let Some(part) = self.has_read(&name) else { continue };
            if seal::is_seal(&part) || !self.is_foreign(&name, &part)? {
                continue;
            }
            let seal = seal::encode(nonce, &name);
            // A request that arrives late replaces no other part.
            let mut file = self.inner.create_in_place_of(&self.listed(|listing| listing.part(&name))?)?;
            file.append(&seal)?;
            file.sync()?;
            self.note_read(&name, seal.to_vec());
            return Ok(true);
        }
        Ok(false)
    }

    /// Whether the manifest of this number, which was refused since there is one, is of another store, while the
    /// writer's is still there.
    ///
    /// # Errors
    /// [`Cause::Gone`]; errors of the storage.
    pub(crate) fn is_foreign_manifest(&self, number: u64) -> Result<bool> {
        self.check_in_place()?;
        let name = ChainId { kind: FileKind::Manifest, number }.part_name(0);
        let part = read_part(&*self.inner, &ListedFile::named(&*name))?;
        let found = part.filter(|part| !stub::is_stub(part)).and_then(|part| tag::store_of(&name, &part));
        Ok(found.is_some_and(|found| self.owner.identity().is_some_and(|owner| found != owner)))
    }
}
