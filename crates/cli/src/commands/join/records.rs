//! Foreign files as inputs of a join.

use crate::failure::{Failure, Result};
use crate::input::{Format, Input, InputFacts, InputOptions, Schema};
use ogive::join::{JoinSource, ParsedText, RecordReader, RecordShape};
use ogive::types::RecordType;
use ogive::{Error, KeyType};
use ogive_text::Separated;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Records and bytes sampled to estimate the number and size of all. Bytes are read in pieces of 64 KiB, so that the
/// estimate is off by some percent.
const SAMPLE_RECORDS: u64 = 1000;
const SAMPLE_BYTES: u64 = 1 << 20;
/// Steps by which a number of keys is found: each halves the interval.
const HALVINGS: u32 = 40;

/// A file as an input of a join, read anew for each pass.
#[derive(Debug)]
pub(super) struct FileSource {
    /// Its records.
    pub(super) source: JoinSource,
    /// Its records with values that are the rest of a row of the output, if that is asked for and possible.
    pub(super) printed: Option<JoinSource>,
    /// Whether it has any.
    pub(super) has_records: bool,
    /// What made the file unusable while it was joined.
    pub(super) fault: Fault,
}

/// The failure that ended the reading of an input.
pub(super) type Fault = Arc<Mutex<Option<Failure>>>;

/// A file, whose rows go to an output of this form, if it has one, and those with nulls in their keys as well, if there
/// are any.
///
/// # Errors
/// Those of the input.
pub(super) fn source(
    input: &InputOptions,
    schema: &Schema,
    form: Option<Separated>,
    has_null_rows: bool,
) -> Result<FileSource> {
    let fault = Fault::default();
    let types = schema.record_type.clone();
    let null_keys = has_null_rows.then(|| schema.of_null_keys()).transpose()?;
    let reads = Reads { input, schema, null_keys: null_keys.as_ref(), fault: &fault };
    let sample = Sample::of(input, schema)?;
    let shape = sample.shape.clone();
    let print = form.filter(|_| input.can_print(schema)).map(|form| {
        let shape = RecordShape { value_bytes: None, ..shape.clone() };
        reads.source(shape, move |input, schema| input.open_printed(schema, form))
    });
    let printed = print.transpose()?.map(|printed| sample.tell(printed));
    let has_records = shape.rows > 0;
    let source = sample.tell(reads.source(shape, InputOptions::open)?).with_types(types);
    Ok(FileSource { source, printed, has_records, fault })
}

/// What reading a file takes.
#[derive(Clone, Copy)]
struct Reads<'a> {
    input: &'a InputOptions,
    schema: &'a Schema,
    /// The schema of its records with nulls in their keys, if there are any.
    null_keys: Option<&'a Schema>,
    fault: &'a Fault,
}

impl Reads<'_> {
    /// The records of a file that is opened like this.
    fn source(
        self,
        shape: RecordShape,
        open: impl Fn(&InputOptions, &Schema) -> Result<Box<dyn Input + Send>> + Send + Sync + 'static,
    ) -> Result<JoinSource> {
        let open = Arc::new(open);
        let records_of = |schema: &Schema| {
            let (input, schema, fault) = (self.input.clone(), schema.clone(), Arc::clone(self.fault));
            let open = Arc::clone(&open);
            move || -> Box<dyn RecordReader> {
                let (path, fault) = (input.path.clone(), Arc::clone(&fault));
                let input = open(&input, &schema).map_err(|failure| kept(&fault, failure));
                Box::new(Records { path, input, is_ended: false, fault })
            }
        };
        let source = JoinSource::read_by(shape, records_of(self.schema));
        let is_text = !matches!(self.input.format(), Format::Parquet | Format::Sosd);
        let source = if is_text { source.written_as_text() } else { source };
        Ok(match self.null_keys {
            Some(schema) => source.with_null_rows(records_of(schema))?,
            None => source,
        })
    }
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

/// An input as the engine reads it.
struct Records {
    path: PathBuf,
    /// The reason if it could not be opened.
    input: Result<Box<dyn Input + Send>, String>,
    is_ended: bool,
    fault: Fault,
}

/// Keeps the first failure of an input; says what it is.
fn kept(fault: &Fault, failure: Failure) -> String {
    let reason = failure.to_string();
    fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
    reason
}

