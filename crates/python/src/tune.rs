//! Measured storages, and designs compared.

use crate::arrow::keys::{Keys, type_of_keys};
use crate::errors::{self, OrRaise};
use crate::object::Object;
use crate::table::Table;
use crate::types;
use crate::wait::{Task, abandonable_as, interruptible};
use ogive::io::{
    DiscardStorage, MeasureOptions, MeasuredProfile, Profile, StoppableStorage, locate_folder, remote_url,
};
use ogive::table::{COMPARED_BLOCK_BYTES, COMPARED_DESIGNS, compare_designs, dense_value_width};
use ogive::tune::DesignRequest;
use ogive::types::{KeyType, RecordType};
use ogive::{Cause, Error, TableWriteOptions, TableWriter};
use ogive_object_store::{ObjectMeasureOptions, measure_objects};
use ogive_report::notebook::{DesignCosts, Designs};
use pyo3::prelude::*;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Records between two looks at the flag to stop.
const RECORDS_AT_ONCE: u64 = 8 << 10;
/// Sizes of reads whose times are shown, as powers of two.
const SIZE_BITS: std::ops::RangeInclusive<u32> = 9..=24;

/// What is shown of a profile, with what its file says.
fn profile_json(profile: &Profile, file: Json) -> Json {
    let point = |bits: u32| json!({ "size_bytes": 1_u64 << bits, "time_us": profile.time_us(1 << bits) });
    json!({
        "name": profile.name(),
        "parallel": profile.parallel(),
        "peak_mb_per_s": profile.peak_mb_per_s(),
        "points": SIZE_BITS.map(point).collect::<Vec<_>>(),
        "file": file,
    })
}

fn json_of(document: &impl serde::Serialize) -> ogive::Result<Json> {
    serde_json::to_value(document).map_err(|error| Error::input(error.to_string()))
}

/// A named profile, or one of a file, as JSON.
#[pyfunction]
pub(crate) fn profile_of(py: Python<'_>, name: &str) -> PyResult<String> {
    let found = py.detach(|| {
        let profile = Profile::by_name_or_file(name)?;
        Ok(profile_json(&profile, json_of(&profile)?))
    });
    found.or_raise().map(|found| found.to_string())
}

fn measure(path: &Path, seconds: f64, file_bytes: u64, task: &Task) -> ogive::Result<Json> {
    let mut report = |done, total| task.report(done, total);
    if remote_url(path).is_some() {
        let storage = locate_folder(path)?;
        let options = ObjectMeasureOptions::default().time_s(seconds);
        let profile = measure_objects(&storage, &path.display().to_string(), &options, &mut report)?;
        return Ok(profile_json(&profile, json_of(&profile)?));
    }
    let options = MeasureOptions::default().file_bytes(file_bytes).time_s(seconds);
    // The name of a profile is an absolute path; a missing folder is reported as given.
    let resolved = path.canonicalize();
    let measured = MeasuredProfile::measure(resolved.as_deref().unwrap_or(path), &options, &mut report)?;
    let mut facts = profile_json(&measured.to_profile()?, json_of(&measured)?);
    facts["warning"] = json!(measured.warning());
    Ok(facts)
}

/// Measures the storage of a folder or URL; the profile as JSON.
#[pyfunction]
#[pyo3(signature = (path, seconds, file_bytes, progress=None))]
pub(crate) fn measure_storage(
    py: Python<'_>,
    path: PathBuf,
    seconds: f64,
    file_bytes: u64,
    progress: Option<&Object<'_>>,
) -> PyResult<String> {
    let measured = abandonable_as(py, progress, move |task| measure(&path, seconds, file_bytes, task))?;
    Ok(measured.to_string())
}

/// What is compared.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Comparison {
    profile: String,
    designs: Vec<String>,
    block_bytes: Option<u64>,
}

type TunedRecords<'a> = Box<dyn Iterator<Item = ogive::Result<(Vec<u8>, Vec<u8>)>> + 'a>;

