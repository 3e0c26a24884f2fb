//! Messages of the engine in terms of the command: its options instead of methods and fields of the library.

use crate::failure::VALUE_BYTES_MAX;
use crate::size::exact_size;
use ogive::lsm::is_store_file;
use ogive::{Error, FileFormat, Profile};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longest file that may be a profile: a point takes less than 100 bytes, and a measured one has some dozens.
const PROFILE_BYTES_MAX: u64 = 1 << 20;
/// First bytes of a file that tell whether it is text.
const TEXT_BYTES: u64 = 4 << 10;

/// What the engine advises a program to do, and the advice for the command line.
const WORDS: [(&str, &str); 15] = [
    (
        "refresh the reader, or open the store again (or write with a longer `DbOptions::object_grace_s`)",
        "run the command again; if that does not help, an object of the store is missing: `ogive db verify` names it",
    ),
    ("sort the input, or use the sorting writer", "sort the input first"),
    ("insert into it, or create a new index", "leave out --sorted, or create a new index"),
    ("drop old snapshots, or raise the limit of", "wait for those readers to finish; the limit of the log is"),
    ("`JoinOptions::memory_bytes`", "--memory"),
    ("`TableOptions::memory_bytes`", "--memory"),
    ("`DbOptions::memory_bytes`", "--memory"),
    ("`DbOptions::open_files`", "--open-files"),
    ("fix the cause, then call `resume`, or open the store again", "fix the cause, then run the command again"),
    (
        "check the path, or set `create` to create a store",
        "check the path; `ogive db put` and `ogive db import` create a store",
    ),
    ("open it with `Table::open`", "use `ogive get`, `ogive scan` and the other commands on tables"),
    ("open it with `Index::open`", "use `ogive index`"),
    ("open that index with `Index::open`", "use `ogive index` on that index"),
    ("open its folder with `Db::open`", "use `ogive db` on its folder"),
    ("remove its records with `remove_range(..)`", "remove its entries with `ogive db delete`"),
];

/// The message of an engine error, in terms of the command.
pub(crate) fn of_command(error: &Error) -> String {
    if let Error::Damaged { path, offset, detail } = error {
        // What to do depends on the kind of the file, which the hint names.
        return format!("{} is damaged at byte {offset}: {detail}", path.display());
    }
    if let Some((path, foreign, wanted)) = foreign_in_place(error) {
        let path = path.strip_prefix(".").unwrap_or(path).display();
        return match foreign {
            Foreign::Other => format!("{path} is {foreign}"),
            _ => format!("{path} is {foreign}, not {wanted}"),
        };
    }
    if let Error::MemoryShort { path, needed_bytes, given_bytes, .. } = error {
        let (path, needed, given) = (path.display(), exact_size(*needed_bytes), exact_size(*given_bytes));
        return format!("{path} needs at least {needed} of memory, but --memory is {given}");
    }
    if let Error::ValueTooLarge { path, length, limit } = error
        && *limit != VALUE_BYTES_MAX
    {
        // What to do depends on the file, which the hint names.
        return format!("a value of {length} bytes exceeds the limit of {limit} bytes in {}", path.display());
    }
    let mut message = error.to_string();
    for (programs, commands) in WORDS {
        if message.contains(programs) {
            message = message.replace(programs, commands);
        }
    }
    message
}

/// The format of a file that a table can be built from, by its name.
fn input_format(path: &Path) -> Option<&'static str> {
    Some(match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "csv" => "a CSV file",
        "tsv" => "a TSV file",
        "jsonl" | "ndjson" => "a file of JSON lines",
        "parquet" => "a Parquet file",
        _ => return None,
    })
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

/// What a file is that has neither a name nor a magic number of Ogive: by its name, or else by its first bytes. `None`
/// for all others, which may be damaged, and for what cannot be read.
pub(crate) fn foreign(path: &Path) -> Option<Foreign> {
    let has_our_name = path.extension().is_some_and(|extension| extension == "ogive" || extension == "ogx");
    if has_our_name || !path.is_file() || FileFormat::at(path).ok()?.is_some() {
        return None;
    }
    if let Some(format) = input_format(path) {
        return Some(Foreign::Input(format));
    }
    // Reading a profile reads the whole file.
    let is_small = std::fs::metadata(path).is_ok_and(|metadata| metadata.len() <= PROFILE_BYTES_MAX);
    if let Some(profile) = is_small.then(|| Profile::load(path).ok()).flatten() {
        return Some(Foreign::Profile(profile));
    }
    Some(if is_text(path) { Foreign::Input("a text file") } else { Foreign::Other })
}