impl RecordReader for Records {
    fn next(&mut self) -> ogive::Result<Option<(&[u8], &[u8])>> {
        let Self { path, input, is_ended, fault } = self;
        let failed = |reason: String| Error::io("read", &*path, io::Error::other(reason));
        if *is_ended {
            return Ok(None);
        }
        let found = match input {
            Ok(input) => input.next(),
            Err(reason) => return Err(failed(reason.clone())),
        };
        match found {
            Ok(Some(record)) => Ok(Some((record.key, record.value))),
            Ok(None) => {
                *is_ended = true;
                Ok(None)
            }
            Err(error) => {
                *is_ended = true;
                Err(failed(kept(fault, error.into())))
            }
        }
    }

    fn read_bytes(&self) -> u64 {
        self.input.as_ref().map_or(0, |input| input.position_bytes())
    }
}

/// What the first records say of all.
struct Sample {
    shape: RecordShape,
    distinct_keys: u64,
    text: Option<ParsedText>,
}

impl Sample {
    /// Estimates the number and size of the records, and the number of their keys, from the first ones.
    fn of(input: &InputOptions, schema: &Schema) -> Result<Self> {
        let mut records = input.open(schema)?;
        let facts = records.facts().clone();
        let (mut seen, mut bytes, mut keys) = (0_u64, 0_u64, HashSet::new());
        let mut is_whole = false;
        while seen < SAMPLE_RECORDS || records.position_bytes() < SAMPLE_BYTES {
            let Some(record) = records.next()? else {
                is_whole = true;
                break;
            };
            seen += 1;
            bytes += (record.key.len() + record.value.len()) as u64;
            keys.insert(record.key.to_vec());
        }
        let position_bytes = records.position_bytes().max(1);
        let rows = match (facts.records, facts.length_bytes) {
            (Some(records), _) => records,
            (None, Some(length_bytes)) if !is_whole => {
                (seen as f64 * length_bytes as f64 / position_bytes as f64) as u64
            }
            _ => seen,
        };
        let mean_bytes = bytes as f64 / seen.max(1) as f64;
        let fields = u32::try_from(schema.keys.len() + schema.values.len()).unwrap_or(u32::MAX);
        let is_text = matches!(input.format(), Format::Csv | Format::Tsv | Format::Jsonl);
        let shape = RecordShape {
            name: shown(&facts.path),
            key_type: facts.record_type.keys,
            value_bytes: value_bytes(&facts),
            rows,
            bytes: (rows as f64 * mean_bytes) as u64,
        };
        let text = facts.length_bytes.filter(|_| is_text).map(|bytes| ParsedText { bytes, fields });
        Ok(Self { shape, distinct_keys: distinct(keys.len() as u64, seen, rows), text })
    }

    /// Tells the planner of a source.
    fn tell(&self, source: JoinSource) -> JoinSource {
        let source = source.with_distinct_keys(self.distinct_keys);
        match self.text {
            Some(text) => source.parsed_from(text),
            None => source,
        }
    }
}

/// The number of different keys of `rows`, by those `found` in a sample: the one of which as many rows, drawn at
/// random, have that number of different keys.
fn distinct(found: u64, seen: u64, rows: u64) -> u64 {
    let drawn = |keys: f64, times: u64| keys * -(-(times as f64) / keys).exp_m1();
    let (mut least, mut most) = (found.max(1) as f64, rows.max(found).max(1) as f64);
    if found >= seen {
        return rows;
    }
    for _ in 0..HALVINGS {
        let middle = (least + most) / 2.0;
        if drawn(middle, seen) < found as f64 { least = middle } else { most = middle }
    }
    drawn(most, rows) as u64
}

fn value_bytes(facts: &InputFacts) -> Option<usize> {
    facts.value_width.map(|width| width as usize)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_sample_tell_how_many_there_are() {
        assert_eq!(distinct(1000, 1000, 50_000), 50_000);
        assert_eq!(distinct(1, 1000, 50_000), 1);
        // 15,000 draws of 200,000 keys find about 14,452 of them; 2,000,000 find nearly all.
        assert!((190_000..210_000).contains(&distinct(14_452, 15_000, 2_000_000)));
        assert_eq!(distinct(0, 0, 0), 0);
    }
}
