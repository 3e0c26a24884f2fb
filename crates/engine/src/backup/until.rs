//! Restoring a store as of a moment: the newest backup at or before it, and the archived changes up to it.
//!
//! The changes are made to a copy elsewhere, which becomes the restored store as a whole at the end: a store that is
//! killed on the way is none.

use super::archive::{Segments, check, moment, position_of, reader_options, segments};
use super::backups::RestoredMoment;
use super::catalog::{Catalog, folder};
use super::moments::Moment;
use super::replay::Replay;
use super::restore::restore;
use super::segment::{SegmentInfo, SegmentReader};
use crate::error::{Error, Result};
use crate::io::{Clock, LocalStorage, MemoryStorage, ScratchFolder, Storage, random_u64};
use crate::lsm::{ChangePosition, Db, checkpoint_store};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A store as of a moment: a backup, and the segments behind it.
struct Way {
    backup: u64,
    /// The newest change of the backup, and the last one to be made.
    from: u64,
    to: u64,
    segments: Vec<SegmentInfo>,
    /// The segment with the moment.
    chosen: SegmentInfo,
}

/// Restores the store as of a moment to a storage without a store.
pub(super) fn restore_until(
    storage: &Arc<dyn Storage>,
    until: Moment,
    target: &Arc<dyn Storage>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<RestoredMoment> {
    let catalog = Catalog::read(&**storage)?;
    let way = find(storage, &catalog, until)?;
    // Damage is found before anything is restored.
    way.segments.iter().try_for_each(|info| check(storage, info))?;
    let staging = Staging::beside(target)?;
    let backup = restore(storage, Some(way.backup), &staging.storage, progress)?;
    let (reached, indexes_left_out) = replay(storage, &way, &staging.storage)?;
    checkpoint_store(Arc::clone(&staging.storage), Arc::clone(target))?;
    let position = ChangePosition::of(way.chosen.head.store, reached);
    let made_ms = (reached == way.chosen.end.end).then_some(way.chosen.end.made_ms);
    Ok(RestoredMoment { backup, position, made_ms, indexes_left_out })
}

/// Makes the changes of the segments; returns the number of the last one, and the names of indexes that rows do not
/// admit.
fn replay(storage: &Arc<dyn Storage>, way: &Way, staging: &Arc<dyn Storage>) -> Result<(u64, Vec<String>)> {
    if way.segments.is_empty() {
        return Ok((way.from, Vec::new()));
    }
    // The time is that of the archive, however long ago the backup was made.
    let options = reader_options()
        .threads(1)
        .memory_bytes(256 << 20)
        .clock(Clock::moved_by_hand(way.chosen.end.made_ms))
        .expiry(|expiry| expiry.clock_ahead_max(Duration::MAX));
    let db = Db::open(Arc::clone(staging), &options)?;
    let mut replay = Replay::new(&db, way.from, way.to)?;
    for info in &way.segments {
        replay.segment(&mut SegmentReader::open(&**storage, info.head.number)?)?;
    }
    let reached = replay.finish()?;
    db.persist()?;
    db.close()?;
    Ok(reached)
}

/// Finds the way to a moment.
///
/// # Errors
/// [`Cause::Input`](crate::Cause::Input) for a moment that cannot be restored, with the last one that can be.
fn find(storage: &Arc<dyn Storage>, catalog: &Catalog, until: Moment) -> Result<Way> {
    let found = segments(&**storage)?;
    let place = folder(&**storage);
    let intact: Vec<SegmentInfo> = found.values().filter_map(|info| info.as_ref().ok()).copied().collect();
    let Some(last) = intact.last().copied() else {
        return Err(Error::input(format!("{} has no archived changes; only backups can be restored", place.display())));
    };
    let refuse = |what: &str| {
        let detail = format!("{}: {what}; the last moment that is archived is {}", place.display(), moment(&last));
        Err(Error::input(detail))
    };
    let refuse_older = |what: &str| {
        let first = match first_moment(storage, catalog, &intact)? {
            Some(first) => format!("the first moment that can be restored by it is {}", moment(&first)),
            None => "none of its moments can be restored, without the backups that they lead on from".to_owned(),
        };
        Err(Error::input(format!("{}: {what}; {first}", place.display())))
    };
    let (chosen, to) = match until {
        Moment::Newest => (last, last.end.end),
        Moment::Time { made_ms } if made_ms > last.end.made_ms => return refuse("that time is not archived yet"),
        Moment::Time { made_ms } => match intact.iter().rev().find(|info| info.end.made_ms <= made_ms) {
            Some(info) => (*info, info.end.end),
            None => return refuse_older("the archive begins after that time"),
        },
        Moment::Position(position) if position.store() != last.head.store => {
            return refuse("the position is one of another store");
        }
        Moment::Position(position) => {
            let to = position.number();
            match intact.iter().rev().find(|info| leads_to(info, to) && to <= info.end.end) {
                Some(info) => (*info, to),
                None if to > last.end.end => return refuse("that position is not archived yet"),
                None => match intact.iter().rev().find(|info| info.head.start <= to) {
                    // In a gap: the way to it says where that is.
                    Some(info) => (*info, to),
                    None => return refuse_older("the archive begins behind that position"),
                },
            }
        }
    };
    let next_chain =
        intact.iter().find(|info| info.head.number > chosen.head.number && info.head.chain != chosen.head.chain);
    let backups = catalog.records.keys().rev().copied();
    let of_chain = backups.filter(|&number| {
        number > chosen.head.after_backup && next_chain.is_none_or(|next| number <= next.head.after_backup)
    });
    for backup in of_chain {
        let made_ms = catalog.records.get(&backup).map_or(0, |record| record.made_ms);
        if matches!(until, Moment::Time { made_ms: until_ms } if made_ms > until_ms) {
            continue;
        }
        let from = position_of(storage, catalog, backup)?;
        if from <= to {
            let segments = behind(&found, &chosen, (from, to), made_ms, &place)?;
            return Ok(Way { backup, from, to, segments, chosen });
        }
    }
    refuse_older("no backup is as old as that, from which its changes would lead on")
}

/// The first end of a run behind the oldest backup.
fn first_moment(storage: &Arc<dyn Storage>, catalog: &Catalog, intact: &[SegmentInfo]) -> Result<Option<SegmentInfo>> {
    let Some(&oldest) = catalog.records.keys().next() else { return Ok(None) };
    let from = position_of(storage, catalog, oldest)?;
    Ok(intact.iter().find(|info| info.end.end >= from && oldest > info.head.after_backup).copied())
}

/// Whether a segment has something of the way to a change: changes up to it, or none, and what the store was behind it.
fn leads_to(info: &SegmentInfo, to: u64) -> bool {
    info.head.start < to || info.end.end == to
}

/// The segments of a chain behind a backup at the change `from`, on to the one that is chosen, of which the changes up
/// to `to` are wanted. Those without changes have later types, options and indexes.
///
/// # Errors
/// [`Cause::Input`](crate::Cause::Input) if one is missing or damaged, with the last moment before it.
fn behind(
    found: &Segments,
    chosen: &SegmentInfo,
    (from, to): (u64, u64),
    made_ms: u64,
    place: &Path,
) -> Result<Vec<SegmentInfo>> {
    let (mut way, mut at): (Vec<SegmentInfo>, u64) = (Vec::new(), from);
    let is_behind = |info: &SegmentInfo| {
        let end = &info.end;
        let is_of_chain = info.head.chain == chosen.head.chain && info.head.number <= chosen.head.number;
        is_of_chain && leads_to(info, to) && (end.end > from || end.end == from && end.made_ms >= made_ms)
    };
    for info in found.values().filter_map(|info| info.as_ref().ok()).filter(|info| is_behind(info)) {
        if info.head.start > at {
            break;
        }
        way.push(*info);
        at = at.max(info.end.end);
    }
    if at >= to {
        return Ok(way);
    }
    let last = match way.last() {
        Some(last) => moment(last).to_string(),
        None => format!("position {}", ChangePosition::of(chosen.head.store, from)),
    };
    let damaged = found.values().find_map(|info| info.as_ref().err());
    let why = damaged.map_or_else(|| "it is missing".to_owned(), Error::message);
    Err(Error::input(format!(
        "{}: a part of the archive behind the change {at} cannot be read ({why}); the last moment that can be restored \
         is {last}",
        place.display()
    )))
}

/// The place where a store is restored before it is complete.
struct Staging {
    storage: Arc<dyn Storage>,
    /// A folder to be removed at the end.
    folder: Option<PathBuf>,
    _scratch: Option<ScratchFolder>,
}

/// Suffix of the folder beside the restored store, in front of a random number: two restores to one place each have
/// their own, and no folder of others has its name.
const STAGING_SUFFIX: &str = ".restoring-";

impl Staging {
    /// A folder beside that of the restored store, so that files are linked and not copied; for an object store, one
    /// among the temporary files.
    fn beside(target: &Arc<dyn Storage>) -> Result<Self> {
        if target.is_object_store() {
            let scratch = ScratchFolder::create()?;
            return Ok(Self { storage: scratch.storage(), folder: None, _scratch: Some(scratch) });
        }
        let Some(folder) = target.folder() else {
            return Ok(Self { storage: Arc::new(MemoryStorage::new()), folder: None, _scratch: None });
        };
        let mut name = folder.as_os_str().to_owned();
        name.push(format!("{STAGING_SUFFIX}{:016x}", random_u64()));
        let folder = PathBuf::from(name);
        LocalStorage::create_folder(&folder)?;
        Ok(Self { storage: Arc::new(LocalStorage::new(&folder)), folder: Some(folder), _scratch: None })
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            // What a failed removal leaves is an unused folder.
            _ = LocalStorage::remove_folder(folder);
        }
    }
}
