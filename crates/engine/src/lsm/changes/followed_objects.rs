//! The history of a store on an object store: one listing shows whether there is anything new, and what is new is read
//! by that listing. Logs that are in tables are read one after the other.

use super::history::{HistoryLog, StoreHistory, UnreadChanges};
use crate::error::{Cause, Error, Result};
use crate::io::Storage;
use crate::lsm::core::store::Core;
use crate::lsm::objects::{KnownChain, ObjectFolder, StoreVersion};
use crate::lsm::open::recover::{KnownManifest, read_on};
use crate::lsm::state::entry::{SEQUENCE_MAX, Sequence};
use crate::lsm::state::version::{FileKind, ManifestState};
use std::collections::BTreeSet;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

/// What a follower knows of a store on an object store.
#[derive(Default)]
pub(super) struct FollowedObjects {
    /// The version of which it has all changes.
    pub(super) seen: Option<StoreVersion>,
    /// What it has read of the manifest.
    pub(super) manifest: KnownManifest,
    /// What it has read of the log in which it goes on.
    pub(super) log: Option<(u64, KnownChain)>,
    /// A history that it has not read to its end.
    pub(super) rest: Option<StoreHistory>,
    /// Whether it begins behind what is in tables.
    pub(super) begins_at_base: bool,
}

impl Debug for FollowedObjects {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowedObjects").field("seen", &self.seen).finish_non_exhaustive()
    }
}

/// The objects that a history is read from, and the version that they showed.
pub(super) struct HistoryObjects {
    pub(super) folder: Arc<ObjectFolder>,
    pub(super) version: StoreVersion,
}

/// What the writer of a store knows of its own history.
struct OwnHistory {
    state: ManifestState,
    /// The logs that are not in tables, each with its end if that is known, and its last change.
    logs: Vec<(u64, Option<u64>, Sequence)>,
    last: Sequence,
}

impl Core {
    /// The part of the history that is unread; `None` if a listing shows nothing new.
    pub(super) fn history_of_objects(
        &self,
        objects: &ObjectFolder,
        unread: UnreadChanges,
        known: &mut FollowedObjects,
    ) -> Result<Option<StoreHistory>> {
        let mut tried = known.seen;
        loop {
            let own = if self.access.is_read_only() { None } else { Some(self.own_state()?) };
            let folder = Arc::new(objects.followed(self.files.manifest_number(), known.seen.as_ref())?);
            let version = folder.version()?;
            // A listing may lag behind the one before.
            if own.is_none() && known.seen.is_some_and(|seen| version <= seen) {
                return Ok(None);
            }
            let found = HistoryObjects { folder, version };
            match self.history_of_listing(found, own, unread, known) {
                Err(Error { cause: Cause::VersionGone | Cause::Damaged | Cause::WrongAnswer, .. })
                    if tried != Some(version) =>
                {
                    tried = Some(version);
                }
                // The store may have been removed meanwhile.
                Err(error) => return objects.check_in_place().and(Err(error)),
                Ok(history) => return Ok(Some(history)),
            }
        }
    }

    /// What the writer knows. All of it is durable.
    fn own_state(&self) -> Result<OwnHistory> {
        let writer = self.durable_writer()?;
        let shared = self.contents.lock();
        if self.is_closed() {
            return Err(self.closed());
        }
        let mut logs = Vec::new();
        for set in shared.sealed.iter().map(|set| &**set).chain([&writer.active]) {
            let end = |bytes: u64| Some(bytes).filter(|&bytes| bytes > 0);
            logs.extend(set.logs.iter().map(|log| (log.number, end(log.bytes), set.last_sequence)));
        }
        if let (Some(log), Some(last)) = (&writer.log, logs.last_mut()) {
            last.1 = Some(log.len_bytes());
        }
        Ok(OwnHistory { state: shared.state.clone(), logs, last: writer.active.last_sequence })
    }

    fn history_of_listing(
        &self,
        found: HistoryObjects,
        own: Option<OwnHistory>,
        unread: UnreadChanges,
        known: &mut FollowedObjects,
    ) -> Result<StoreHistory> {
        let folder = Arc::clone(&found.folder);
        let (state, logs, last) = match own {
            Some(OwnHistory { state, logs, last }) => (state, logs, Some(last)),
            None => {
                let (newest, manifest) = read_on(&folder, known.manifest.take())?;
                known.manifest = manifest;
                let Some(newest) = newest else { return Err(folder.version_gone()) };
                folder.check_current(newest.number, &newest.state)?;
                let end = |number: &u64| newest.state.logs_ended.get(number).copied();
                let logs = newest.state.logs.iter().map(|number| (*number, end(number), SEQUENCE_MAX)).collect();
                (newest.state, logs, None)
            }
        };
        if state.owner != self.files.binding.store {
            return Err(Error::gone(self.path()));
        }
        folder.name_objects(&state);
        folder.set_known(FileKind::Log, known.log);
        let after = if known.begins_at_base { state.last_sequence } else { unread.after };
        let (view, trees) = {
            let shared = self.contents.lock();
            (shared.empty_view.clone(), shared.trees.clone())
        };
        let storage = Arc::clone(&folder) as Arc<dyn Storage>;
        let unread = UnreadChanges { after, ..unread };
        let mut history = self.history_of_state((&state, &state.kept), unread, &view, &storage)?;
        if last.is_some() {
            // Types that are stated now count for values that are read now.
            history.keyspaces.extend(trees);
        }
        history.last = last;
        let is_unread = |&(number, _, last): &(u64, Option<u64>, Sequence)| {
            number >= unread.log && last > after && !state.kept.has_log(number)
        };
        let needed: Vec<_> = logs.into_iter().filter(is_unread).collect();
        let numbers: BTreeSet<u64> = needed.iter().map(|(number, ..)| *number).collect();
        // As they are at the time of the manifest: they are read now, and no group before its edit.
        folder.fetch_logs(&numbers, false)?;
        for (number, end, last) in needed {
            let binding = state.binding_of(number);
            history.logs.push_back(HistoryLog { number, binding, file: None, end, last });
        }
        history.objects = Some(found);
        Ok(history)
    }
}
