//! The objects of a store at one time.

use super::stub::{FIRST_MANIFEST, STUB_BYTES, stub_name};
use super::version::StoreVersion;
use crate::error::Result;
use crate::io::{FolderListing, ListedFile, Storage};
use crate::lsm::state::version::{ChainId, parse_part_name, subscriber_of};
use crate::lsm::state::version::{FileKind, file_name};
use std::collections::{BTreeMap, BTreeSet};

/// The objects of a store as an object store lists them: at one time, or by several answers after each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    /// Files that are single objects, each as it was listed.
    objects: BTreeMap<String, ListedFile>,
    /// The parts of the others, each as it was listed.
    chains: BTreeMap<ChainId, BTreeMap<u64, ListedFile>>,
    /// Whether the first part of the first manifest is a stub. Then it is no part of that.
    has_stub: bool,
    /// The first part of the first manifest, or its stub, as it was listed.
    anchor: Option<ListedFile>,
    /// Chains of another store. Their names are taken.
    hidden: BTreeSet<ChainId>,
    /// Whether what it shows may be of several moments.
    is_mixed: bool,
}

impl Listing {
    pub(super) fn read(storage: &dyn Storage) -> Result<Self> {
        let FolderListing { files, is_at_once } = storage.list_files()?;
        let mut listing = Self { is_mixed: !is_at_once, ..Self::default() };
        files.into_iter().for_each(|file| listing.add(file));
        Ok(listing)
    }

    /// Adds a file, or what is known of it now.
    pub(super) fn add(&mut self, file: ListedFile) {
        if file.name == stub_name() {
            self.anchor = Some(file.clone());
        }
        match parse_part_name(&file.name) {
            Some((FIRST_MANIFEST, 0)) if file.length_bytes == Some(STUB_BYTES as u64) => self.note_stub(),
            Some((chain, part)) => _ = self.chains.entry(chain).or_default().insert(part, file),
            None => _ = self.objects.insert(file.name.clone(), file),
        }
    }

    /// Adds a part that it has left out, though it shows later ones.
    pub(super) fn add_left_out(&mut self, file: ListedFile) {
        self.is_mixed = true;
        self.add(file);
    }

    /// Whether what it shows may be of several moments: it took several answers, or has left out a part.
    pub(super) fn is_mixed(&self) -> bool {
        self.is_mixed
    }

    /// Notes that the first part of the first manifest is a stub.
    pub(super) fn note_stub(&mut self) {
        self.has_stub = true;
        if let Some(parts) = self.chains.get_mut(&FIRST_MANIFEST) {
            parts.remove(&0);
        }
        self.chains.retain(|_, parts| !parts.is_empty());
    }

    pub(super) fn has_stub(&self) -> bool {
        self.has_stub
    }

    /// The first part of the first manifest, or its stub, as it was listed.
    pub(super) fn anchor(&self) -> Option<&ListedFile> {
        self.anchor.as_ref()
    }

    /// Hides a chain, which is of another store.
    pub(super) fn hide(&mut self, chain: ChainId) {
        self.chains.remove(&chain);
        self.hidden.insert(chain);
    }

    /// The first part of a chain that it shows.
    pub(super) fn first_part(&self, chain: ChainId) -> Option<&ListedFile> {
        self.chains.get(&chain)?.values().next()
    }

    /// A part as it was listed.
    pub(super) fn part(&self, name: &str) -> ListedFile {
        let found = parse_part_name(name).and_then(|(chain, part)| self.chains.get(&chain)?.get(&part));
        found.cloned().unwrap_or_else(|| ListedFile::named(name))
    }

    /// Number of parts before the first absent one.
    pub(super) fn parts(&self, chain: ChainId) -> u64 {
        let parts = self.chains.get(&chain).into_iter().flat_map(BTreeMap::keys);
        (0..).zip(parts).take_while(|(expected, part)| expected == *part).count() as u64
    }

