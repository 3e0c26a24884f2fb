//! The device that an experiment runs on: its measured profile, and plain reading as a yardstick.

use anyhow::Result;
use ogive::io::{MeasureOptions, MeasuredProfile, Purpose, ReadRequest, ReadableFile};
use std::path::Path;

/// Size of the temporary file of a measurement, and its seconds: enough for a profile, and short beside an experiment.
const FILE_BYTES: u64 = 64 << 20;
const TIME_S: f64 = 4.0;

/// Measures the device that holds `folder`, and prints a warning if the measurement is unreliable.
pub(crate) fn measure_device(folder: &Path) -> Result<MeasuredProfile> {
    let options = MeasureOptions::default().file_bytes(FILE_BYTES).time_s(TIME_S);
    let measured = MeasuredProfile::measure(folder, &options, &mut |_, _| {})?;
    if let Some(warning) = measured.warning() {
        eprintln!("warning: {warning}");
    }
    Ok(measured)
}

/// Reads a file from end to end, one request of the length of `buffer` at a time.
pub(crate) fn read_plainly(file: &dyn ReadableFile, buffer: &mut [u8]) -> Result<()> {
    let mut offset = 0;
    while offset < file.len() {
        let length = (file.len() - offset).min(buffer.len() as u64) as usize;
        file.read(ReadRequest { offset, buffer: &mut buffer[..length], purpose: Purpose::Walk })?;
        offset += length as u64;
    }
    Ok(())
}
