//! A run of a paper: each step into a file of its own, under its final name once it has ended.

use std::fs::{self, File, TryLockError};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, ensure};

use super::catalog::papers;
use super::command::command_of;
use super::estimate::{Estimate, duration};
use super::options::PaperOptions;
use super::plan::Paper;
use super::results::{MissingRun, PaperResults, StepResult};
use super::scale::Scale;
use super::step::Step;
use crate::error::with_causes;
use crate::experiments::{Context, caught};
use crate::output::{Record, Reporter, machine};
use crate::pages::Run;
use crate::{Error, Result};

/// Ending of the name of a file whose step has not ended.
const PART: &str = "part";
/// Field of the number of records of a step that ended.
const RECORDS: &str = "records";
/// Name of the file that a run locks.
const LOCK: &str = ".lock";

/// Runs all steps of a paper in order. A step that fails is part of the results, and the run goes on.
///
/// `tell` gets a line for each step: its number, the time so far, and an estimate of the rest.
///
/// # Errors
/// If the folder has results and the run neither resumes nor chooses steps, if another run writes to it, or if files
/// cannot be read or written.
pub fn run(paper: &'static Paper, options: &PaperOptions, tell: &mut dyn FnMut(&str)) -> Result<PaperResults> {
    let folder = options.folder.join(paper.name);
    let _lock = prepare(&folder, options)?;
    let steps = paper.steps();
    let mut estimate = Estimate::new(steps.iter().map(|step| step.weight_s));
    let mut results = Vec::new();
    let start = Instant::now();
    for (index, &step) in steps.iter().enumerate() {
        let number = index + 1;
        let left = estimate.left_s().map_or_else(String::new, |left_s| format!(", about {} left", duration(left_s)));
        let so_far = duration(start.elapsed().as_secs_f64());
        tell(&format!("{number}/{} {}, {so_far} so far{left}", steps.len(), step.experiment));
        let result = result_of(paper, step, &folder.join(step.file_name(number)), options, tell);
        if let Err(missing) = &result.run {
            tell(&format!("{} {missing}", step.experiment));
        }
        let failures = result.failures();
        if let Some(first) = failures.first() {
            tell(&format!("{}: {} subjects failed; the first: {first}", step.experiment, failures.len()));
        }
        estimate.done(step.weight_s, result.elapsed_s);
        results.push(result);
    }
    Ok(PaperResults { paper, scale: options.scale, steps: results })
}

/// Makes the folder of the results, and locks it until the file is closed.
fn prepare(folder: &Path, options: &PaperOptions) -> Result<File> {
    if let Some(keys) = &options.keys_folder {
        fs::read_dir(keys).map_err(|error| Error::io("read the key sets of", keys, error))?;
    }
    fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
    let files = fs::read_dir(folder).map_err(|error| Error::io("read", folder, error))?;
    let mut results: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    results.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    if !results.is_empty() && !options.resume && options.only.is_empty() {
        return Err(Error::PaperResults { path: folder.to_owned() });
    }
    check_scale(folder, &results, options.scale)?;
    let path = folder.join(LOCK);
    let lock = File::create(&path).map_err(|error| Error::io("create", &path, error))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(Error::PaperBusy { path: folder.to_owned() }),
        Err(TryLockError::Error(error)) => Err(Error::io("lock", &path, error)),
    }
}

/// Fails if a step of a folder was run at another scale: its page would show steps of one scale only.
fn check_scale(folder: &Path, results: &[PathBuf], scale: Scale) -> Result<()> {
    // A damaged file is run again.
    let found = results.iter().filter_map(|path| Some(Run::read(path).ok()?.machine()?.text("scale")));
    match found.filter(|found| !found.is_empty()).find(|found| found != scale.name()) {
        Some(found) => Err(Error::PaperScale { path: folder.to_owned(), found, asked: scale.name() }),
        None => Ok(()),
    }
}

/// The records of a step: those of a former run with the same settings if the run resumes, or if other steps were
/// chosen, else new ones.
fn result_of(
    paper: &'static Paper,
    step: &'static Step,
    path: &Path,
    options: &PaperOptions,
    tell: &mut dyn FnMut(&str),
) -> StepResult {
    let context = step.context(options);
    let command = command_of(step.experiment, &context);
    let is_chosen = step.is_among(&options.only);
    let former = match options.resume || !is_chosen {
        true => resumed(paper, step, path, options, &command, tell),
        false => None,
    };
    let start = Instant::now();
    let run = match former {
        Some(run) => Ok(run),
        None if !is_chosen => Err(MissingRun::NotChosen),
        None => measured(step, path, &context, &command, options.scale)
            .map_err(|error| MissingRun::Failed(with_causes(&error))),
    };
    let recorded_s = run.as_ref().ok().and_then(|run| run.machine()?.number("elapsed_s"));
    let elapsed_s = recorded_s.unwrap_or_else(|| start.elapsed().as_secs_f64());
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    StepResult { step, file, command, elapsed_s, run }
}