impl Comparison {
    /// Builds each design over the records, and discards it.
    fn run<'a>(&self, types: &RecordType, task: &Task, open: impl Fn() -> TunedRecords<'a>) -> ogive::Result<Json> {
        let profile = Profile::by_name_or_file(&self.profile)?;
        let names = COMPARED_DESIGNS.iter().map(|&name| name.to_owned()).chain(self.designs.iter().cloned());
        let designs = names.map(|name| Ok((name.clone(), name.parse::<DesignRequest>()?)));
        let designs = designs.collect::<ogive::Result<Vec<_>>>()?;
        let block_bytes = self.block_bytes.unwrap_or_else(|| COMPARED_BLOCK_BYTES.into());
        let block_bytes = u32::try_from(block_bytes)
            .map_err(|_| Error::input(format!("blocks of {block_bytes} bytes are too large")))?;
        let options = TableWriteOptions::default()
            .value_width(types.values.width().and_then(|width| dense_value_width(types.keys, width)))
            .record_type(types.clone())
            .profile(profile.clone());
        let (mut built, total) = (0, designs.len() as u64);
        let compared = compare_designs(&designs, &options, block_bytes, |name, options| {
            task.report(built, total);
            built += 1;
            let storage = StoppableStorage::new(Arc::new(DiscardStorage), task.stop.clone());
            let mut writer = match TableWriter::create((storage, name), options) {
                Err(error @ Error { cause: Cause::Input, .. }) => return Ok(Err(error.detail().to_owned())),
                writer => writer?,
            };
            for (number, record) in (0_u64..).zip(open()) {
                let (key, value) = record?;
                writer.append(&key, &value)?;
                if number.is_multiple_of(RECORDS_AT_ONCE) {
                    task.check()?;
                }
            }
            match writer.finish() {
                // Some designs support only numbers.
                Err(error @ Error { cause: Cause::Input, .. }) => Ok(Err(error.detail().to_owned())),
                report => report.map(Ok),
            }
        })?;
        let mut shown = Vec::new();
        for (name, report) in &compared.built {
            let mut object = json_of(report)?;
            object["design"] = json!(name);
            object["predicted_us"] = json!(report.modelled_us(&profile));
            shown.push(object);
        }
        let costs = |(name, report): &(String, ogive::TableReport)| DesignCosts::of(name, report, &profile);
        let picture = Designs { profile: profile.name().to_owned(), rows: compared.built.iter().map(costs).collect() };
        Ok(json!({
            "profile": profile.name(),
            "designs": shown,
            "left_out": compared.left_out,
            "svg": picture.to_svg(),
            "html": picture.to_html(),
        }))
    }
}

/// Compares designs over the records of a table; as JSON.
#[pyfunction]
#[pyo3(signature = (table, comparison, progress=None))]
pub(crate) fn tune_table(
    py: Python<'_>,
    table: &Table,
    comparison: Comparison,
    progress: Option<&Object<'_>>,
) -> PyResult<String> {
    let table = table.table()?;
    let compared = interruptible(py, progress, |task| {
        comparison.run(table.record_type(), task, || Box::new(table.range::<Vec<u8>>(..)))
    })?;
    Ok(compared.to_string())
}

/// Compares designs over keys, which need not be sorted, with values of one width; as JSON.
#[pyfunction]
#[pyo3(signature = (keys, key_type, value_bytes, comparison, progress=None))]
pub(crate) fn tune_keys(
    py: Python<'_>,
    keys: &Object<'_>,
    key_type: Option<&Object<'_>>,
    value_bytes: usize,
    comparison: Comparison,
    progress: Option<&Object<'_>>,
) -> PyResult<String> {
    let key_type = match key_type {
        Some(stated) => types::key_type(stated)?,
        None => type_of_keys(keys)?,
    };
    let keys = Keys::of(py, key_type, keys)?;
    if keys.len() == 0 {
        return Err(errors::new("InvalidArgument", "there are no keys to tune an index for"));
    }
    let compared = interruptible(py, progress, |task| {
        let mut sorted: Vec<&[u8]> = keys.iter().collect();
        sorted.sort_unstable();
        let value = vec![0; value_bytes];
        let mut types = RecordType::new(key_type, KeyType::Bytes);
        if let Ok(width @ 1..) = u8::try_from(value_bytes) {
            types = RecordType::new(key_type, KeyType::FixedBytes(width));
        }
        comparison.run(&types, task, || Box::new(sorted.iter().map(|key| Ok((key.to_vec(), value.clone())))))
    })?;
    Ok(compared.to_string())
}
