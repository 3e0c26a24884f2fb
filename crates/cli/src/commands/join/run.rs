//! The run of `ogive join`.

use super::arguments::{Io, JoinArguments, OutputFormat, SideOptions};
use super::on::JoinedOn;
use super::shape::RowShape;
use super::side::{OpenSide, Opening, length_bytes, open, printed};
use super::{condition, show, watch};
use crate::failure::{Failure, Result, VALUE_BYTES_MAX};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::{Output, note, note_once};
use crate::page_file;
use crate::reading::pipe::refuse_one_pipe;
use crate::replace::{OutputFile, OutputKind, claim};
use crate::urls::{URL_PROFILE, is_url};
use ogive::io::{LocalStorage, Profile, ScratchFolder, Storage};
use ogive::join::{self, JoinOptions, JoinReport, JoinSource};
use ogive::types::RecordType;
use ogive::{Cause, Error};
use ogive_report::join::join_page;
use serde_json::json;
use std::cell::Cell;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

/// Each input may use this fraction (1/N) of the memory for its index and cache.
const SIDE_SHARE: u64 = 16;
/// Approximate size of the pieces in which rows are sent to standard output, and the number that may be queued.
const PIECE_BYTES: usize = 64 << 10;
const PIECES_WAITING: usize = 4;

/// Runs the command.
pub(crate) fn run(arguments: &JoinArguments, output: &mut Output) -> Result<Outcome> {
    // What is found of an input is kept with its options: behind a URL, each look is a request.
    let sides = arguments.sides();
    refuse_one_pipe(paths(&sides), "both sides of the join", "put it into a file, and name the file twice")?;
    run_join(arguments, &sides, output).map_err(|failure| in_the_commands_memory(failure, arguments.memory.0))
}

fn paths(sides: &[SideOptions; 2]) -> [&Path; 2] {
    sides.each_ref().map(|side| side.input.path.as_path())
}

fn run_join(arguments: &JoinArguments, sides: &[SideOptions; 2], output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    let to = arguments.to(output.is_json())?;
    let memory_bytes = arguments.memory.0;
    if memory_bytes < JoinOptions::MEMORY_BYTES_MIN {
        return Err(Failure::usage(
            format!("a join needs at least {} bytes of memory", JoinOptions::MEMORY_BYTES_MIN),
            "raise --memory to 64MiB, enough for most joins",
        ));
    }
    let direct = match arguments.io {
        Some(io) => io == Io::Direct,
        None => sides.iter().map(|side| length_bytes(&side.input.path)).sum::<u64>() > memory_bytes,
    };
    let opening = Opening {
        direct,
        memory_bytes: memory_bytes / SIDE_SHARE,
        clock: arguments.clock,
        profile: profile(arguments, paths(sides))?,
        is_profile_given: arguments.profile.is_some() || arguments.io == Some(Io::Cached),
        interrupt: &interrupt,
        kind: arguments.kind,
        form: to.separated(arguments.both.quote).filter(|_| arguments.conditions.is_empty()),
        // Rows that went to standard output cannot be taken back, and pipes cannot be read again.
        reads_once: !arguments.is_piped() && sides.iter().all(|side| side.input.path.is_file()),
        has_deferred: Cell::new(false),
    };
    let place = place(arguments, paths(sides), to)?;
    let page = page(arguments, paths(sides))?;
    let attempt = |opening: &Opening<'_>, output: &mut Output| {
        attempt(arguments, to, (sides, opening), (place.as_ref(), page.as_ref()), output)
    };
    match attempt(&opening, output) {
        Err(failure) if opening.has_deferred.get() && ends_otherwise_if_read_before(&failure) => {
            attempt(&Opening { reads_once: false, ..opening }, output)
        }
        done => done,
    }
}

/// Whether a join may succeed, or say more of its failure, if its inputs are read before.
fn ends_otherwise_if_read_before(failure: &Failure) -> bool {
    match failure {
        Failure::Input(_) | Failure::Refused { .. } => true,
        Failure::Engine(error) => matches!(error.cause, Cause::JoinMemory { .. } | Cause::ValueTooLarge { .. }),
        _ => false,
    }
}

