//! Repair of a table: the records of its undamaged blocks become a new table.

use super::losses::{FileRepairReport, Losses};
use crate::error::{Advice, Call, Cause, Error, Result};
use crate::io::{LenientStorage, LocatedFile, Place, Storage};
use crate::table::{Table, TableOptions, TableWriter};
use std::sync::Arc;

/// Copies the records of the undamaged blocks of a table to a new table, with the same types, block size, compression
/// and properties, and a new index. Both are [places](Place). The damaged table is not changed.
///
/// A block is undamaged if it can be read, and its checksum and its layout are. All its records are saved, except those
/// whose long value is damaged; damage to the index, to the filter or to the counts loses nothing. If no record can be
/// saved, no table is written. `progress` receives the number of blocks done and of all.
///
/// # Errors
/// [`Cause::NotRepairable`] if the tail of the table is damaged, which states where its blocks are and what is in them,
/// for an external index, whose records are in another file, and for a table of a store; [`Cause::Io`] of kind
/// `AlreadyExists` if the name of the new one is taken; errors of the storage.
pub fn repair_table(
    damaged: impl Into<Place>,
    new: impl Into<Place>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<FileRepairReport> {
    let LocatedFile { storage, name } = damaged.into().file()?;
    let storage = &LenientStorage::around(&storage);
    let table = open(storage, &name)?;
    let mut writer = TableWriter::create(new, table.write_options())?;
    let (mut losses, mut saved_records, mut damaged_parts) = (Losses::default(), 0, 0);
    let mut last: Vec<u8> = Vec::new();
    let blocks = table.block_count();
    for number in 0..blocks {
        progress(number, blocks);
        let block = match table.rescue(number) {
            Ok(block) if block.count == 0 || block.record(0)?.0 >= last => block,
            Ok(_) | Err(Error { cause: Cause::Damaged, .. }) => {
                damaged_parts += 1;
                losses.lose(table.stated_records(number)?, 1);
                continue;
            }
            Err(error) => return Err(error),
        };
        let mut is_whole = true;
        for record in 0..block.count {
            let (key, value) = block.record(record)?;
            if block.append_to(&mut writer, &key, &value)? {
                losses.save(&key);
                saved_records += 1;
            } else {
                is_whole = false;
                losses.lose(Some(1), 1);
            }
            last = key;
        }
        damaged_parts += u64::from(!is_whole);
    }
    progress(blocks, blocks);
    if saved_records > 0 {
        writer.finish()?;
    }
    let lost_records = table.len().saturating_sub(saved_records);
    Ok(FileRepairReport {
        key_type: table.key_type(),
        saved_records,
        lost_records,
        damaged_parts,
        lost_ranges: losses.finish(lost_records),
        lost_commits: None,
    })
}

/// Opens the table, if its records can be told from other bytes.
fn open(storage: &Arc<dyn Storage>, name: &str) -> Result<Table> {
    let not_repairable = |detail: String| Error::not_repairable(storage.path(name), detail);
    let table = match Table::open_for_walk(Arc::clone(storage), name, &TableOptions::default()) {
        Err(error @ Error { cause: Cause::Damaged | Cause::NotATable, .. }) => {
            let detail = error.detail();
            return Err(not_repairable(format!(
                "its tail, which states where its blocks are, what they contain, and the id that their checksums are \
                 made with, is damaged or missing ({detail}), so that nothing of it can be told from other bytes; \
                 restore it from a copy, or build it again"
            )));
        }
        Err(error @ Error { cause: Cause::Changed, .. }) => {
            let (path, detail) = (error.place(), error.detail());
            let what = format!("it is an index of {}, which has changed: {detail}; build it again", path.display());
            return Err(not_repairable(what));
        }
        opened => opened?,
    };
    if table.is_external() {
        let data = table.data_path().display();
        return Err(not_repairable(format!("it is an index of {data}, which has the records; build it again")));
    }
    if table.is_versioned() {
        return Err(not_repairable("it is a table of a store".into()).advise(Advice::Use(Call::RepairStore)));
    }
    Ok(table)
}
