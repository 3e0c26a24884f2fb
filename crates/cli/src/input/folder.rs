//! The files of a folder that are one input: those of one format, by their content.

use super::InputError;
use super::content::ForeignFormat;
use super::format::Format;
use super::names::is_named_otherwise;
use super::options::Finds;
use super::recognised::Recognised;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::{note, note_once, warn_once};
use crate::reading::standard_input::shown;
use crate::urls::is_url;
use crate::values::size::counted;
use ogive::FileFormat;
use ogive_parquet::{FolderFiles, ParquetIndexError, Remedy};
use ogive_terminal::shell_word;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Files whose names are told of those that are left out.
const TOLD_FILES: usize = 3;

/// The files of a folder that are read.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(super) found: FolderFiles,
    pub(super) format: Format,
    /// Whether it is text of Hive: without a header, and with `\N` for nulls.
    pub(super) is_hive: bool,
    /// Whether the format was found by content.
    is_inferred: bool,
    /// Their paths in the folder.
    pub(super) paths: Vec<String>,
    /// What is known of each.
    pub(super) finds: Vec<Arc<Finds>>,
    /// The paths of files that are not read, since they are of no format, or of another one.
    left_out: Vec<String>,
    is_told: AtomicBool,
}

/// What a file in a folder is.
enum PartKind {
    /// It has no bytes, or is no input.
    None,
    /// It is of this format by its content or its name, and may be text of Hive.
    Of(Format, bool),
    /// Its name states this format, but it is of another one, which is not read.
    Spoilt(Format, ForeignFormat),
    /// It is text of no other format, and its first line may be a row of several fields.
    Text(bool),
}