/// Opens both inputs and joins them.
fn attempt(
    arguments: &JoinArguments,
    to: OutputFormat,
    (sides, opening): (&[SideOptions; 2], &Opening<'_>),
    (place, page): (Option<&OutputFile>, Option<&OutputFile>),
    output: &mut Output,
) -> Result<Outcome> {
    let opened = open(sides.clone(), &arguments.on(), opening)
        .map_err(|failure| what_a_side_takes(failure, opening.memory_bytes));
    let ([left, right], joined_on) = opened?;
    if let Some(place) = place {
        let files: Vec<&Path> = [&left, &right].into_iter().filter_map(|side| side.data.as_deref()).collect();
        place.refuse_inputs(&files)?;
    }
    if left.refused_direct || right.refused_direct {
        note_once("warning: the file system does not support direct reads; using the page cache".to_owned());
    }
    let scratch = scratch(arguments, to)?;
    let typed = [&left.source, &right.source];
    let printed = opening.form.and_then(|form| Some((printed([&left, &right])?, form)));
    let [left_rows, right_rows] = printed.map_or(typed, |(printed, _)| printed);
    let types = RowShape::new(typed[0], typed[1], arguments.kind, left.key_type)?;
    let fields = types.formatted_fields(to, printed.is_some());
    let options = options(arguments, opening, scratch.as_ref(), typed)?.formatted_fields(fields);
    // Rows are the only documents on standard output if they go there.
    let reports_json = output.is_json() && !arguments.is_piped();
    if arguments.explain && !reports_json {
        let explanation = join::explain(left_rows, right_rows, &options)?;
        say(show::choice(&explanation), arguments, output)?;
    }
    let shape = types.quoted(arguments.both.quote);
    let shape = match printed {
        Some((_, form)) => shape.printed(form, typed, arguments.kind),
        None => shape,
    };
    let types = shape.types(to).clone();
    let joined = match place {
        None => piped(left_rows, right_rows, &options, (shape, to), output),
        #[cfg(feature = "parquet")]
        Some(place) if to == OutputFormat::Parquet => {
            super::parquet::write(left_rows, right_rows, &options, shape, place, opening.interrupt)
                .map_err(|failure| place.left(failure))
        }
        Some(place) => {
            let target = target(place, to, shape, opening.direct);
            join::join(left_rows, right_rows, target, &options).map_err(|error| place.left(error.into()))
        }
    };
    let report = joined.map_err(|failure| match (left.take_fault(), right.take_fault()) {
        (Some(fault), _) => sides[0].explain(fault, None),
        (_, Some(fault)) => sides[1].explain(fault, None),
        (None, None) => failure,
    })?;
    [&left, &right].into_iter().for_each(OpenSide::tell);
    if let (Some(page), Some(plan)) = (page, &report.explanation) {
        page_file::write(&join_page(plan, Some(&report), &page_file::command_line()), page)?;
    }
    tell(&report, (&types, &joined_on), arguments, output)?;
    Ok(Outcome::Done)
}

/// The options of the engine, for inputs with values of these types.
fn options(
    arguments: &JoinArguments,
    opening: &Opening<'_>,
    scratch: Option<&ScratchFolder>,
    [left, right]: [&JoinSource; 2],
) -> Result<JoinOptions> {
    let memory_bytes = arguments.memory.0 - 2 * opening.memory_bytes;
    let options = JoinOptions::default()
        .kind(arguments.kind)
        .method(arguments.method)
        .memory_bytes(memory_bytes.max(JoinOptions::MEMORY_BYTES_MIN))
        .threads(arguments.threads.map_or_else(available_threads, usize::from))
        .any_order(arguments.any_order)
        .profile(opening.profile.clone())
        .stop(Some(opening.interrupt.flag()))
        .watcher(watch::watcher())
        .spill(scratch.map(spill_folder));
    match arguments.conditions.is_empty() {
        true => Ok(options),
        false => Ok(options.condition(condition::parse(&arguments.conditions, left, right)?)),
    }
}

/// Whether the engine writes the output file, and spills beside it.
fn writes_by_the_engine(to: OutputFormat) -> bool {
    match to {
        #[cfg(feature = "parquet")]
        OutputFormat::Parquet => false,
        _ => true,
    }
}

/// Translates the memory that the engine needs into `--memory`, of which it had `memory_bytes`.
fn in_the_commands_memory(failure: Failure, memory_bytes: u64) -> Failure {
    match failure {
        Failure::Engine(error @ Error { cause: Cause::JoinMemory { needed_bytes, .. }, .. }) => {
            let all = needed_bytes.saturating_mul(SIDE_SHARE).div_ceil(SIDE_SHARE - 2);
            Failure::refused(error.detail(), format!("raise --memory to {all} or more"))
        }
        // A value has a share of the memory.
        Failure::Engine(Error { cause: Cause::ValueTooLarge { length, limit }, .. }) if limit < VALUE_BYTES_MAX => {
            let all = u128::from(memory_bytes) * u128::from(length) / u128::from(limit.max(1)) + 1;
            Failure::refused(
                format!("a value of {length} bytes exceeds the {limit} bytes that this join has for one"),
                format!("raise --memory to {all} or more"),
            )
        }
        failure => failure,
    }
}

/// Translates the memory that an input needs into `--memory`.
fn what_a_side_takes(failure: Failure, side_bytes: u64) -> Failure {
    match failure {
        Failure::Engine(error @ Error { cause: Cause::Memory { needed_bytes, .. }, .. }) => Failure::refused(
            format!(
                "{} needs at least {needed_bytes} bytes of memory, but each input of a join has 1/{SIDE_SHARE} of \
                 --memory: {side_bytes} bytes",
                error.path().unwrap_or(Path::new("")).display()
            ),
            format!("raise --memory to {} or more", needed_bytes.saturating_mul(SIDE_SHARE)),
        ),
        failure => failure,
    }
}

fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// The folder for the spill files of joins to standard output and to object stores. A join into a local file spills
/// next to it.
fn scratch(arguments: &JoinArguments, to: OutputFormat) -> Result<Option<ScratchFolder>> {
    let spills_apart = !writes_by_the_engine(to) || arguments.is_piped() || is_url(&arguments.output);
    Ok(spills_apart.then(ScratchFolder::create).transpose()?)
}

fn spill_folder(scratch: &ScratchFolder) -> (Arc<dyn Storage>, String) {
    (scratch.storage(), "ogive-join".to_owned())
}

/// The requested profile, else that of the page cache if `--io cached` is given.
fn profile(arguments: &JoinArguments, paths: [&Path; 2]) -> Result<Profile> {
    Ok(match arguments.profile.as_deref() {
        Some("cached") => join::cached_profile(),
        Some(name) => Profile::by_name_or_file(name)?,
        None if arguments.io == Some(Io::Cached) => join::cached_profile(),
        None if paths.into_iter().any(is_url) => Profile::named(URL_PROFILE)?,
        None => Profile::default(),
    })
}

/// The place of the page of the plan.
fn page(arguments: &JoinArguments, [left, right]: [&Path; 2]) -> Result<Option<OutputFile>> {
    arguments.page.claim(&[left, right, arguments.output.as_path()], arguments.force)
}

/// The destination of the output file, unless rows go to standard output.
fn place(arguments: &JoinArguments, inputs: [&Path; 2], to: OutputFormat) -> Result<Option<OutputFile>> {
    if arguments.is_piped() {
        return Ok(None);
    }
    let kind = if to == OutputFormat::Table { OutputKind::Table } else { OutputKind::Plain };
    claim(&arguments.output, kind, &inputs, Some(arguments.force)).map(Some)
}

/// The output file as a target of the engine.
fn target(place: &OutputFile, to: OutputFormat, shape: RowShape, direct: bool) -> join::JoinOutput<'static> {
    let storage = place.storage(|folder| match direct {
        true => LocalStorage::new(folder).with_direct_writes(),
        false => LocalStorage::new(folder),
    });
    match to {
        OutputFormat::Table => {
            let options = join::JoinOutput::options().replace(true);
            join::JoinOutput::table(storage, &place.name, options)
        }
        OutputFormat::Records => join::JoinOutput::records(storage, &place.name, true),
        _ => {
            let (mut shape, header) = (shape.clone(), shape.header(to));
            let line = move |key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>, line: &mut Vec<u8>| {
                shape.push(to, key, [left, right], line)
            };
            join::JoinOutput::lines(storage, &place.name, true, line).header(header)
        }
    }
}