/// Whether a file begins with text.
fn is_text(path: &Path) -> bool {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(TEXT_BYTES).read_to_end(&mut bytes));
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        // The last character may be cut off.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let is_plain = |character: char| !character.is_control() || matches!(character, '\t' | '\n' | '\r');
    read.is_ok() && !text.is_empty() && text.chars().all(is_plain)
}

/// A foreign file in the place of a table or an index, and which of them it is not.
fn foreign_in_place(error: &Error) -> Option<(&Path, Foreign, &'static str)> {
    let (path, wanted) = match error {
        Error::NotATable { path, .. } => (path, "a table"),
        Error::NotAPageFile { path, .. } | Error::NotAnIndex { path, .. } => (path, "an index"),
        _ => return None,
    };
    Some((path, foreign(path)?, wanted))
}

/// What to do with a foreign file in the place of a table or an index; `None` for any other error.
pub(crate) fn advice_on_foreign(error: &Error) -> Option<String> {
    let (path, foreign, wanted) = foreign_in_place(error)?;
    let path = path.strip_prefix(".").unwrap_or(path);
    Some(match (foreign, wanted) {
        (Foreign::Profile(_), _) => format!("`ogive tune KEYS --for {}` uses it", path.display()),
        (Foreign::Other, _) => "check the path, or restore the file from a copy".into(),
        (Foreign::Input(_), "a table") => format!(
            "`ogive build {} -o {}` makes a table of it",
            path.display(),
            path.with_extension("ogive").display()
        ),
        (Foreign::Input(_), _) => format!("`ogive index load INDEX {}` loads it into an index", path.display()),
    })
}

/// What to do about a damaged file, by its kind.
pub(crate) fn advice_on_damage(path: &Path) -> String {
    let both = |verify: &str, repair: &str, path: &Path| {
        let path = path.strip_prefix(".").unwrap_or(path).display();
        format!("`ogive {verify} {path}` says what is damaged; `ogive {repair} {path}` saves what is not")
    };
    if is_store_file(path).unwrap_or(false) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        return both("db verify", "db repair", folder);
    }
    match FileFormat::at(path) {
        Ok(Some(FileFormat::Table)) => both("verify", "repair", path),
        Ok(Some(FileFormat::PageFile)) => both("index verify", "repair", path),
        // A segment of the log, which may be missing.
        _ => match index_of_segment(path) {
            Some(index) => both("index verify", "repair", &index),
            None => "restore it from a copy".into(),
        },
    }
}

/// What to do about a folder in the place of a file.
pub(crate) fn advice_on_folder(path: &Path) -> String {
    if is_store_file(path).unwrap_or(false) {
        return advice_on_damage(path);
    }
    match crate::commands::db::info(path) {
        Ok(None) => "give a file, not a folder".into(),
        // Even one that cannot be opened now.
        _ => format!("it is a store: use `ogive db`, for example `ogive db scan {}`", path.display()),
    }
}

/// The index that a segment of a log belongs to, by its name.
pub(crate) fn index_of_segment(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let (index, number) = name.rsplit_once(".log-")?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| path.with_file_name(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors whose messages name methods or fields of the library.
    fn errors() -> [Error; 8] {
        let path = || "store".into();
        [
            Error::JoinMemoryShort { what: "a row is long".into(), needed_bytes: 2, given_bytes: 1 },
            Error::MemoryShort {
                path: path(),
                needed_bytes: 2,
                given_bytes: 1,
                option: "`TableOptions::memory_bytes`",
            },
            Error::MemoryShort { path: path(), needed_bytes: 2, given_bytes: 1, option: "`DbOptions::memory_bytes`" },
            Error::StoreReadOnly { path: path(), cause: "the disk is full".into() },
            Error::NotAStore {
                path: path(),
                detail: "it contains no manifest; check the path, or set `create` to create a store".into(),
            },
            Error::ValueTooLarge { path: path(), length: 2, limit: 1 },
            Error::Unsorted { path: path(), record: 1 },
            Error::NotEmpty { path: path() },
        ]
    }

    #[test]
    fn no_message_names_what_only_a_program_can_do() {
        for error in errors() {
            let message = of_command(&error);
            let is_plain = ["Options::", "resume", "value_reader", "set `create`", "writer", "insert into"]
                .iter()
                .all(|word| !message.contains(word));
            assert!(is_plain && message != error.to_string(), "{message}");
        }
    }
}