    /// The first absent part of a chain of which later parts are there. A writer leaves none, unless groups that were
    /// in flight have arrived without one before; so the listing may have left it out.
    pub(super) fn hole(&self, chain: ChainId) -> Option<u64> {
        let absent = self.parts(chain);
        self.chains.get(&chain)?.range(absent..).next().map(|_| absent)
    }

    /// Chains of manifests of which the newest may be one, also if the listing left out its first part.
    pub(super) fn last_manifests(&self) -> Vec<ChainId> {
        let newest = self.newest(FileKind::Manifest);
        let is_last = |chain: &ChainId| chain.kind == FileKind::Manifest && chain.number >= newest;
        self.chains().filter(is_last).collect()
    }

    pub(super) fn has_part(&self, chain: ChainId, part: u64) -> bool {
        self.chains.get(&chain).is_some_and(|parts| parts.contains_key(&part))
    }

    /// All parts of a chain, also those that do not count.
    pub(super) fn all_parts(&self, chain: ChainId) -> Vec<u64> {
        self.chains.get(&chain).into_iter().flat_map(BTreeMap::keys).copied().collect()
    }

    /// The chains of which anything is there.
    pub(super) fn chains(&self) -> impl Iterator<Item = ChainId> {
        self.chains.keys().copied()
    }

    pub(super) fn has_object(&self, name: &str) -> bool {
        self.objects.contains_key(name)
    }

    /// A file that is a single object as it was listed.
    pub(super) fn object(&self, name: &str) -> Option<ListedFile> {
        self.objects.get(name).cloned()
    }

    /// The files of subscribers.
    pub(super) fn subscribers(&self) -> Vec<ListedFile> {
        self.objects.values().filter(|file| subscriber_of(&file.name).is_some()).cloned().collect()
    }

    /// The names of all files, sorted; a chain without its first part is none.
    pub(super) fn files(&self) -> Vec<String> {
        let chains = self.chains.keys().filter(|chain| self.parts(**chain) > 0);
        let mut names: Vec<String> = chains.map(|chain| file_name(chain.number, chain.kind)).collect();
        names.extend(self.objects.keys().cloned());
        names.sort_unstable();
        names
    }

    /// The number of the newest chain of a kind; 0 if there is none.
    pub(super) fn newest(&self, kind: FileKind) -> u64 {
        let chains = self.chains.keys().filter(|chain| chain.kind == kind && self.parts(**chain) > 0);
        chains.map(|chain| chain.number).max().unwrap_or(0)
    }

    /// The version that this listing shows.
    pub(super) fn version(&self) -> StoreVersion {
        let newest = |kind| {
            let number = self.newest(kind);
            (number, self.parts(ChainId { kind, number }))
        };
        let ((manifest, manifest_parts), (log, log_parts)) = (newest(FileKind::Manifest), newest(FileKind::Log));
        StoreVersion { manifest, manifest_parts, log, log_parts }
    }

    /// The part that the newest manifest gets next, and the first one of the manifest after it. If one of them is
    /// there, the manifest has grown since it was listed, or the listing is out of date.
    pub(super) fn next_manifest_parts(&self) -> Vec<String> {
        let number = self.newest(FileKind::Manifest);
        let chain = ChainId { kind: FileKind::Manifest, number };
        let next = (number + 1..).map(|number| ChainId { number, ..chain }).find(|next| !self.hidden.contains(next));
        std::iter::once(chain.part_name(self.parts(chain))).chain(next.map(|next| next.part_name(0))).collect()
    }

    /// Hides what came after a version. Returns `false` if the version is not there any more.
    pub(super) fn cut(&mut self, version: &StoreVersion) -> bool {
        let StoreVersion { manifest, manifest_parts, log, log_parts } = *version;
        for (kind, number, parts) in [(FileKind::Manifest, manifest, manifest_parts), (FileKind::Log, log, log_parts)] {
            self.chains.retain(|chain, _| chain.kind != kind || chain.number <= number);
            if let Some(found) = self.chains.get_mut(&ChainId { kind, number }) {
                found.retain(|&part, _| part < parts);
            }
            if self.parts(ChainId { kind, number }) < parts {
                return false;
            }
        }
        true
    }
}
