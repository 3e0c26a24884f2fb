//! Resource use of this process and its files, as the operating system reports it.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result};
use rustix::fs::{Advice, fadvise};

use crate::stopwatch::Stopwatch;

/// Size of the units in which a file's room is counted.
const UNIT_BYTES: u64 = 512;

/// Resident set of this process, in bytes: 0 where the system does not tell.
pub(super) fn resident_bytes() -> u64 {
    field("/proc/self/status", "VmRSS").map_or(0, |kib| kib * 1_024)
}

/// Bytes that this process had fetched from, and sent to, devices.
fn device_bytes() -> (u64, u64) {
    let of = |name| field("/proc/self/io", name).unwrap_or(0);
    (of("read_bytes"), of("write_bytes"))
}

/// Measures a piece of work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measure {
    stopwatch: Stopwatch,
    device_bytes: (u64, u64),
}

/// What a piece of work took.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Timed {
    pub(super) operations: u64,
    pub(super) elapsed_ns: f64,
    pub(super) processor_ns: f64,
    /// Bytes that were fetched from devices meanwhile.
    pub(super) read_bytes: u64,
    /// Bytes that were sent to devices meanwhile.
    pub(super) written_bytes: u64,
}

impl Measure {
    pub(super) fn start() -> Self {
        let device_bytes = device_bytes();
        Self { device_bytes, stopwatch: Stopwatch::start() }
    }

    /// Usage since the start, for this number of operations.
    pub(super) fn stop(&self, operations: u64) -> Timed {
        let elapsed = self.stopwatch.elapsed();
        let (read, written) = device_bytes();
        Timed {
            operations,
            elapsed_ns: 1e9 * elapsed.wall_s,
            processor_ns: 1e9 * elapsed.process_s,
            read_bytes: read.saturating_sub(self.device_bytes.0),
            written_bytes: written.saturating_sub(self.device_bytes.1),
        }
    }
}

/// The first number of the line `name: number`.
fn field(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.split(':').next() == Some(name))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Bytes that the files below a folder occupy.
pub(super) fn disk_bytes(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    each_file(folder, &mut |path| {
        // A store may remove files while they are counted.
        sum += fs::metadata(path).map_or(0, |metadata| metadata.blocks() * UNIT_BYTES);
        Ok(())
    })?;
    Ok(sum)
}

/// Writes back the files below a folder and drops them from the page cache. Nothing may have them mapped.
pub(super) fn drop_from_page_cache(folder: &Path) -> Result<()> {
    each_file(folder, &mut |path| {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        file.sync_all()?;
        Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
    })
}

fn each_file(folder: &Path, visit: &mut dyn FnMut(&Path) -> Result<()>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() { each_file(&path, visit)? } else { visit(&path)? }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_folders_are_counted_and_can_be_dropped() -> Result<()> {
        let folder = tempfile::tempdir()?;
        fs::create_dir(folder.path().join("inner"))?;
        fs::write(folder.path().join("inner/file"), vec![1; 100_000])?;
        drop_from_page_cache(folder.path())?;
        let bytes = disk_bytes(folder.path())?;
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
        Ok(())
    }
}
