//! Foreign files as inputs of a join.

use crate::failure::Result;
use crate::input::{Input, InputFacts, InputOptions, Schema};
use ogive::join::{JoinSource, RecordShape};
use ogive::table::Record;
use ogive::types::RecordType;
use ogive::{Error, KeyType};
use std::io;
use std::path::Path;

/// Records sampled to estimate the number and size of all.
const SAMPLE_RECORDS: u64 = 1000;

/// A file, which is read again for each pass.
///
/// # Errors
/// Those of the input.
pub(super) fn source(input: &InputOptions, schema: &Schema) -> Result<JoinSource> {
    let shape = estimate(input, schema)?;
    let (options, schema) = (input.clone(), schema.clone());
    let types = schema.record_type.clone();
    let source = JoinSource::unsorted(shape, move || match options.open(&schema) {
        Ok(input) => Box::new(Records { path: options.path.clone(), input: Some(input) }),
        Err(failure) => {
            let error = Error::io("read", &options.path, io::Error::other(failure.to_string()));
            Box::new(std::iter::once(Err(error)))
        }
    });
    Ok(source.with_types(types))
}

/// A file without records, whose keys may be of any type. Its columns are known if it has a header.
pub(super) fn empty(input: &InputOptions, schema: Option<&Schema>, key_type: KeyType) -> JoinSource {
    let bare = Schema::of_keys(key_type);
    let schema = schema.unwrap_or(&bare);
    let value_bytes = schema.value_width().map(|width| input.payload.unwrap_or(width) as usize);
    let shape = RecordShape { name: shown(&input.path), key_type, value_bytes, rows: 0, bytes: 0 };
    none_of(shape, &schema.record_type)
}

/// A table or an index without records, with keys of another type.
pub(super) fn without_records(source: &JoinSource, key_type: KeyType) -> JoinSource {
    let name = source.name().to_owned();
    let shape = RecordShape { name, key_type, value_bytes: source.value_bytes(), rows: 0, bytes: 0 };
    none_of(shape, source.record_type())
}

/// No records, with the columns of these types as far as the keys have as many.
fn none_of(shape: RecordShape, columns: &RecordType) -> JoinSource {
    let types = RecordType::new(shape.key_type, columns.values.clone());
    let key_columns =
        if types.columns().len() == columns.columns().len() { columns.key_columns.clone() } else { Vec::new() };
    JoinSource::unsorted(shape, || Box::new(std::iter::empty())).with_types(types.key_columns(key_columns))
}

/// An input as an iterator for the engine.
struct Records {
    path: std::path::PathBuf,
    /// `None` after the end or an error.
    input: Option<Box<dyn Input + Send>>,
}

impl Iterator for Records {
    type Item = ogive::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.input.as_mut()?.next() {
            Ok(Some(record)) => Some(Ok((record.key.to_vec(), record.value.to_vec()))),
            Ok(None) => {
                self.input = None;
                None
            }
            Err(error) => {
                self.input = None;
                Some(Err(Error::io("read", &self.path, io::Error::other(error))))
            }
        }
    }
}

/// Estimates the number and size of the records from the first ones.
fn estimate(input: &InputOptions, schema: &Schema) -> Result<RecordShape> {
    let mut records = input.open(schema)?;
    let facts = records.facts().clone();
    let (mut seen, mut bytes) = (0_u64, 0_u64);
    while seen < SAMPLE_RECORDS {
        let Some(record) = records.next()? else { break };
        seen += 1;
        bytes += (record.key.len() + record.value.len()) as u64;
    }
    let position_bytes = records.position_bytes().max(1);
    let is_whole = seen < SAMPLE_RECORDS;
    let scaled = |count: u64| match facts.length_bytes {
        Some(length_bytes) if !is_whole => (count as f64 * length_bytes as f64 / position_bytes as f64) as u64,
        _ => count,
    };
    let rows = facts.records.unwrap_or_else(|| scaled(seen));
    let mean_bytes = bytes as f64 / seen.max(1) as f64;
    Ok(RecordShape {
        name: shown(&facts.path),
        key_type: facts.record_type.keys,
        value_bytes: value_bytes(&facts),
        rows,
        bytes: (rows as f64 * mean_bytes) as u64,
    })
}

fn value_bytes(facts: &InputFacts) -> Option<usize> {
    facts.value_width.map(|width| width as usize)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
