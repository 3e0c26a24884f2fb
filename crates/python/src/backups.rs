//! Backups of stores, and archives of their changes. What is made, or found, is told as JSON.

use crate::errors::{self, OrRaise};
use crate::wait::interruptible;
use ogive::backup::{BackupOptions, Backups, Moment};
use ogive::io::{Storage, locate_folder, remote_url};
use pyo3::prelude::*;
use serde::Serialize;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

fn text(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| errors::new("OgiveError", &error.to_string()))
}

fn at(path: &Path) -> ogive::Result<Backups> {
    match remote_url(path) {
        Some(_) => Backups::at(&locate_folder(path)?),
        None => Backups::at(path),
    }
}

fn folder(path: &Path) -> ogive::Result<Arc<dyn Storage>> {
    locate_folder(path)
}

/// Makes a backup of a store; with the name of a subscriber, its changes are archived, too.
#[pyfunction]
pub(crate) fn back_up(
    py: Python<'_>,
    store: PathBuf,
    target: PathBuf,
    keep: Option<usize>,
    trust: bool,
    archive: Option<String>,
) -> PyResult<String> {
    let options = keep.into_iter().fold(BackupOptions::default().trust(trust), BackupOptions::keep);
    let options = archive.into_iter().fold(options, BackupOptions::archive_logs);
    let made = interruptible(py, None, |_| at(&target)?.create(&folder(&store)?, &options, &mut |_, _| ()))?;
    if let Some(failure) = &made.archive_failure {
        let message = format!("backup {} was made, but changes were not archived: {failure}", made.backup.number);
        return Err(errors::new("OgiveError", &message));
    }
    text(&made)
}

/// Archives the changes of a store since the last run.
#[pyfunction]
pub(crate) fn archive(py: Python<'_>, store: PathBuf, target: PathBuf, subscriber: String) -> PyResult<String> {
    text(&interruptible(py, None, |_| at(&target)?.archive(&folder(&store)?, &subscriber))?)
}

/// The backups of a folder, and the moments that are archived.
#[pyfunction]
pub(crate) fn list_backups(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    text(&py.detach(|| at(&path)?.list()).or_raise()?)
}

/// A moment as text: a position, or "newest".
fn moment(text: &str) -> ogive::Result<Moment> {
    if text == "newest" { Ok(Moment::Newest) } else { text.parse().map(Moment::Position) }
}

/// Restores a backup, or the store as of a time in milliseconds or another moment.
#[pyfunction]
pub(crate) fn restore_backup(
    py: Python<'_>,
    path: PathBuf,
    target: PathBuf,
    number: Option<u64>,
    until_ms: Option<u64>,
    until: Option<&str>,
) -> PyResult<String> {
    let other = until.map(moment).transpose().or_raise()?;
    let until = until_ms.map(|made_ms| Moment::Time { made_ms }).or(other);
    let to_place = |path: &Path| match remote_url(path) {
        Some(_) => Ok(ogive::Place::from(&locate_folder(path)?)),
        None => Ok(ogive::Place::from(path)),
    };
    match until {
        Some(until) => {
            text(&interruptible(py, None, |_| at(&path)?.restore_until(until, to_place(&target)?, &mut |_, _| ()))?)
        }
        None => text(&interruptible(py, None, |_| at(&path)?.restore(number, to_place(&target)?, &mut |_, _| ()))?),
    }
}
