//! The measured profile of the device that an experiment runs on.

use anyhow::Result;
use ogive::io::{MeasureOptions, MeasuredProfile, measure_profile};
use std::path::Path;

/// Size of the temporary file of a measurement, and its seconds: enough for a profile, and short beside an experiment.
const FILE_BYTES: u64 = 64 << 20;
const BUDGET_S: f64 = 4.0;

/// Measures the device that holds `folder`, and prints a warning if the measurement is unreliable.
pub(super) fn measure_device(folder: &Path) -> Result<MeasuredProfile> {
    let options = MeasureOptions::default().file_bytes(FILE_BYTES).budget_s(BUDGET_S);
    let measured = measure_profile(folder, &options, &mut |_, _| {})?;
    if let Some(warning) = measured.warning() {
        eprintln!("warning: {warning}");
    }
    Ok(measured)
}