/// The records of a former run of a step, in the results of this paper or in those of another that has it, too.
fn resumed(
    paper: &Paper,
    step: &Step,
    path: &Path,
    options: &PaperOptions,
    command: &str,
    tell: &mut dyn FnMut(&str),
) -> Option<Run> {
    let refused = match former(path, command) {
        Some(Ok(run)) => {
            tell(&format!("{} is kept", step.experiment));
            return Some(run);
        }
        Some(Err(reason)) => Some(reason),
        None => None,
    };
    let others = papers().iter().filter(|other| other.name != paper.name);
    let mut paths = others.flat_map(|other| {
        let same = (1..).zip(other.steps()).filter(|(_, of_other)| std::ptr::eq(*of_other, step));
        same.map(|(number, step)| options.folder.join(other.name).join(step.file_name(number)))
    });
    let theirs = paths.find_map(|theirs| Some((former(&theirs, command)?.ok()?, theirs)));
    let Some((run, theirs)) = theirs.filter(|(_, theirs)| copied(theirs, path).is_ok()) else {
        if let Some(reason) = refused {
            tell(&format!("{reason}; running the step again"));
        }
        return None;
    };
    tell(&format!("{} is taken from {}", step.experiment, theirs.display()));
    Some(run)
}

/// The records of a former run, if they were made by the same command, or why they are not used.
fn former(path: &Path, command: &str) -> Option<Result<Run, String>> {
    if !path.exists() {
        return None;
    }
    Some(match Run::read(path) {
        Ok(run) if !is_whole(&run) => Err(format!("{} has lost records", path.display())),
        Ok(run) if run.command() == command => Ok(run),
        Ok(_) => Err(format!("{} was made with other settings", path.display())),
        Err(error) => Err(error.to_string()),
    })
}

/// Whether it has as many records as it says; files of former versions do not say.
fn is_whole(run: &Run) -> bool {
    let said = run.machine().and_then(|machine| machine.number(RECORDS));
    said.is_none_or(|said| said == run.records().count() as f64)
}

/// Copies a file, which gets its name once it is whole.
fn copied(from: &Path, to: &Path) -> std::io::Result<()> {
    let part = to.with_extension(PART);
    fs::copy(from, &part)?;
    File::open(&part)?.sync_all()?;
    fs::rename(part, to)
}

/// Runs a step into its file.
fn measured(step: &Step, path: &Path, context: &Context, command: &str, scale: Scale) -> anyhow::Result<Run> {
    let experiment = step.found().with_context(|| format!("there is no experiment {}", step.experiment))?;
    let part = path.with_extension(PART);
    let device = context.device.as_deref().unwrap_or(Path::new("."));
    let head = machine(device).figure("command", command).figure("scale", scale.name());
    let start = Instant::now();
    let records = {
        // Written as they come, so that a long step can be followed.
        let mut file = BufWriter::new(File::create(&part).map_err(|error| Error::io("create", &part, error))?);
        let stream: &mut dyn Write = &mut file;
        let mut output = Reporter::new(stream, true).keep(true);
        let written = || format!("while {} was written", part.display());
        output.report(head.clone()).with_context(written)?;
        caught(|| experiment.measure(context, &mut output)).with_context(written)?;
        output.kept().get(1..).unwrap_or_default().to_vec()
    };
    ensure!(!records.is_empty(), "it gave no records");
    let head = head.figure("elapsed_s", start.elapsed().as_secs_f64()).figure(RECORDS, records.len() as u64);
    let all: Vec<Record> = std::iter::once(head).chain(records).collect();
    publish(&all, &part, path)?;
    Ok(Run::read(path)?)
}

/// Writes all records, and then gives the file its name: an interrupted run leaves complete steps only.
fn publish(records: &[Record], part: &Path, path: &Path) -> anyhow::Result<()> {
    let mut file = File::create(part).map_err(|error| Error::io("create", part, error))?;
    for record in records {
        let line = serde_json::to_string(record)?;
        writeln!(file, "{line}").map_err(|error| Error::io("write", part, error))?;
    }
    file.sync_all().map_err(|error| Error::io("sync", part, error))?;
    fs::rename(part, path).map_err(|error| Error::io("rename", part, error))?;
    Ok(())
}
