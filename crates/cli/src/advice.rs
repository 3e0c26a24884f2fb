//! Advice on errors of the engine, by the kind of the file that they are about.

use crate::input::format_name;
use crate::places::{self, folder_of, is_folder, is_url, may_be_store};
use crate::shell::shell_path;
use crate::voice::Command;
use ogive::backup::Backups;
use ogive::lsm::is_store_file;
use ogive::table::{Table, TableOptions};
use ogive::{Advice, Call, Cause, Error, FileFormat, Profile, Voice};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Longest file that may be a profile: a point takes less than 100 bytes, and a measured one has some dozens.
const PROFILE_BYTES_MAX: u64 = 1 << 20;
/// The error code of systems for a device that could not read or write.
pub(crate) const EIO: i32 = 5;
/// First bytes of a file by which its format is named.
const HEAD_BYTES: u64 = 4 << 10;

/// The message of an engine error; a file that is in the place of another is called what it is.
pub(crate) fn message(error: &Error) -> String {
    let Some((path, foreign, wanted)) = foreign_in_place(error) else { return error.message_in(&Command) };
    let path = path.strip_prefix(".").unwrap_or(path).display();
    match foreign {
        Foreign::Other => format!("{path} is {foreign}"),
        _ => format!("{path} is {foreign}, not {wanted}"),
    }
}

/// What to do about an engine error.
pub(crate) fn advice(error: &Error) -> Option<String> {
    if let Some(advice) = advice_on_foreign(error) {
        return Some(advice);
    }
    let path = error.path().unwrap_or(Path::new(""));
    match (error.cause, error.advice()) {
        (Cause::Io(_), _) if cfg!(unix) && error.io_error().and_then(io::Error::raw_os_error) == Some(EIO) => Some(
            "the device fails: copy what it still reads, as with `ddrescue`, and verify or repair the copy; zeros in \
             place of the rest are repaired like other damage"
                .into(),
        ),
        (Cause::Io(io::ErrorKind::IsADirectory), _) => Some(advice_on_folder(path)),
        (Cause::Io(io::ErrorKind::NotFound), _) if places::is_http(path) => Some(
            "check the address; if it is that of a store: nothing is listed by http, so read it by the URL of its \
             object store, such as s3://bucket/store, or from a copy"
                .into(),
        ),
        (Cause::Io(io::ErrorKind::NotFound), advice)
            // An error with words of its own says what to do.
            if (advice.is_some() || is_url(path)) && is_folder(path).unwrap_or(false) =>
        {
            Some(advice_on_folder(path))
        }
        (Cause::Damaged, Some(Advice::Use(Call::Verify))) => Some(advice_on_damage(path)),
        (Cause::NotAStore, _) if has_backups(path) => {
            let shown = shell_path(path);
            Some(format!(
                "it has backups of a store: `ogive db backups {shown} --verify` verifies them, and `ogive db restore \
                 {shown} STORE` restores the newest"
            ))
        }
        (_, Some(advice)) => Command.advise(advice),
        (_, None) => None,
    }
}

/// Whether a folder has backups of a store.
fn has_backups(folder: &Path) -> bool {
    let list = Backups::at(folder).and_then(|backups| backups.list());
    list.is_ok_and(|list| !list.backups.is_empty() || !list.damaged.is_empty())
}

/// An engine error and what to do, in one line.
pub(crate) fn told(error: &Error) -> String {
    let message = message(error);
    advice(error).map_or_else(|| message.clone(), |advice| format!("{message}; {advice}"))
}

/// A file that is no table, index or file of a store.
#[derive(Clone, Debug)]
pub(crate) enum Foreign {
    /// A file that a table can be built from, and its format.
    Input(&'static str),
    /// A storage profile.
    Profile(Profile),
    /// Neither.
    Other,
}

impl fmt::Display for Foreign {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(format) => write!(formatter, "{format}, an input"),
            Self::Profile(profile) => write!(formatter, "a storage profile named {}", profile.name()),
            Self::Other => formatter.write_str("not a file of Ogive, or cut off before its end"),
        }
    }
}

