//! Runs `ogive join`.

use super::arguments::{Arguments, Io, To};
use super::shape::RowShape;
use super::side::{Opening, length_bytes, open};
use super::{show, watch};
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::{Output, note};
use crate::replace::{Kind, Place, claim};
use ogive::Error;
use ogive::io::{LocalStorage, Profile, Storage};
use ogive::join::{self, JoinOptions, JoinReport, MEMORY_BYTES_MIN, Source};
use ogive::table::WriteOptions;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

/// Of the memory, each open side may take this part for its index and what it caches.
const SIDE_SHARE: u64 = 16;
/// Rows for standard output are handed over in pieces of about so many bytes, of which at most so many wait.
const PIECE_BYTES: usize = 64 << 10;
const PIECES_WAITING: usize = 4;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    run_join(arguments, output).map_err(in_the_commands_memory)
}

fn run_join(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    let to = arguments.to()?;
    let sides = arguments.sides();
    let memory_bytes = arguments.memory.0;
    if memory_bytes < MEMORY_BYTES_MIN {
        return Err(Failure::usage(
            format!("a join needs at least {MEMORY_BYTES_MIN} bytes of memory"),
            "raise --memory to 64MiB, which is enough for most joins",
        ));
    }
    let direct = match arguments.io {
        Some(io) => io == Io::Direct,
        None => sides.iter().map(|side| length_bytes(&side.input.path)).sum::<u64>() > memory_bytes,
    };
    let profile = profile(arguments)?;
    let side_bytes = memory_bytes / SIDE_SHARE;
    let opening = Opening { direct, memory_bytes: side_bytes, profile: profile.clone(), interrupt: &interrupt };
    let place = place(arguments, to)?;
    let [left, right] = open(&sides, &opening).map_err(|failure| what_a_side_takes(failure, side_bytes))?;
    if let Some(place) = &place {
        let files: Vec<&Path> = [&left, &right].into_iter().filter_map(|side| side.data.as_deref()).collect();
        place.refuse_inputs(&files)?;
    }
    if left.refused_direct || right.refused_direct {
        note("warning: the file system refuses direct reads; these are cached ones");
    }
    let options = JoinOptions {
        kind: arguments.kind,
        method: arguments.method,
        memory_bytes: (memory_bytes - 2 * side_bytes).max(MEMORY_BYTES_MIN),
        threads: arguments.threads.map_or_else(available_threads, usize::from),
        any_order: arguments.any_order,
        profile,
        stop: Some(interrupt.flag()),
        watcher: Some(watch::watcher()),
        // What joins into a file is put aside beside it.
        spill: arguments.is_piped().then(spill_folder),
        ..JoinOptions::default()
    };
    if arguments.explain && !output.is_json() {
        let explanation = join::explain(&left.source, &right.source, &options)?;
        say(show::choice(&explanation), arguments, output)?;
    }
    let shape = RowShape { key_type: left.key_type, numbers: [left.has_numbers, right.has_numbers] };
    let report = match &place {
        None => piped(&left.source, &right.source, &options, shape, output)?,
        Some(place) => {
            let target = target(place, to, shape, direct);
            let joined = join::join(&left.source, &right.source, target, &options);
            joined.map_err(|error| place.left(error.into()))?
        }
    };
    tell(&report, arguments, output)?;
    Ok(Outcome::Done)
}

/// Where the engine says how much its part of the memory must have, how much the whole must.
fn in_the_commands_memory(failure: Failure) -> Failure {
    match failure {
        Failure::Engine(Error::JoinMemoryShort { what, needed_bytes, .. }) => {
            let all = needed_bytes.saturating_mul(SIDE_SHARE).div_ceil(SIDE_SHARE - 2);
            Failure::refused(what, format!("raise --memory to {all} or more"))
        }
        failure => failure,
    }
}

/// Of a side for which there is too little memory, how much the whole join takes.
fn what_a_side_takes(failure: Failure, side_bytes: u64) -> Failure {
    match failure {
        Failure::Engine(Error::MemoryShort { path, needed_bytes, .. }) => Failure::refused(
            format!(
                "{} takes at least {needed_bytes} bytes of memory, and each side of a join has one part in {SIDE_SHARE} of \
                 --memory: {side_bytes} bytes",
                path.display()
            ),
            format!("raise --memory to {} or more", needed_bytes.saturating_mul(SIDE_SHARE)),
        ),
        failure => failure,
    }
}

fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Where rows are put aside that go to standard output: among the system's temporary files.
fn spill_folder() -> (Arc<dyn Storage>, String) {
    (Arc::new(LocalStorage::new(std::env::temp_dir())), "ogive-join".to_owned())
}

/// The profile asked for, else that of the page cache where reads go through it for sure.
fn profile(arguments: &Arguments) -> Result<Profile> {
    Ok(match arguments.profile.as_deref() {
        Some("cached") => join::cached_profile(),
        Some(name) => Profile::by_name_or_file(name)?,
        None if arguments.io == Some(Io::Cached) => join::cached_profile(),
        None => Profile::default(),
    })
}

/// The place of the file that is written, unless rows go to standard output.
fn place(arguments: &Arguments, to: To) -> Result<Option<Place>> {
    if arguments.is_piped() {
        return Ok(None);
    }
    let kind = if to == To::Table { Kind::Table } else { Kind::Plain };
    let sides = arguments.sides();
    let inputs = [sides[0].input.path.as_path(), sides[1].input.path.as_path()];
    claim(&arguments.output, kind, &inputs, Some(arguments.force)).map(Some)
}

/// The file that is written.
fn target(place: &Place, to: To, shape: RowShape, direct: bool) -> join::Output {
    let storage = place.storage(|folder| match direct {
        true => LocalStorage::new(folder).with_direct_writes(),
        false => LocalStorage::new(folder),
    });
    match to {
        To::Table => {
            let options = WriteOptions { replace: true, ..join::Output::options() };
            join::Output::table(storage, &place.name, options)
        }
        To::Text => join::Output::lines(storage, &place.name, true, move |key, left, right, line| {
            shape.line(key, left, right, line);
        }),
        To::Records => join::Output::records(storage, &place.name, true),
    }
}

/// Joins, with rows on standard output. The join has a thread of its own: this one writes what it sends.
fn piped(
    left: &Source,
    right: &Source,
    options: &JoinOptions,
    shape: RowShape,
    output: &mut Output,
) -> Result<JoinReport> {
    let is_json = output.is_json();
    std::thread::scope(|scope| {
        let (sender, pieces) = sync_channel::<Vec<u8>>(PIECES_WAITING);
        let joining = std::thread::Builder::new().spawn_scoped(scope, move || {
            let mut rows = Rows { sender, piece: Vec::with_capacity(PIECE_BYTES) };
            let output = join::Output::caller(move |key, left, right| {
                if is_json {
                    shape.object(key, left, right, &mut rows.piece);
                } else {
                    shape.line(key, left, right, &mut rows.piece);
                }
                rows.send_if_full()
            });
            join::join(left, right, output, options)
        });
        let joining = joining.map_err(|source| Error::io("start a thread for", "the join", source))?;
        let written = pieces.iter().try_for_each(|piece| output.bytes(&piece));
        // Whoever closed the pipe wants no more: what is sent from here on fails, and the join ends.
        drop(pieces);
        let joined = joining.join();
        written?;
        match joined {
            Ok(report) => Ok(report?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Rows on their way to standard output.
struct Rows {
    sender: SyncSender<Vec<u8>>,
    piece: Vec<u8>,
}

impl Rows {
    fn send_if_full(&mut self) -> Result<(), Error> {
        if self.piece.len() < PIECE_BYTES {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE_BYTES));
        self.sender.send(piece).map_err(|_| Error::Interrupted)
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        // Where nobody takes it, nobody misses it.
        let _ = self.sender.send(std::mem::take(&mut self.piece));
    }
}

/// Tells what was done.
fn tell(report: &JoinReport, arguments: &Arguments, output: &mut Output) -> Result<()> {
    let explanation = report.explanation.as_ref().filter(|_| arguments.explain);
    if output.is_json() {
        if let Some(explanation) = explanation {
            output.json(explanation)?;
        }
        return output.json(report);
    }
    let mut lines = vec![show::summary(arguments, report)];
    lines.extend(explanation.into_iter().flat_map(|explanation| show::outcome(explanation, report)));
    say(lines, arguments, output)
}

/// Lines for people: beside the rows where those go to standard output.
fn say(lines: Vec<String>, arguments: &Arguments, output: &mut Output) -> Result<()> {
    lines.into_iter().try_for_each(|line| {
        if arguments.is_piped() {
            note(line);
            Ok(())
        } else {
            output.line(line)
        }
    })
}
