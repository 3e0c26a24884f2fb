//! `ogive info`: names the kind of a file or folder.

use super::db::{self, ClockAhead};
use super::index;
use crate::advice::{Foreign, foreign};
use crate::failure::{Failure, Result};
use crate::info::Info;
use crate::input::{InputError, InputOptions};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::places::folder_of;
use crate::shell::{shell_path, under_own_name};
use crate::urls::{is_folder, path_argument, refuse_updated};
use crate::values::size::{counted, grouped, human_bytes};
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::FileFormat;
use ogive::backup::{BackupList, Backups};
use ogive::table::{Table, TableOptions};
use serde_json::{Map, json};
use std::path::{Path, PathBuf};

/// Most files of a folder that are looked at to say what it is.
#[cfg(feature = "parquet")]
const FILES_MAX: usize = 1000;

const EXAMPLES: &str = "\
Examples:
  ogive info words.ogive        a table, or an index of other data
  ogive info fruit.db --json    a store, as JSON
  ogive info fruit.db --keyspace ids
                                one keyspace of a store
  ogive info events.idx         an index of Parquet files: its key, their columns, and the files
  ogive info exports            a folder of CSV files, for example: their format and their columns

Opens the file or folder and reads no more than that takes. Exits with 1 if it is none of Ogive's.";

/// Show what a file or folder is: a table, an index, a store, backups, a profile, or none of these
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InfoArguments {
    /// File or folder to look at
    #[arg(value_name = "PATH", value_parser = OsStringValueParser::new().try_map(path_argument))]
    path: PathBuf,

    /// For a store: show this keyspace alone
    #[arg(long, value_name = "NAME")]
    keyspace: Option<String>,

    #[command(flatten)]
    clock: ClockAhead,
}

/// Runs the command.
pub(crate) fn run(arguments: &InfoArguments, output: &mut Output) -> Result<Outcome> {
    let path = &arguments.path;
    let shown = path.display();
    let asked = (arguments.keyspace.as_deref(), arguments.clock);
    let info = look(path, asked)?;
    let for_stores = [("--keyspace", arguments.keyspace.is_some()), ("--clock-ahead", arguments.clock.is_given())];
    if let Some((flag, _)) = for_stores.into_iter().find(|(_, is_given)| *is_given && info.kind != "store") {
        return Err(Failure::usage(format!("{flag} is for a store, but {shown} is {}", info.text), "remove it"));
    }
    if output.is_json() {
        let mut object =
            Map::from_iter([("path".to_owned(), json!(shown.to_string())), ("kind".into(), json!(info.kind))]);
        object.extend(info.facts.as_object().cloned().unwrap_or_default());
        output.json(&object)?;
    } else {
        output.line(format_args!("{shown}: {}", info.text))?;
        info.details.iter().try_for_each(|line| output.line(under_own_name(line)))?;
        output.line(format_args!("next: {}", under_own_name(&info.next)))?;
    }
    Ok(if info.kind == "other" { Outcome::Negative } else { Outcome::Done })
}

fn look(path: &Path, asked: (Option<&str>, ClockAhead)) -> Result<Info> {
    if is_folder(path)? {
        return folder(path, asked);
    }
    match FileFormat::at(path)? {
        Some(FileFormat::Table) => table(path),
        Some(FileFormat::PageFile) => {
            refuse_updated(path)?;
            index::info(path)
        }
        Some(FileFormat::PageLog) => Ok(Info {
            kind: "index log",
            text: "a segment of the log of an index; it belongs beside the index".into(),
            details: Vec::new(),
            facts: json!({}),
            next: format!("`ogive info {}`", shell_path(&without_number(path))),
        }),
        Some(FileFormat::Backup) => Ok(Info {
            kind: "backup",
            text: "the record of a backup of a store; the files that it names are beside it".into(),
            details: Vec::new(),
            facts: json!({}),
            next: format!("`ogive db backups {}` lists all", shell_path(folder_of(path))),
        }),
        found if found.is_some() || is_lock_of_store(path)? => Ok(Info {
            kind: "store file",
            text: "a file of a store; its name and its neighbours belong to it".into(),
            details: Vec::new(),
            facts: json!({}),
            next: format!("`ogive info {}`", shell_path(folder_of(path))),
        }),
        _ => Ok(match foreign(path) {
            Some(Foreign::Profile(profile)) => Info {
                kind: "profile",
                text: Foreign::Profile(profile.clone()).to_string(),
                details: Vec::new(),
                facts: json!({ "name": profile.name() }),
                next: format!("`ogive tune KEYS --for {}`", shell_path(path)),
            },
            Some(_) => other(path)?,
            None => Info {
                kind: "other",
                text: Foreign::Other.to_string(),
                details: Vec::new(),
                facts: json!({}),
                next: "check the path, or restore the file from a copy".to_owned(),
            },
        }),
    }
}

/// What a file is that Ogive did not write.
fn other(path: &Path) -> Result<Info> {
    let build = format!("`ogive build {} -o OUT.ogive` makes a table of it", shell_path(path));
    let (text, next) = match InputOptions::at(path)?.described() {
        Ok(format) => (format!("{format}, an input"), build),
        Err(failure) => {
            let next = failure.hint().unwrap_or_else(|| "check the path".to_owned());
            (failure.to_string(), format!("with `ogive build`: {next}"))
        }
    };
    Ok(Info { kind: "other", text, details: Vec::new(), facts: json!({}), next })
}

