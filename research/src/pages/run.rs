//! Runs: the records of `ogive-research run --json`, read back.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::row::RunRow;
use crate::output::Record;
use crate::{Error, Result};

/// Most bytes of a file of records.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Name of the record that describes the machine and the command.
const MACHINE: &str = "machine";

/// The records of a run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Name of the file that holds them, empty if none does.
    pub(super) file: String,
    pub(super) rows: Vec<RunRow>,
}

impl Run {
    /// The run of these records.
    ///
    /// # Errors
    /// None that records of experiments can cause.
    pub fn of_records(records: &[Record]) -> Result<Self> {
        // By text, which keeps the order of the fields.
        let rows = records.iter().map(|record| serde_json::from_str(&serde_json::to_string(record)?));
        let rows = rows.collect::<serde_json::Result<_>>();
        Ok(Self { file: String::new(), rows: rows.map_err(|error| damaged(Path::new("records"), 0, &error))? })
    }

    /// Reads the runs of a folder and of the folders in it, each in a file that ends in `.json` or `.jsonl`, by name;
    /// or of one file.
    ///
    /// # Errors
    /// If a file cannot be read, or has a line that is no record.
    pub fn read_all(path: &Path) -> Result<Vec<Self>> {
        if !path.is_dir() {
            return Ok(vec![Self::read(path)?]);
        }
        let mut files = files_of(path)?;
        files.sort();
        if files.is_empty() {
            return Err(Error::NoRuns { path: path.to_owned() });
        }
        files.iter().map(|file| Self::read(file)).collect()
    }

    /// Reads the run of one file.
    ///
    /// # Errors
    /// If the file cannot be read, or has a line that is no record.
    pub fn read(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| io_error("open", path, error))?;
        let length = file.metadata().map_err(|error| io_error("read", path, error))?.len();
        if length > FILE_BYTES_MAX {
            return Err(Error::Run { path: path.to_owned(), line: 0, reason: "it has more than 64 MiB".to_owned() });
        }
        let mut rows: Vec<RunRow> = Vec::new();
        for (number, line) in BufReader::new(file).lines().enumerate() {
            let line = line.map_err(|error| io_error("read", path, error))?;
            if !line.trim().is_empty() {
                rows.push(serde_json::from_str(&line).map_err(|error| damaged(path, number + 1, &error))?);
            }
        }
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { file, rows })
    }

    /// The description of the machine.
    pub(crate) fn machine(&self) -> Option<&RunRow> {
        self.rows.iter().find(|row| row.experiment() == MACHINE)
    }

    /// The command that printed the records; empty if they do not say.
    pub(crate) fn command(&self) -> String {
        self.machine().map(|machine| machine.text("command")).unwrap_or_default()
    }

    /// The records of all experiments.
    pub(crate) fn records(&self) -> impl Iterator<Item = &RunRow> {
        self.rows.iter().filter(|row| row.experiment() != MACHINE)
    }

    /// The experiments in order.
    pub(super) fn experiments(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for row in self.records() {
            if !names.iter().any(|name| name == row.experiment()) {
                names.push(row.experiment().to_owned());
            }
        }
        names
    }

    /// The records of an experiment.
    pub(super) fn rows_of(&self, experiment: &str) -> Vec<RunRow> {
        self.rows.iter().filter(|row| row.experiment() == experiment).cloned().collect()
    }
}

/// The files of records of a folder, and of the folders in it.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| io_error("read", folder, error))? {
        let entry = entry.map_err(|error| io_error("read", folder, error))?;
        let path = entry.path();
        // A link is not followed, so that there is no circle.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            files.extend(files_of(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "json" || extension == "jsonl") {
            files.push(path);
        }
    }
    Ok(files)
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Io { action, path: path.to_owned(), source }
}

fn damaged(path: &Path, line: usize, error: &serde_json::Error) -> Error {
    Error::Run { path: path.to_owned(), line, reason: error.to_string() }
}
