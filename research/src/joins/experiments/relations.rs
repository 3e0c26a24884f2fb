//! The joined relations.

use std::sync::Arc;

use anyhow::Result;
use ogive::KeyType;
use ogive::io::{Profile, Storage};
use ogive::join::{JoinOutput, JoinSource};
use ogive::table::external::RecordFile;
use ogive::table::{Table, TableOptions, TableWriter};

use crate::experiments::Context;
use crate::random::{Permutation, Random};
use crate::workload::{KeyForm, Records};

/// Sizes of the inner relation over that of the outer one (the paper's).
pub(super) const RATIOS: [u64; 4] = [1, 10, 100, 1000];
/// Default key sets.
pub(super) const SETS: [&str; 2] = ["lognormal", "uniform"];
/// Bytes of a value, so that records of 8-byte keys have the paper's 16.
const VALUE_BYTES: usize = 8;
/// Memory of an open table, whose cache a join bypasses.
const OPEN_MEMORY_BYTES: u64 = 1 << 20;
/// Size of the data blocks: those of the paper.
pub(super) const BLOCK_BYTES: u32 = 4096;

/// The requested ratios, else those of the paper.
pub(super) fn ratios(context: &Context) -> Vec<u64> {
    if context.ratios.is_empty() { RATIOS.to_vec() } else { context.ratios.clone() }
}

/// The distinct records of a set: the inner relation, of which outer ones are samples.
pub(super) fn inner(context: &Context, spec: &str, form: KeyForm, own_count: u64) -> Result<Records> {
    let set = context.open_of(spec, own_count)?;
    let value_bytes = if context.payload_bytes == 0 { VALUE_BYTES } else { context.payload_bytes as usize };
    Ok(Records::of(&set, form, value_bytes)?)
}

/// The positions of the outer relation's records in the inner one: 1/`ratio`, uniformly at random, in key order.
///
/// Source: Knuth, The Art of Computer Programming 2, Algorithm S (selection sampling).
pub(super) fn outer_places(records: &Records, ratio: u64, seed: u64) -> impl Iterator<Item = u64> + use<> {
    let count = records.len() as u64;
    let mut wanted = outer_rows(records, ratio);
    let mut random = Random::new(seed, "outer relation");
    (0..count).filter(move |place| {
        let is_taken = random.below(count - place) < wanted;
        wanted -= u64::from(is_taken);
        is_taken
    })
}

/// Rows of the outer relation.
pub(super) fn outer_rows(records: &Records, ratio: u64) -> u64 {
    (records.len() as u64).div_ceil(ratio.max(1))
}

fn key_type(form: KeyForm) -> KeyType {
    if form == KeyForm::Bytes8 { KeyType::U64 } else { KeyType::Bytes }
}

/// Records to be written as tables.
#[derive(Clone, Copy)]
pub(super) struct TableRows<'a> {
    pub(super) records: &'a Records,
    pub(super) form: KeyForm,
    /// The paper's records are stored as they are.
    pub(super) coding: bool,
}

impl TableRows<'_> {
    /// Writes the records at `places`, in order; returns their number.
    pub(super) fn write(
        self,
        storage: &Arc<dyn Storage>,
        name: &str,
        places: impl Iterator<Item = u64>,
    ) -> Result<u64> {
        let options = JoinOutput::options()
            .key_type(key_type(self.form))
            .value_width(self.records.value_bytes() as u32)
            .block_bytes(BLOCK_BYTES)
            .coding(self.coding)
            .replace(true);
        let mut writer = TableWriter::create((Arc::clone(storage), name), options)?;
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let mut rows = 0;
        for place in places {
            self.records.key(place, &mut key);
            self.records.value(place, 0, &mut value);
            writer.append(&key, &value)?;
            rows += 1;
        }
        writer.finish()?;
        Ok(rows)
    }
}

/// Opens a table as a relation.
pub(super) fn open_table(storage: &Arc<dyn Storage>, name: &str, profile: &Profile) -> Result<(Table, JoinSource)> {
    let options = TableOptions::default().memory_bytes(OPEN_MEMORY_BYTES).profile(profile.clone());
    let table = Table::open((Arc::clone(storage), name), &options)?;
    let source = JoinSource::table(&table);
    Ok((table, source))
}

/// Size of the write buffer.
const PIECE_BYTES: usize = 1 << 20;

/// Writes plain records with 8-byte big-endian keys in random order, without a header, replacing the file.
pub(super) fn write_shuffled(
    storage: &Arc<dyn Storage>,
    name: &str,
    records: &Records,
    places: &[u64],
    seed: u64,
) -> Result<()> {
    let order = Permutation::new(places.len() as u64, &mut Random::new(seed, "order of arrival"));
    if storage.exists(name)? {
        storage.remove(name)?;
    }
    let mut file = storage.create(name)?;
    let (mut piece, mut key, mut value) = (Vec::with_capacity(PIECE_BYTES + 64), Vec::new(), Vec::new());
    for index in 0..places.len() as u64 {
        let Some(&place) = places.get(order.apply(index) as usize) else { continue };
        records.key(place, &mut key);
        records.value(place, 0, &mut value);
        piece.extend_from_slice(&key);
        piece.extend_from_slice(&value);
        if piece.len() >= PIECE_BYTES {
            file.append(&piece)?;
            piece.clear();
        }
    }
    file.append(&piece)?;
    file.sync()?;
    Ok(())
}

/// Opens such a file as a relation.
pub(super) fn open_shuffled(storage: &Arc<dyn Storage>, name: &str, records: &Records) -> Result<JoinSource> {
    let value_bytes = records.value_bytes() as u32;
    let shape = RecordFile { header_bytes: 0, counted: false, key_bytes: 8, value_bytes, little_endian: false };
    Ok(JoinSource::records((storage, name), shape, false)?)
}