/// Whether a file, which has no content of its own, is the lock of a store.
fn is_lock_of_store(path: &Path) -> Result<bool> {
    Ok(path.file_name().is_some_and(|name| name == "LOCK")
        && db::info(folder_of(path), None, ClockAhead::default())?.is_some())
}

/// What a folder is: a store, a folder of backups, or neither.
fn folder(path: &Path, (keyspace, clock): (Option<&str>, ClockAhead)) -> Result<Info> {
    if let Some(info) = db::info(path, keyspace, clock)? {
        return Ok(info);
    }
    let BackupList { backups, damaged, .. } = Backups::at(path)?.list()?;
    let count = backups.len() + damaged.len();
    if count == 0 {
        return Ok(folder_of_files(path));
    }
    let damage = match damaged.len() as u64 {
        0 => String::new(),
        damaged => format!(", {} of them with a damaged record", grouped(damaged)),
    };
    Ok(Info {
        kind: "backups",
        text: format!("a folder with {} of a store{damage}", counted(count as u64, "backup")),
        details: Vec::new(),
        facts: json!({ "backups": backups.iter().map(|backup| backup.number).collect::<Vec<_>>() }),
        next: format!(
            "`ogive db backups {0}` lists them, `ogive db restore {0} STORE` restores the newest",
            shell_path(path)
        ),
    })
}

/// What a folder is that Ogive did not write.
fn folder_of_files(path: &Path) -> Info {
    let build = format!("`ogive build {} -o OUT.ogive` makes a table of them", shell_path(path));
    let empty = "`ogive db put STORE KEY VALUE` creates a store".to_owned();
    let (text, details, facts, next) = match described_folder(path) {
        Ok(Some((text, columns))) => {
            let named = (!columns.is_empty()).then(|| format!("columns: {}", columns.join(", ")));
            (format!("a folder of {text}"), named.into_iter().collect(), json!({ "columns": columns }), build)
        }
        Ok(None) | Err(Failure::Input(InputError::Empty { .. })) => {
            ("a folder without a store, and without files to read".into(), Vec::new(), json!({}), empty)
        }
        Err(failure) => {
            let next = failure.hint().map_or(empty, |hint| format!("with `ogive build`: {hint}"));
            (format!("a folder that is no input: {failure}"), Vec::new(), json!({}), next)
        }
    };
    Info { kind: "other", text, details, facts, next }
}

/// What the files of a folder are, and the names of their columns.
#[cfg(feature = "parquet")]
fn described_folder(path: &Path) -> Result<Option<(String, Vec<String>)>> {
    match has_few_files(path, &mut { FILES_MAX }) {
        true => InputOptions::at(path)?.described_folder(),
        false => Ok(Some(("many files".to_owned(), Vec::new()))),
    }
}

/// Whether a folder and those below it have no more files than there is room for.
#[cfg(feature = "parquet")]
fn has_few_files(folder: &Path, room: &mut usize) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().all(|entry| match room.checked_sub(1) {
        None => false,
        Some(left) => {
            *room = left;
            // Links are not followed.
            !entry.file_type().is_ok_and(|kind| kind.is_dir()) || has_few_files(&entry.path(), room)
        }
    })
}

/// Folders are inputs with the feature `parquet`.
#[cfg(not(feature = "parquet"))]
fn described_folder(_path: &Path) -> Result<Option<(String, Vec<String>)>> {
    Ok(None)
}

fn table(path: &Path) -> Result<Info> {
    let opened = Table::open(path, &TableOptions::default());
    let table = opened.map_err(|error| Failure::of_opening(path, error))?;
    #[cfg(feature = "parquet")]
    if let Some(info) = crate::beside::info(path, table.clone())? {
        return Ok(info);
    }
    let report = table.explain();
    let is_external = table.is_external();
    let (records, size) = (counted(report.records, "record"), human_bytes(report.file_bytes));
    let types = crate::report::types(&report);
    let compared = match &report.designs[..] {
        [built, second, ..] => {
            let slower = (second.modelled_us / built.modelled_us - 1.0) * 100.0;
            let others = counted(report.designs.len() as u64 - 1, "other design");
            format!("; index {}, before {others}, the best of them {slower:.1} % slower", built.name)
        }
        _ => String::new(),
    };
    let text = match is_external {
        true => format!("an index of other data: {records} of {types}, {size}{compared}"),
        false => format!("a table: {records} of {types}, {size}{compared}"),
    };
    Ok(Info {
        kind: if is_external { "external index" } else { "table" },
        text,
        details: Vec::new(),
        facts: json!({
            "key_type": report.key_type,
            "value_type": report.value_type,
            "records": report.records,
            "file_bytes": report.file_bytes,
            "designs": report.designs,
        }),
        next: format!("`ogive scan {0} --limit 10`, `ogive explain {0}`", shell_path(path)),
    })
}

/// The name of the index that a segment of its log belongs to.
fn without_number(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(name.rsplit_once(".log-").map_or(&*name, |(index, _)| index))
}