/// What a file is that has neither a name nor a magic number of Ogive: a profile, or what its content says. `None`
/// for all others, which may be damaged, and for what cannot be read.
pub(crate) fn foreign(path: &Path) -> Option<Foreign> {
    let has_our_name = path.extension().is_some_and(|extension| extension == "ogive" || extension == "ogx");
    if has_our_name || !path.is_file() || FileFormat::at(path).ok()?.is_some() {
        return None;
    }
    // Reading a profile reads the whole file.
    let is_small = std::fs::metadata(path).is_ok_and(|metadata| metadata.len() <= PROFILE_BYTES_MAX);
    if let Some(profile) = is_small.then(|| Profile::load(path).ok()).flatten() {
        return Some(Foreign::Profile(profile));
    }
    let mut head = Vec::new();
    _ = File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    Some(format_name(path, &head).map_or(Foreign::Other, Foreign::Input))
}

/// A foreign file in the place of a table or an index, and which of them it is not.
fn foreign_in_place(error: &Error) -> Option<(&Path, Foreign, &'static str)> {
    let wanted = match error.cause {
        Cause::NotATable => "a table",
        Cause::NotAnIndex => "an index",
        _ => return None,
    };
    let path = error.path()?;
    Some((path, foreign(path)?, wanted))
}

/// What to do with a foreign file in the place of a table or an index; `None` for any other error.
fn advice_on_foreign(error: &Error) -> Option<String> {
    let (path, foreign, wanted) = foreign_in_place(error)?;
    let shown = shell_path(path);
    Some(match (foreign, wanted) {
        (Foreign::Profile(_), _) => format!("`ogive tune KEYS --for {shown}` uses it"),
        (Foreign::Other, _) => "check the path, or restore the file from a copy".into(),
        (Foreign::Input(_), "a table") => {
            let table = shell_path(&path.with_extension("ogive"));
            format!("`ogive build {shown} -o {table}` makes a table of it")
        }
        (Foreign::Input(_), _) => format!("`ogive index load INDEX {shown}` loads it into an index"),
    })
}

/// What to do about a damaged file, by its kind.
pub(crate) fn advice_on_damage(path: &Path) -> String {
    let both = |verify: &str, repair: &str, path: &Path| {
        let path = shell_path(path);
        format!("`ogive {verify} {path}` says what is damaged; `ogive {repair} {path}` saves what is not")
    };
    if is_store_file(path).unwrap_or(false) {
        return both("verify", "repair", folder_of(path));
    }
    match FileFormat::at(path) {
        Ok(Some(FileFormat::Table)) if is_beside(path) => build_anew(path),
        Ok(Some(FileFormat::Table)) => both("verify", "repair", path),
        Ok(Some(FileFormat::PageFile)) => both("verify", "repair", path),
        // A segment of the log, which may be missing.
        _ => match index_of_segment(path) {
            Some(index) => both("verify", "repair", &index),
            None => "restore it from a copy".into(),
        },
    }
}

/// What to do about a damaged index of Parquet files, of which a copy of the undamaged records would be none.
fn build_anew(path: &Path) -> String {
    let shown = shell_path(path);
    format!("`ogive build DATA --external --key COL -o {shown}` makes it anew")
}

/// Whether a file is an index of Parquet files that opens.
fn is_beside(path: &Path) -> bool {
    Table::open(path, &TableOptions::default()).is_ok_and(|table| places::is_beside(&table))
}

/// What to do about a folder in the place of a file.
pub(crate) fn advice_on_folder(path: &Path) -> String {
    if is_store_file(path).unwrap_or(false) {
        return advice_on_damage(path);
    }
    match may_be_store(path) {
        false => "give a file, not a folder".into(),
        // Even one that cannot be opened now.
        true => format!("it is a store: use `ogive scan {}`, for example, or `ogive db`", shell_path(path)),
    }
}

/// The index that a segment of a log belongs to, by its name.
pub(crate) fn index_of_segment(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let (index, number) = name.rsplit_once(".log-")?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| path.with_file_name(index))
}
