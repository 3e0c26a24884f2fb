//! `ogive demo`: indexes the files of this machine and shows what lookups read.

use crate::demo::{Files, FoundFile, Walk, make_all, print, to_json};
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::values::size::{grouped, whole_number};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  ogive demo                      index the files of this machine
  ogive demo /usr                 index the files below /usr
  ogive demo --dir /tmp/tables    write the tables to /tmp/tables

Walks a single file system for at most ten seconds, and builds four small tables: of paths and of modification times,
each tuned for a local NVMe disk and for an object store. Takes less than a minute.";

/// Files between two checks of the clock.
const FILES_A_STEP: usize = 256;

/// Index the files of this machine, look some up, and show what each lookup reads
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArguments {
    /// Folder to start in
    #[arg(value_name = "FROM", default_value = "/")]
    from: PathBuf,

    /// Folder for the tables [default: ogive-demo in the user's cache]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Stop after N files
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = whole_number::<usize>)]
    files: usize,

    /// Stop after N seconds
    #[arg(long, value_name = "N", default_value = "10", value_parser = whole_number::<u64>)]
    seconds: u64,
}

/// Runs the command.
pub(crate) fn run(arguments: &DemoArguments, output: &mut Output) -> Result<Outcome> {
    let started = Instant::now();
    let interrupt = Interrupt::watch();
    let folder = folder(arguments)?;
    let (found, unreadable) = walk(arguments, &interrupt)?;
    if found.is_empty() {
        return Err(Failure::refused(
            format!("found no files below {}", arguments.from.display()),
            "start in another folder: ogive demo FROM",
        ));
    }
    if !output.is_json() {
        output.line(format_args!(
            "{} files below {} in {:.1} s, on its file system; {} entries could not be read",
            grouped(found.len() as u64),
            arguments.from.display(),
            started.elapsed().as_secs_f64(),
            grouped(unreadable)
        ))?;
        output.flush()?;
    }
    let files = Files::new(arguments.from.clone(), found);
    let tables = make_all(&files, &folder, &interrupt)?;
    if output.is_json() {
        output.json(&to_json(&files, &tables)?)?;
    } else {
        print(&files, &tables, output)?;
        output.line(format_args!("\nTotal time: {:.1} s.", started.elapsed().as_secs_f64()))?;
    }
    Ok(Outcome::Done)
}

/// Walks to the end or to a limit. Also gives the number of entries that could not be read.
fn walk(arguments: &DemoArguments, interrupt: &Interrupt) -> Result<(Vec<FoundFile>, u64)> {
    let mut walk = Walk::new(&arguments.from).map_err(|source| Failure::File {
        action: "walk",
        path: arguments.from.display().to_string(),
        source,
    })?;
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
