//! Checks of indexes of Parquet files against those files, for `ogive verify` and `ogive repair`.

use super::index_of;
use crate::commands::query::{OpenTable, TableFile};
use crate::failure::{Failure, Result};
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::shell::shell_line;
use crate::urls;
use crate::values::size::counted;
use ogive::io::ScratchFolder;
use ogive::table::{Table, TableOptions, TableWriteOptions};
use ogive_parquet::{BuildOptions, ParquetIndex, PathFolder, VerifyReport};
use serde_json::json;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// Compares every row with the index, and prints the findings; with `accept`, the times of files may be others.
///
/// # Errors
/// Errors of the storage, and of an index that cannot be read.
pub(crate) fn run(file: &TableFile, open: OpenTable, accept: bool, output: &mut Output) -> Result<Outcome> {
    let index = index_of(file, open)?;
    let (report, accepted) = if accept { accepted(file.path())? } else { (verified(&index)?, 0) };
    let accepted = if report.is_sound() { accepted } else { 0 };
    if output.is_json() {
        output.json(&json!({
            "sound": report.is_sound(),
            "accepted_files": accepted,
            "files": report.files,
            "rows": report.rows,
            "findings": report.findings,
        }))?;
    } else if report.is_sound() {
        let (rows, files) = (counted(report.rows, "row"), counted(report.files, "file"));
        output.line(format_args!("{file}: sound; {rows} in {files} compared"))?;
        if accepted > 0 {
            let files = counted(accepted, "file");
            output.line(format_args!("  {files} of another time accepted; the index has the times of now"))?;
        }
    } else {
        report.findings.iter().try_for_each(|finding| output.line(finding))?;
    }
    output.flush()?;
    if report.is_sound() {
        return Ok(Outcome::Done);
    }
    note(format_args!("error: {file}: {}", counted(report.findings.len() as u64, "finding")));
    note(format_args!("hint: {}", advice(&index, file.path(), report.is_index_damaged)));
    Ok(Outcome::Negative)
}

fn verified(index: &ParquetIndex) -> Result<VerifyReport> {
    Ok(Progress::during("verifying", Unit::Items, |progress| index.verify(progress))?)
}

/// As [`verified`], with files of other times; also the number of those.
fn accepted(path: &Path) -> Result<(VerifyReport, u64)> {
    let folder = Arc::new(PathFolder::of_index(path)?);
    let (storage, name) = urls::place(path, false)?;
    let table = TableWriteOptions::default().profile(urls::profile_of(path)?);
    let mut options = BuildOptions::new("", &[]).table(table);
    let scratch = if storage.is_object_store() { Some(ScratchFolder::create()?) } else { None };
    if let Some(scratch) = &scratch {
        options = options.scratch(scratch.storage());
    }
    let accept = |progress: &mut dyn FnMut(u64, u64)| ParquetIndex::accept(storage, &name, folder, options, progress);
    Ok(Progress::during("verifying", Unit::Items, accept)?)
}

/// Checks the index that a table holds, and refuses to repair it: what a copy of some of its parts would lead to is
/// unknown, and its data are there to build it from.
///
/// # Errors
/// [`Failure::Refused`] if it is not sound; errors of the storage.
pub(crate) fn check_sound(path: &Path, table: Table) -> Result<()> {
    let folder = PathFolder::of_index(path)?;
    let index = ParquetIndex::of_table(table, Arc::new(folder), &TableOptions::default())?;
    let report = verified(&index)?;
    let Some(first) = report.findings.first() else { return Ok(()) };
    let (shown, findings) = (path.display(), counted(report.findings.len() as u64, "finding"));
    let message = format!("{shown} is an index of Parquet files, which is not repaired: {findings}, first: {first}");
    Err(Failure::refused(message, advice(&index, path, report.is_index_damaged)))
}

/// What to do about findings: a damaged index is built anew, and one of other files is brought up to date.
fn advice(index: &ParquetIndex, path: &Path, is_damaged: bool) -> String {
    let line = |options: &[&str]| {
        let words = ["build", "DATA", "--external"].iter().chain(options).chain(&["-o"]).map(OsString::from);
        shell_line(words.chain([path.as_os_str().to_owned()]))
    };
    let key: Vec<&str> = index.key_columns().flat_map(|column| ["--key", column]).collect();
    let anew = line(&key);
    if is_damaged {
        return format!("`{anew}` makes it anew");
    }
    format!("`{}` brings it up to date with the files of now; `{anew}` makes it anew", line(&["--update"]))
}
