//! Checks of the assumptions behind stores on object stores: that a listing shows what is there, and that a put if
//! absent is refused where there is an object.
//!
//! ```text
//! an empty listing         the name of the first part of the first manifest is taken, by it or by its stub
//! an old listing           the parts that it names are gone, or manifests have been put that it does not show
//! a listing with holes     parts that it leaves out before others are asked for
//! one of several moments   so are the parts that manifests and ended logs get next
//! after a put              a listing shows what was put, and nothing newer
//! another size or ETag     the answer is not of the object that was listed
//! a part not listed yet    a HEAD must find it, too: a GET alone may have been answered with another object
//! a put of a taken name    is refused, or the object store ignores conditions
//! ```

use super::folder::{DENIALS_MAX, ObjectFolder, chain_of};
use super::listing::Listing;
use super::seal;
use super::stub::{self, FIRST_MANIFEST, stub_name};
use crate::error::{Cause, Error, Result};
use crate::io::{ListedFile, Storage, remove_if_present};
use crate::lsm::state::version::ChainId;
use crate::lsm::state::version::{FileKind, LOCK_NAME, ManifestState};
use std::io::ErrorKind;

/// Listings that are asked for after a put, until one shows what was put.
const LISTINGS_MAX: u32 = 3;

impl ObjectFolder {
    /// Refuses to go on if there is a newer manifest than `number`, which is there: another opening has created it.
    ///
    /// # Errors
    /// [`Cause::Fenced`]; [`Cause::Gone`] if the store was removed; [`Cause::WrongAnswer`] for listings that do not
    /// show this manifest; errors of the storage.
    pub(crate) fn check_newest(&self, number: u64) -> Result<()> {
        self.list_with(number, false).map(drop)
    }

