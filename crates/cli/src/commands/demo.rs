//! `ogive demo`: indexes generated events, or the files below a folder, and shows what lookups read.

use crate::demo::{Files, FoundFile, Versus, Walk, make_all, print, to_json};
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::values::size::{grouped, positive_count, whole_number};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  ogive demo                      index 10 million generated events, and compare with a B-tree
  ogive demo /usr                 index the files below /usr
  ogive demo --dir /tmp/tables    write the tables to /tmp/tables

Without a folder, reads no file of yours: the same generated events are put in a table with a tuned index and in one
with a B-tree, of 31 MB each. Takes less than 20 seconds on two cores.

With a folder, walks a single file system for at most ten seconds, and builds four small tables: of paths and of
modification times, each tuned for a local NVMe disk and for an object store. Takes less than a minute.";

/// Files between two checks of the clock.
const FILES_A_STEP: usize = 256;

/// Index generated events, or the files of a folder, and show what lookups read
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArguments {
    /// Folder whose files to index [default: generated events instead]
    #[arg(value_name = "FROM")]
    from: Option<PathBuf>,

    /// Generate N events
    #[arg(long, value_name = "N", default_value = "10000000", conflicts_with = "from", value_parser = positive_count)]
    events: u64,

    /// Folder for the tables [default: ogive-demo in the user's cache]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Stop after N files of FROM
    #[arg(long, value_name = "N", default_value = "1000000", requires = "from", value_parser = whole_number::<usize>)]
    files: usize,

    /// Stop the walk after N seconds
    #[arg(long, value_name = "N", default_value = "10", requires = "from", value_parser = whole_number::<u64>)]
    seconds: u64,
}

/// Runs the command.
pub(crate) fn run(arguments: &DemoArguments, output: &mut Output) -> Result<Outcome> {
    let started = Instant::now();
    let interrupt = Interrupt::watch();
    let folder = folder(arguments)?;
    match &arguments.from {
        Some(from) => show_files(from, arguments, &folder, &interrupt, output)?,
        None => {
            let versus = Versus::make(arguments.events, &folder, &interrupt)?;
            if output.is_json() { output.json(&versus.to_json())? } else { versus.print(output)? }
        }
    }
    if !output.is_json() {
        output.line(format_args!("\nTotal time: {:.1} s.", started.elapsed().as_secs_f64()))?;
    }
    Ok(Outcome::Done)
}

/// The demonstration on the files below a folder.
fn show_files(
    from: &Path,
    arguments: &DemoArguments,
    folder: &Path,
    interrupt: &Interrupt,
    output: &mut Output,
) -> Result<()> {
    let started = Instant::now();
    let (found, unreadable) = walk(from, arguments, interrupt)?;
    if found.is_empty() {
        return Err(Failure::refused(
            format!("found no files below {}", from.display()),
            "start in another folder: ogive demo FROM",
        ));
    }
    if !output.is_json() {
        output.line(format_args!(
            "{} files below {} in {:.1} s, on its file system; {} entries could not be read",
            grouped(found.len() as u64),
            from.display(),
            started.elapsed().as_secs_f64(),
            grouped(unreadable)
        ))?;
        output.flush()?;
    }
    let files = Files::new(from.to_owned(), found);
    let tables = make_all(&files, folder, interrupt)?;
    if output.is_json() { output.json(&to_json(&files, &tables)?) } else { print(&files, &tables, output) }
}

/// Walks to the end or to a limit. Also gives the number of entries that could not be read.
fn walk(from: &Path, arguments: &DemoArguments, interrupt: &Interrupt) -> Result<(Vec<FoundFile>, u64)> {
    let mut walk =
        Walk::new(from).map_err(|source| Failure::File { action: "walk", path: from.display().to_string(), source })?;
    let mut progress = Progress::start("walking", None, Unit::Items);
    let until = Instant::now() + Duration::from_secs(arguments.seconds.min(3600));
    let mut found = Vec::new();
    for file in walk.by_ref().take(arguments.files) {
        found.push(file);
        if found.len() % FILES_A_STEP == 0 {
            interrupt.check()?;
            progress.reach(found.len() as u64);
            if Instant::now() >= until {
                break;
            }
        }
    }
    Ok((found, walk.unreadable()))
}

/// The folder for the tables, created if necessary: the given one, else one in the user's cache, else a temporary one.
fn folder(arguments: &DemoArguments) -> Result<PathBuf> {
    if let Some(folder) = &arguments.dir {
        return match fs::create_dir_all(folder) {
            Ok(()) => Ok(folder.clone()),
            Err(source) => Err(Failure::File { action: "create", path: folder.display().to_string(), source }),
        };
    }
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    let folders = cache.into_iter().chain([std::env::temp_dir()]).map(|folder| folder.join("ogive-demo"));
    let mut failure = None;
    for folder in folders {
        match fs::create_dir_all(&folder) {
            Ok(()) => return Ok(folder),
            Err(source) => {
                failure = Some(Failure::File { action: "create", path: folder.display().to_string(), source });
            }
        }
    }
    Err(failure.unwrap_or_else(|| Failure::refused("no folder for the tables", "choose one with --dir")))
}