impl Folder {
    /// The files of the folder at a path or URL. They are of the format that is given, or of the one that some of them
    /// are of.
    ///
    /// # Errors
    /// [`Failure::Refused`] if they are of several formats; [`InputError::Empty`] if there is none; those of listing.
    pub(super) fn of(root: &Path, given: Option<Format>, ignores_log: bool) -> Result<Self> {
        let found = FolderFiles::of(root, ignores_log).map_err(of_input)?;
        found.warnings().iter().for_each(|warning| warn_once(warning));
        let parts = found.paths().iter().map(|path| {
            interrupt::check_anywhere()?;
            Ok(kind_of(&path_of(root, path), given))
        });
        let (kinds, recognised): (Vec<PartKind>, Vec<Recognised>) =
            parts.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let (format, is_chosen) = choose(root, &kinds, found.paths(), given)?;
        let is_read = |kind: &PartKind| match kind {
            PartKind::None | PartKind::Spoilt(..) => false,
            PartKind::Of(own, _) => *own == format || (given.is_some() && !is_chosen),
            // A part of few rows.
            PartKind::Text(true) if matches!(format, Format::Csv | Format::Tsv) => true,
            PartKind::Text(_) => format == Format::Lines || (given.is_some() && !is_chosen),
        };
        let is_clear = |(kind, recognised): &(&PartKind, &Recognised)| {
            matches!(kind, PartKind::Of(own, _) if *own == format) && !recognised.is_unclear
        };
        let clear = kinds.iter().zip(&recognised).find(is_clear);
        let clear = clear.filter(|_| given.is_none()).map(|(_, recognised)| (recognised.delimiter, recognised.is_hive));
        let (mut paths, mut finds, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        for ((path, kind), mut recognised) in found.paths().iter().zip(&kinds).zip(recognised) {
            if is_read(kind) {
                if let Some((delimiter, is_hive)) = clear
                    && (recognised.is_unclear || matches!(kind, PartKind::Text(true)))
                {
                    recognised.follow(format, delimiter, is_hive);
                }
                paths.push(path.clone());
                finds.push(Arc::new(Finds::of_part(recognised)));
            } else if is_dangling(&path_of(root, path)) {
                left_out.push(format!("{path} (a link that leads nowhere)"));
            } else {
                left_out.push(path.clone());
            }
        }
        if paths.is_empty() {
            return Err(InputError::Empty { path: root.to_owned() }.into());
        }
        let is_hive = given.is_none() && kinds.iter().any(|kind| matches!(kind, PartKind::Of(_, true)));
        let (is_inferred, is_told) = (given.is_none(), AtomicBool::new(false));
        Ok(Self { found, format, is_hive, is_inferred, paths, finds, left_out, is_told })
    }

    /// What it has, in words.
    pub(super) fn described(&self) -> String {
        format!("{}, {}", self.format.name(), counted(self.paths.len() as u64, "file"))
    }

    /// Tells of columns that the path of the folder itself states, which its files do not have.
    pub(super) fn tell_above(&self, root: &Path, names: &[String]) {
        let parts: Vec<&str> = root.to_str().unwrap_or_default().trim_end_matches('/').split('/').collect();
        let above = parts.iter().rposition(|part| !part.contains('=')).map_or(0, |last| last + 1);
        let stated = FolderFiles::stated_in(&format!("{}/", parts[above..].join("/")));
        let is_absent = |name: &&str| names.iter().all(|own| own != name);
        let absent: Vec<&str> = stated.iter().map(|(name, _)| name.as_str()).filter(is_absent).collect();
        if absent.is_empty() {
            return;
        }
        let parent = if above == 0 { ".".to_owned() } else { parts[..above].join("/") };
        let (shown, absent) = (shown(root), absent.join(", "));
        note_once(format!("note: {shown} states {absent}, which is no column of its files; {parent} as input has it"));
    }

    /// Tells the format and what is left out, once.
    pub(super) fn tell(&self, root: &Path, option: &str) {
        if self.is_told.swap(true, Ordering::Relaxed) {
            return;
        }
        let (files, format) = (counted(self.paths.len() as u64, "file"), self.format.name());
        if self.is_inferred {
            note(format_args!("note: {} is read as {format}, {files}; {option} says otherwise", shown(root)));
        }
        let has_bytes = |path: &&String| std::fs::metadata(path_of(root, path)).is_ok_and(|found| found.len() > 0);
        match self.found.hidden().iter().filter(has_bytes).count() {
            0 => {}
            hidden => {
                let hidden = counted(hidden as u64, "file");
                note(format_args!("note: left out of {}: {hidden} whose names begin with _ or .", shown(root)));
            }
        }
        let named = self.left_out.iter().take(TOLD_FILES).map(String::as_str).collect::<Vec<_>>().join(", ");
        match self.left_out.len() {
            0 => {}
            count if count <= TOLD_FILES => note(format_args!("note: left out of {}: {named}", shown(root))),
            count => {
                let more = count - TOLD_FILES;
                note(format_args!("note: left out of {}: {named} and {more} more", shown(root)));
            }
        }
    }
}

/// An error of the files of a folder that are an input, and not the data of an index: other options help.
pub(super) fn of_input(error: ParquetIndexError) -> Failure {
    match error {
        ParquetIndexError::NotIndexable { path, detail } => InputError::Malformed { path, detail }.into(),
        ParquetIndexError::Unstated { path, detail, remedy } => match *remedy {
            Remedy::PartitionType { column, types } => {
                let flag = |name: &&str| format!("--type {}", shell_word(&format!("{column}={name}")));
                let flags = types.iter().map(flag).collect::<Vec<_>>().join(" or ");
                Failure::refused(
                    format!("{}: {detail}", path.display()),
                    format!("state its type with {flags} (in a join, --left-type or --right-type)"),
                )
            }
            remedy => ParquetIndexError::Unstated { path, detail, remedy: Box::new(remedy) }.into(),
        },
        error @ ParquetIndexError::TableFormat { .. } => Failure::refused(
            error.message(),
            "export the table to plain Parquet files with an engine that reads it, or give one of its files with \
             --ignore-table-log",
        ),
        error => error.into(),
    }
}

/// The path or URL of a file in a folder.
pub(super) fn path_of(root: &Path, path: &str) -> PathBuf {
    match is_url(root) {
        true => PathBuf::from(format!("{}/{path}", root.display().to_string().trim_end_matches('/'))),
        false => root.join(path),
    }
}

/// Whether a path is a symbolic link that leads nowhere.
fn is_dangling(path: &Path) -> bool {
    let is_link = || std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    !is_url(path) && std::fs::metadata(path).is_err() && is_link()
}

/// The format in which the files of a folder are read, and whether it was chosen from several that they have. A given
/// format chooses among several, and says how a folder of one is read.
///
/// # Errors
/// [`Failure::Refused`] for files of several formats, and for one whose name states the format that it has not.
fn choose(root: &Path, kinds: &[PartKind], paths: &[String], given: Option<Format>) -> Result<(Format, bool)> {
    let mut formats: Vec<(Format, &String)> = Vec::new();
    for (kind, path) in kinds.iter().zip(paths) {
        match kind {
            PartKind::Of(format, _) if formats.iter().all(|(known, _)| known != format) => {
                formats.push((*format, path))
            }
            _ => {}
        }
    }
    let format = match (given, &formats[..]) {
        (Some(format), _) | (None, &[(format, _)]) => format,
        (None, []) => Format::Lines,
        (None, [(one, at), (other, there), ..]) => {
            let (one, other) = (one.name(), other.name());
            return Err(Failure::refused(
                format!("{} has files of several formats: {at} is {one}, and {there} is {other}", shown(root)),
                "choose one of them with --format, or give a folder of one format",
            ));
        }
    };
    for (kind, path) in kinds.iter().zip(paths) {
        if let PartKind::Spoilt(named, (what, advice)) = kind
            && *named == format
        {
            return Err(Failure::refused(
                format!("{path} in {} {what}, although its name says {}", shown(root), format.name()),
                format!("{advice}; or remove it"),
            ));
        }
    }
    Ok((format, formats.len() > 1 && formats.iter().any(|(known, _)| *known == format)))
}

/// What a file is, by its content, or by its name where that says enough, and how it is read, perhaps as given.
fn kind_of(path: &Path, given: Option<Format>) -> (PartKind, Recognised) {
    let (recognised, as_given) = Recognised::of_part(path, given);
    // Text is never taken for a file of Ogive.
    let is_of_engine = || !recognised.is_text && matches!(FileFormat::at(path), Ok(Some(_)));
    let may_be_part = !is_named_otherwise(path);
    let kind = match recognised.format {
        _ if is_dangling(path) || recognised.is_empty => PartKind::None,
        _ if recognised.foreign.is_some() || is_of_engine() => match (recognised.named(), recognised.foreign) {
            (Some(named), Some(foreign)) => PartKind::Spoilt(named, foreign),
            _ => PartKind::None,
        },
        _ if recognised.is_unclear && may_be_part => PartKind::Of(Format::Csv, false),
        Format::Lines => PartKind::Text(recognised.may_be_row && may_be_part),
        format => PartKind::Of(format, recognised.is_hive),
    };
    (kind, as_given.unwrap_or(recognised))
}
