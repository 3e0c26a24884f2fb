//! Parts of other stores among the objects of a store: finds the store that is there, and the parts that are not its
//! own.

use super::folder::ObjectFolder;
use super::listing::Listing;
use super::owner::{Anchor, read_anchor, read_part};
use super::stub::{self, FIRST_MANIFEST, stub_name};
use super::{seal, tag};
use crate::error::{Error, Result};
use crate::io::ListedFile;
use crate::lsm::state::version::{ChainId, FileKind, stated_anchor};
use crate::table::filter::hash_key;
use std::sync::atomic::Ordering;

/// The digest of an object of a listing, with which a closed manifest states it; `None` without an ETag that tells it
/// from all others of its name.
fn digest_of(listed: &ListedFile) -> Option<u64> {
    let e_tag = listed.e_tag.as_deref().filter(|e_tag| !e_tag.starts_with("W/"))?;
    Some(hash_key(e_tag.trim_matches('"').as_bytes()))
}

impl ObjectFolder {
    /// Notes that the stub was put: the store, if it had no anchor, has one, and another one than a listing showed.
    pub(super) fn note_stub_put(&self) {
        self.owner.lacks_anchor.store(false, Ordering::Relaxed);
        *self.owner.anchor.lock() = None;
        self.has_stub.store(true, Ordering::Relaxed);
    }

    /// Fails if the store is not there any more, or another one is in its place.
    ///
    /// # Errors
    /// [`Cause::Gone`](crate::Cause::Gone); errors of the storage.
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

    /// The digest of the anchor that was read as one of the store, for a closed manifest; `None` if there is none, or
    /// the object store states no ETag. If no listing has shown it since it was put, it is looked for.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn anchor_digest(&self) -> Result<Option<u64>> {
        let known = self.owner.anchor.lock().clone();
        if known.is_some() {
            return Ok(known.as_ref().and_then(digest_of));
        }
        let Some(found) = self.inner.find_file(&stub_name())? else { return Ok(None) };
        let anchor = Anchor::of(read_part(&*self.inner, &found)?.as_deref());
        if self.owner.identity().is_none_or(|store| anchor != Anchor::Of(store)) {
            return Ok(None);
        }
        let digest = digest_of(&found);
        *self.owner.anchor.lock() = Some(found);
        Ok(digest)
    }

    /// Whether a manifest of this name, which was read, states that the anchor that is listed is one of its store.
    fn states_anchor(&self, (chain, name): (ChainId, &str), listing: &Listing) -> bool {
        let listed = listing.anchor().and_then(digest_of);
        let stated = self.has_read(name).and_then(|part| stated_anchor(&part, chain.number));
        listed.is_some() && listed == stated
    }

    /// Finds out which store is there, by the listing by which it is being opened, and hides manifests of another one.
    ///
    /// # Errors
    /// [`Cause::Gone`](crate::Cause::Gone) for a reader that goes on;
    /// [`Cause::WrongAnswer`](crate::Cause::WrongAnswer); errors of the storage.
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

    /// As [`Self::settle`], for an opening: reads the newest manifest, and with the same requests the anchor. A
    /// manifest of one part may be a closed one, which states the anchor: then only another anchor than that is read.
    fn find_owner(&self, listing: &mut Listing) -> Result<()> {
        let number = listing.newest(FileKind::Manifest);
        let chain = ChainId { kind: FileKind::Manifest, number };
        let names: Vec<String> = (0..listing.parts(chain)).map(|part| chain.part_name(part)).collect();
        let Some(first) = names.first() else { return Ok(()) };
        let is_first = chain == FIRST_MANIFEST;
        let anchor_name = stub_name();
        if names.len() == 1 && listing.anchor().and_then(digest_of).is_some() {
            self.fetch(&names, &[])?;
        }
        let is_stated = !is_first && self.states_anchor((chain, first), listing);
        let with_anchor = !is_first && !is_stated;
        self.fetch(&names, if with_anchor { std::slice::from_ref(&anchor_name) } else { &[] })?;
        let owner = self.has_read(first).and_then(|part| tag::store_of(first, &part));
        let read = self.has_read(&anchor_name);
        let anchor = owner.filter(|_| is_stated).map_or_else(|| Anchor::of(read.as_deref()), Anchor::Of);
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
        if is_first || is_stated {
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
    /// [`Cause::WrongAnswer`](crate::Cause::WrongAnswer) for one of another place.
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
    /// [`Cause::Gone`](crate::Cause::Gone); errors of the storage.
    pub(crate) fn is_foreign_manifest(&self, number: u64) -> Result<bool> {
        self.check_in_place()?;
        let name = ChainId { kind: FileKind::Manifest, number }.part_name(0);
        let part = read_part(&*self.inner, &ListedFile::named(&*name))?;
        let found = part.filter(|part| !stub::is_stub(part)).and_then(|part| tag::store_of(&name, &part));
        Ok(found.is_some_and(|found| self.owner.identity().is_some_and(|owner| found != owner)))
    }
}