    /// As [`Self::check_newest`], after the manifest was put. Nor is a store created where a copy is being made: of the
    /// two, each looks for the other after it has shown itself. And a store whose first manifest is gone gets its stub.
    ///
    /// # Errors
    /// As [`Self::check_newest`].
    pub(crate) fn check_won(&self, number: u64, store: u64) -> Result<()> {
        let listing = self.list_with(number, true)?;
        if number == FIRST_MANIFEST.number {
            return if listing.has_object(LOCK_NAME) { Err(self.copied_into()) } else { Ok(()) };
        }
        if !listing.has_stub() && !listing.has_part(FIRST_MANIFEST, 0) {
            match self.inner.put_if_absent(&stub_name(), &stub::encode(store)) {
                // A listing may lag.
                Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. }) => {}
                outcome => outcome?,
            }
            self.note_stub_put();
        }
        Ok(())
    }

    /// Whether an object is as a listing shows it.
    fn is_as_listed(&self, listed: &ListedFile) -> Result<bool> {
        let Some(found) = self.inner.find_file(&listed.name)? else { return Ok(false) };
        let length_bytes = found.length_bytes.or(listed.length_bytes).unwrap_or_default();
        Ok(listed.difference(length_bytes, found.e_tag.as_deref(), None).is_none())
    }

    /// A listing that shows manifest `number`, and no newer one. With `is_compared` it shows the one that is there now:
    /// an old listing may show one that had the name before.
    pub(super) fn list_with(&self, number: u64, is_compared: bool) -> Result<Listing> {
        let name = ChainId { kind: FileKind::Manifest, number }.part_name(0);
        let mut is_shown = false;
        for _ in 0..LISTINGS_MAX {
            let mut listing = self.read_listing()?;
            if let Some(store) = self.owner.identity() {
                self.hide_foreign(&mut listing, store, number)?;
            }
            // Any part proves it, also if the listing leaves out the first one.
            if listing.last_manifests().iter().any(|chain| chain.number > number) {
                self.check_in_place()?;
                return Err(self.fenced());
            }
            if listing.newest(FileKind::Manifest) < number {
                continue;
            }
            if !is_compared || self.is_as_listed(&listing.part(&name))? {
                self.check_in_place_by(&listing)?;
                return Ok(listing);
            }
            is_shown = true;
        }
        self.check_in_place()?;
        if is_shown {
            let detail = "the listing and the answer to a HEAD do not agree on its length or ETag: one of them is \
                          wrong, or the listing is out of date";
            return Err(Error::wrong_answer(self.inner.path(&name), detail));
        }
        Err(self.outdated(&format!("it does not show {name} as it was put")))
    }

    /// Makes the first manifest, which no version needs any more, a stub, in one request.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(super) fn put_stub(&self, store: u64) -> Result<()> {
        self.replace(&stub_name(), &stub::encode(store))?;
        self.note_stub_put();
        Ok(())
    }

    /// Puts an object over what has its name, in one request.
    pub(super) fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let mut file = self.inner.create_replacing(name)?;
        file.append(bytes)?;
        file.sync()
    }

    /// Puts the stub of a copy, before anything else of it: so no store is created there, whatever listings show.
    ///
    /// # Errors
    /// An error of kind `AlreadyExists` if a store is there, or what a killed copy has left; [`Cause::Unsupported`] if
    /// the object store ignores conditions; errors of the storage.
    pub(crate) fn begin_copy(&self, store: u64) -> Result<()> {
        match self.inner.put_if_absent(&stub_name(), &stub::encode(store)) {
            Err(Error { cause: Cause::Io(ErrorKind::AlreadyExists), .. }) => {
                let detail = "there is a store, or what a killed copy has left; remove all objects of that prefix, or \
                              choose another one";
                let source = std::io::Error::new(ErrorKind::AlreadyExists, detail);
                return Err(Error::io("copy a store over", self.inner.path(&stub_name()), source));
            }
            outcome => outcome?,
        }
        self.note_stub_put();
        self.check_conditions().inspect_err(|_| self.end_failed_copy())
    }

    /// Removes the stub of a copy that failed, after all else of it.
    pub(crate) fn end_failed_copy(&self) {
        // The first error is the useful one.
        _ = remove_if_present(&*self.inner, &stub_name());
    }

    /// Refuses an object store that ignores the condition of a put if absent: puts the first part of the first manifest
    /// once more, with the bytes that it has.
    ///
    /// # Errors
    /// [`Cause::Unsupported`]; errors of the storage.
    pub(crate) fn check_conditions(&self) -> Result<()> {
        let name = stub_name();
        let Some(bytes) = self.read_listed_part(&self.part_while_opening(&name))? else {
            return Err(self.outdated(&format!("{name} was put, but cannot be read")));
        };
        if self.inner.refuses_taken_name(&name, &bytes)? {
            return Ok(());
        }
        let hint = "its object store ignores the header If-None-Match: it accepts a put of an object that is there, \
                    so that two writers would overwrite each other's data; use one with conditional puts, or a folder";
        Err(Error::unsupported(self.store(), "write to", hint))
    }

    /// As [`Self::check_conditions`], for a store that was just created, which is taken back.
    ///
    /// # Errors
    /// As [`Self::check_conditions`].
    pub(crate) fn check_conditions_of_new_store(&self) -> Result<()> {
        self.check_conditions().inspect_err(|error| {
            if matches!(error, Error { cause: Cause::Unsupported, .. }) {
                _ = remove_if_present(&*self.inner, &stub_name());
            }
        })
    }

    /// Refuses a listing that shows no store where there is one.
    ///
    /// # Errors
    /// [`Cause::WrongAnswer`]; errors of the storage.
    pub(super) fn check_shown(&self, listing: &Listing) -> Result<()> {
        if listing.newest(FileKind::Manifest) > 0 {
            return Ok(());
        }
        if listing.has_stub() && listing.has_object(LOCK_NAME) {
            return Err(self.copied_into());
        }
        // A writer that creates the store notices when it puts the first manifest.
        if listing.has_stub() || self.is_reading() && self.inner.exists(&stub_name())? {
            return Err(self.outdated_by_stub());
        }
        Ok(())
    }

    /// Refuses to say that there is no store where a listing alone shows none.
    ///
    /// # Errors
    /// [`Cause::WrongAnswer`]; errors of the storage.
    pub(crate) fn check_absent(&self) -> Result<()> {
        if self.inner.exists(&stub_name())? { Err(self.outdated_by_stub()) } else { Ok(()) }
    }

    /// Refuses to create a store where the first manifest has become a stub.
    ///
    /// # Errors
    /// [`Cause::WrongAnswer`]; errors of the storage.
    pub(crate) fn check_not_stub(&self) -> Result<()> {
        let found = self.read_listed_part(&ListedFile::named(stub_name()))?;
        if found.is_some_and(|found| stub::is_stub(&found)) { Err(self.outdated_by_stub()) } else { Ok(()) }
    }

    pub(super) fn outdated(&self, detail: &str) -> Error {
        Error::wrong_answer(self.store(), format!("the listing is out of date: {detail}"))
    }

    pub(super) fn outdated_by_stub(&self) -> Error {
        self.outdated(&format!("it shows no manifest of the store, but {} says that there is one", stub_name()))
    }

    /// The error of a listed part that could not be read as it was listed.
    pub(super) fn explained_part<T>(&self, listed: &ListedFile, part: Result<T>) -> Result<T> {
        match part {
            Err(Error { cause: Cause::Io(ErrorKind::NotFound), .. }) => {
                _ = self.absent_part.set(listed.name.clone());
                // A writer may have removed it from a reader.
                Err(if self.is_reading() {
                    self.version_gone()
                } else {
                    self.denied(&listed.name, "a listing shows it")
                })
            }
            Err(Error { cause: Cause::WrongAnswer, .. }) if listed.name == stub_name() => {
                self.check_not_stub()?;
                part
            }
            part => part,
        }
    }

    /// The error of a reader that finds twice that something of the newest version is gone: the listing is old, or the
    /// store is incomplete.
    ///
    /// # Errors
    /// Errors of the storage.
    pub(crate) fn explain_gone(&self) -> Result<Error> {
        if let Some(name) = self.absent_part.get() {
            return Ok(self.denied(name, "a listing shows it"));
        }
        self.check_not_left_out(&self.listed(Listing::next_manifest_parts)?)?;
        // No writer removes what the newest version needs.
        Ok(Error::damaged(self.store(), 0, "an object that its newest version needs is missing"))
    }

    /// The error of a store that seems to be damaged: a listing that leaves out the last parts of a log or a manifest,
    /// or the newest manifest, may be the cause.
    ///
    /// # Errors
    /// [`Cause::WrongAnswer`], if it is; errors of the storage.
    pub(crate) fn explain_damage(&self, error: Error) -> Result<Error> {
        let (Cause::Damaged, Some(path)) = (error.cause, error.path()) else { return Ok(error) };
        let mut names = self.listed(Listing::next_manifest_parts)?;
        if let Some(chain) = path.file_name().and_then(|name| chain_of(name.to_str()?)) {
            names.push(chain.part_name(self.listed(|listing| listing.parts(chain))?));
        }
        self.check_not_left_out(&names)?;
        Ok(error)
    }

    /// Fails if any of these parts, which a listing does not show, is there.
    ///
    /// # Errors
    /// [`Cause::WrongAnswer`]; errors of the storage.
    pub(super) fn check_not_left_out(&self, names: &[String]) -> Result<()> {
        for name in names {
            if self.inner.exists(name)? {
                return Err(self.leaves_out(name));
            }
        }
        Ok(())
    }

    /// Fails if any of these files, of which a read has said that it is not there, is there.
    ///
    /// # Errors
    /// [`Cause::WrongAnswer`]; errors of the storage.
    pub(crate) fn check_absent_files(&self, names: &[String]) -> Result<()> {
        for name in names {
            if self.find_file(name)?.is_some() {
                return Err(self.denied(name, "finds it when it is asked again"));
            }
        }
        Ok(())
    }

    /// The error of a listing without a part that is there.
    pub(super) fn leaves_out(&self, name: &str) -> Error {
        self.outdated(&format!("it does not show {name}, which is there"))
    }

    /// The error of an object that is not there when it is asked for, though it must be.
    pub(super) fn denied(&self, name: &str, but: &str) -> Error {
        let detail = format!(
            "it says that there is no {name} (404), but {but}: the answer is wrong, or the listing is out of date"
        );
        Error::wrong_answer(self.store(), detail)
    }

    /// The error of a part that an answer has, though it is not there.
    fn unshown(&self, name: &str) -> Error {
        let detail = format!("a GET finds {name}, but a HEAD says that there is none (404), and no listing shows it");
        Error::wrong_answer(self.store(), detail)
    }

    /// Reads a part of a chain that another writer may be writing. One that no listing has shown counts only if a HEAD
    /// finds it, too, and is read as that one shows it.
    ///
    /// # Errors
    /// [`Cause::WrongAnswer`] if they contradict each other again and again; errors of the storage.
    pub(super) fn read_shown_part(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let listed = self.listed(|listing| listing.part(name))?;
        for _ in 0..DENIALS_MAX {
            let found = self.read_listed_part(&listed)?;
            if found.is_none() || !listed.is_named_only() {
                return Ok(found);
            }
            if let Some(shown) = self.inner.find_file(name)? {
                self.add_shown(shown.clone());
                return self.read_listed_part(&shown);
            }
        }
        Err(self.unshown(name))
    }

    /// Whether a part is the seal of its chain.
    ///
    /// # Errors
    /// [`Cause::WrongAnswer`] for a seal of another place.
    pub(super) fn is_seal_of(&self, name: &str, part: &[u8]) -> Result<bool> {
        if !seal::is_seal(part) || seal::is_of(part, name) {
            return Ok(seal::is_seal(part));
        }
        Err(self.misplaced(name))
    }

    /// The error of an answer with another part than the one that was asked for.
    pub(super) fn misplaced(&self, name: &str) -> Error {
        let detail = "the answer has a part of another log or manifest".to_owned();
        Error::wrong_answer(self.inner.path(name), detail)
    }

    /// Refuses to create a store where a copy is being made, or a killed one has left its objects.
    pub(crate) fn check_no_copy(&self) -> Result<()> {
        if self.listed(|listing| listing.has_object(LOCK_NAME))? { Err(self.copied_into()) } else { Ok(()) }
    }

    fn copied_into(&self) -> Error {
        copy_in_the_way("create a store beside", &*self.inner)
    }

    /// Refuses, for a reader, a state that is not the newest one: there are parts of a newer manifest, or groups in a
    /// log that the state does not know, though a log is named before anything is written to it.
    ///
    /// # Errors
    /// [`Cause::Damaged`]; [`Cause::WrongAnswer`] if the listing leaves out the newest one; errors of the storage.
    pub(crate) fn check_current(&self, number: u64, state: &ManifestState) -> Result<()> {
        let manifests = |listing: &Listing| {
            let newer = listing.chains().filter(|chain| chain.kind == FileKind::Manifest && chain.number > number);
            newer.max()
        };
        let outdated = |name: String, detail: &str| {
            self.check_not_left_out(&self.listed(Listing::next_manifest_parts)?)?;
            Err(Error::damaged(self.inner.path(&name), 0, detail))
        };
        if let Some(newer) = self.listed(manifests)? {
            return outdated(newer.part_name(0), "it is missing, but later parts of this manifest are there");
        }
        let is_unknown = |chain: &ChainId| {
            chain.kind == FileKind::Log && chain.number >= state.oldest_log && !state.logs.contains(&chain.number)
        };
        let unknown: Vec<ChainId> = self.listed(|listing| {
            listing.chains().filter(|chain| is_unknown(chain) && listing.parts(*chain) > 1).collect()
        })?;
        for chain in unknown {
            let name = chain.part_name(1);
            let Some(part) = self.read_part(&name)? else { continue };
            if !seal::is_seal(&part) && !self.is_foreign(&name, &part)? {
                return outdated(name, "it has groups of a log that no manifest names: the newest manifest is missing");
            }
        }
        Ok(())
    }

    /// The error of an opening whose manifest, of this number, is not the newest one: another writer has opened the
    /// store meanwhile, or the listing by which the newest one was found has left later ones out.
    pub(crate) fn explain_lost_opening(&self, error: Error, number: u64) -> Error {
        if error.cause != Cause::Fenced {
            return error;
        }
        let name = ChainId { kind: FileKind::Manifest, number }.part_name(0);
        match self.read_listing() {
            Ok(listing) if listing.newest(FileKind::Manifest) < number => self.leaves_out(&name),
            Ok(_) => Error::fenced(error.place(), true),
            Err(error) => error,
        }
    }

    pub(crate) fn fenced(&self) -> Error {
        Error::fenced(self.store(), false)
    }
}

/// The error of an action that the claim of a copy is in the way of. A copy that was killed has left that, after its
/// manifest too, with which it is a store.
pub(in crate::lsm) fn copy_in_the_way(action: &'static str, storage: &dyn Storage) -> Error {
    let shows_store = |listing: Listing| listing.newest(FileKind::Manifest) > 0;
    let detail = match Listing::read(storage).map(shows_store) {
        Ok(true) => {
            "there is a store, and this is left of the copy that made it, or one is being made; choose another prefix"
        }
        _ => {
            "a copy of a store is being made there; if it was killed, remove this and the other objects of that \
             prefix, or choose another one"
        }
    };
    Error::io(action, storage.path(LOCK_NAME), std::io::Error::new(ErrorKind::AlreadyExists, detail))
}