/// Joins to standard output. The join runs on a thread of its own, and this thread writes its rows.
fn piped(
    left: &JoinSource,
    right: &JoinSource,
    options: &JoinOptions,
    (mut shape, to): (RowShape, OutputFormat),
    output: &mut Output,
) -> Result<JoinReport> {
    output.bytes(&shape.header(to))?;
    std::thread::scope(|scope| {
        let (sender, pieces) = sync_channel::<Vec<u8>>(PIECES_WAITING);
        let joining = std::thread::Builder::new().spawn_scoped(scope, move || {
            let mut rows = PipedRows { sender, piece: Vec::with_capacity(PIECE_BYTES) };
            let output = join::JoinOutput::caller(move |key, left, right| {
                shape.push(to, key, [left, right], &mut rows.piece)?;
                rows.send_if_full()
            });
            join::join(left, right, output, options)
        });
        let joining = joining.map_err(|source| Error::io("start a thread for", "the join", source))?;
        let written = pieces.iter().try_for_each(|piece| output.bytes(&piece));
        // Dropping the receiver ends the join when the pipe is closed.
        drop(pieces);
        let joined = joining.join();
        written?;
        match joined {
            Ok(report) => Ok(report?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Rows for standard output, collected into pieces.
struct PipedRows {
    sender: SyncSender<Vec<u8>>,
    piece: Vec<u8>,
}

impl PipedRows {
    fn send_if_full(&mut self) -> Result<(), Error> {
        if self.piece.len() < PIECE_BYTES {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE_BYTES));
        self.sender.send(piece).map_err(|_| Error::interrupted())
    }
}

impl Drop for PipedRows {
    fn drop(&mut self) {
        // The receiver is gone only when the join is ending.
        let _ = self.sender.send(std::mem::take(&mut self.piece));
    }
}

/// Reports the result.
fn tell(
    report: &JoinReport,
    (types, joined_on): (&RecordType, &JoinedOn),
    arguments: &JoinArguments,
    output: &mut Output,
) -> Result<()> {
    let explanation = report.explanation.as_ref().filter(|_| arguments.explain);
    if output.is_json() && !arguments.is_piped() {
        if let Some(explanation) = explanation {
            output.json(explanation)?;
        }
        let mut report = json!(report);
        report["key_type"] = types.keys.to_string().into();
        report["value_type"] = types.value_name().into();
        report["on"] = json!({ "left": joined_on.columns(0), "right": joined_on.columns(1) });
        return output.json(&report);
    }
    let mut lines = vec![joined_on.to_string(), show::summary(arguments, report), format!("types: {types}")];
    lines.extend(explanation.into_iter().flat_map(|explanation| show::outcome(explanation, report)));
    say(lines, arguments, output)
}

/// Prints lines: to standard error if the rows go to standard output.
fn say(lines: Vec<String>, arguments: &JoinArguments, output: &mut Output) -> Result<()> {
    lines.into_iter().try_for_each(|line| {
        if arguments.is_piped() {
            note(line);
            Ok(())
        } else {
            output.line(line)
        }
    })
}
