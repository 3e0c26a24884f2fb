//! Repair of an index: the entries of its intact leaves become a new index.

use super::losses::{FileRepairReport, Losses};
use crate::error::{Cause, Error, Result};
use crate::index::extend::FactoryWord;
use crate::index::extend::Rescued;
use crate::index::{IndexOptions, RescuedIndex, WordRescue};
use crate::io::{LocatedFile, Place, Storage, remove_if_present};
use std::io::ErrorKind;
use std::sync::Arc;

/// The suffix of an index that is not complete yet.
const TEMPORARY_SUFFIX: &str = ".ogive-tmp";

/// Copies the entries of the intact leaves of an index to a new index of the same kind, types, layout and page size.
/// Both are [places](Place). The damaged index is not changed, but must not be open for writing. `options`
/// has the memory for each, beyond which about 70 bytes per leaf are taken.
///
/// A leaf is intact if its page, or the records of the log that make it up, pass their checksums and are those of the
/// newest commit that can be read. Damage to inner pages, to the space map or to one copy of the header loses nothing.
/// If the log is damaged or missing, the commits before the damage count; the number of later ones is unknown. If no
/// entry can be saved, no index is written. `progress` receives the number of entries saved and of all.
///
/// # Errors
/// [`Cause::NotRepairable`] if both copies of the header are damaged, or if leaves of this kind of index cannot be told
/// from other pages; [`Cause::Locked`] while the index is open for writing; [`Cause::Io`] of kind `AlreadyExists` if
/// the name of the new one is taken; errors of the storage.
pub fn repair_index(
    damaged: impl Into<Place>,
    new: impl Into<Place>,
    options: &IndexOptions,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<FileRepairReport> {
    let (LocatedFile { storage, name }, new) = (damaged.into().file()?, new.into().file()?);
    match RescuedIndex::open(&storage, &name, &options.pages)? {
        RescuedIndex::Short(rescue) => copy(rescue, &new.storage, &new.name, progress),
        RescuedIndex::Long(rescue) => copy(rescue, &new.storage, &new.name, progress),
    }
}

fn copy<W: FactoryWord>(
    mut rescue: WordRescue<W>,
    storage: &Arc<dyn Storage>,
    new_name: &str,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<FileRepairReport> {
    let check_free = || match storage.exists(new_name)? {
        true => Err(Error::io("create", storage.path(new_name), ErrorKind::AlreadyExists.into())),
        false => Ok(()),
    };
    check_free()?;
    let temporary = format!("{new_name}{TEMPORARY_SUFFIX}");
    remove(&**storage, &temporary)?;
    let copied = copy_entries(&mut rescue, storage, &temporary, progress);
    let published = copied.and_then(|report| {
        if report.saved_records > 0 {
            check_free()?;
            storage.rename(&temporary, new_name)?;
            storage.sync_directory()?;
        }
        Ok(report)
    });
    // Without an entry, or after an error, the new index goes; else only its lock is left under this name.
    let removed = remove(&**storage, &temporary);
    let report = published?;
    removed?;
    Ok(report)
}

fn copy_entries<W: FactoryWord>(
    rescue: &mut WordRescue<W>,
    storage: &Arc<dyn Storage>,
    temporary: &str,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<FileRepairReport> {
    let (mut losses, mut damaged_parts) = (Losses::default(), 0);
    let total = rescue.stated_entries;
    let index = rescue.create_alike(storage, temporary)?;
    let entries = std::iter::from_fn(|| {
        loop {
            return match rescue.next().transpose()? {
                Ok((Rescued::Lost { leaves }, _)) => {
                    losses.lose(None, leaves);
                    damaged_parts += leaves;
                    continue;
                }
                Ok((Rescued::Entry(word), payload)) => {
                    losses.save(&rescue.key_bytes(word));
                    Some(Ok((crate::index::RawKey(word), payload)))
                }
                Err(error) => Some(Err(error)),
            };
        }
    });
    let saved_records = index.try_bulk_load(entries, &mut |done| {
        progress(done, total);
        Ok(())
    })?;
    index.close()?;
    let lost_records = total.saturating_sub(saved_records);
    progress(total, total);
    Ok(FileRepairReport {
        key_type: rescue.key_type(),
        saved_records,
        lost_records,
        damaged_parts,
        lost_ranges: losses.finish(lost_records),
        lost_commits: rescue.lost_commits.take().map(|error| match error {
            Error { cause: Cause::Damaged, .. } => {
                let offset = error.offset().unwrap_or(0);
                format!("{}, byte {offset}: {}", error.place().display(), error.detail())
            }
            error => error.message(),
        }),
    })
}

/// Removes an index, its lock and its log.
fn remove(storage: &dyn Storage, name: &str) -> Result<()> {
    let lock = format!("{name}.lock");
    let log = format!("{name}.log-");
    for file in storage.list()? {
        if file == name || file == lock || file.starts_with(&log) {
            remove_if_present(storage, &file)?;
        }
    }
    Ok(())
}
