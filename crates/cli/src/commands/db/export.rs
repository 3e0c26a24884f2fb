//! `ogive db export`: writes the entries of a keyspace to a file.

use super::store::{KeyspaceOptions, OpenKeyspace};
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::monitored::MonitoredStorage;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::replace::{Force, OutputFile, OutputKind, claim};
use crate::size::{counted, grouped};
use ogive::io::{FileLock, LocalStorage, Storage, WritableFile, random_u64};
use ogive::table::{TableWriteOptions, TableWriter};
use ogive::{Error, KeyType};
use serde_json::json;
use std::io::{self, Write};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ogive db export fruit fruit.csv          comma-separated values: key, value
  ogive db export fruit fruit.tsv          the same, separated by tabs
  ogive db export fruit fruit.ogive        a table for `ogive get` or `ogive db ingest`
  ogive db export fruit - | sort -R        to standard output, as comma-separated values

Exports a consistent snapshot. Replaces an existing table once the new one is complete, and any other file only with
--force. Never replaces files of a store or an index, or anything that is not a regular file.";

/// Entries between two checks of the clock.
const ENTRIES_A_STEP: u64 = 1 << 13;

/// Suffix of incomplete files, as in the engine.
const TEMPORARY: &str = ".ogive-tmp";

/// Export all entries to a file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbExport {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    /// File to write: .csv, .tsv or .ogive; - for standard output
    #[arg(value_name = "OUTPUT")]
    target: PathBuf,

    #[command(flatten)]
    force: Force,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbExport, output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    if arguments.target.as_os_str() == "-" {
        let mut work = ExportWork::start(&interrupt);
        let open = arguments.keyspace.read()?;
        let written = write_rows(&open, b',', &mut OutputBytes(output), &mut work);
        let entries = grouped(work.entries);
        return match written {
            Err(failure @ Failure::Engine(Error::Interrupted)) => {
                Err(failure.but(format!("at most the first {entries} entries were written")))
            }
            written => written.map(|()| Outcome::Done),
        };
    }
    let extension = arguments.target.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let delimiter = match extension {
        "csv" => Some(b','),
        "tsv" => Some(b'\t'),
        "ogive" => None,
        _ => {
            let message = format!("the name {} does not determine a format", arguments.target.display());
            return Err(Failure::usage(message, "use a name that ends in .csv, .tsv or .ogive"));
        }
    };
    let kind = if delimiter.is_some() { OutputKind::Plain } else { OutputKind::Table };
    let place = claim(&arguments.target, kind, &[], Some(arguments.force))?;
    let open = arguments.keyspace.read()?;
    let mut work = ExportWork::start(&interrupt);
    let written = match delimiter {
        Some(delimiter) => write_file(&open, delimiter, &place, &mut work),
        None => write_table(&open, &place, &mut work),
    };
    written.map_err(|failure| place.left(failure))?;
    let entries = work.entries;
    if output.is_json() {
        output.json(&json!({ "entries": entries }))?;
    } else {
        output.line(format_args!("{}: {}", arguments.target.display(), counted(entries, "record")))?;
    }
    Ok(Outcome::Done)
}

/// Writes rows to a file, which gets its name when it is complete.
fn write_file(open: &OpenKeyspace, delimiter: u8, place: &OutputFile, work: &mut ExportWork) -> Result<()> {
    let storage = place.storage(LocalStorage::new);
    let mut growing = TemporaryOutput::begin(&*storage, &place.name)?;
    write_rows(open, delimiter, &mut growing, work)?;
    growing.publish(&place.name)
}

/// A file under a unique temporary name, removed on drop unless it was published.
struct TemporaryOutput<'a> {
    storage: &'a dyn Storage,
    temporary: String,
    file: Box<dyn WritableFile>,
    is_published: bool,
    /// Marks the file as in use, so that later exports do not remove it as a leftover.
    _lock: Box<dyn FileLock>,
}

impl<'a> TemporaryOutput<'a> {
    /// Begins a file for `name`, and removes leftovers of killed exports to that name.
    fn begin(storage: &'a dyn Storage, name: &str) -> Result<Self> {
        for other in storage.list()?.iter().filter(|other| is_growing(other, name)) {
            if let Ok(_lock) = storage.lock(other) {
                storage.remove(other)?;
            }
        }
        let temporary = format!("{name}.{:016x}{TEMPORARY}", random_u64());
        let file = storage.create(&temporary)?;
        let lock = storage.lock(&temporary)?;
        Ok(Self { storage, temporary, file, is_published: false, _lock: lock })
    }

    /// Makes the file durable under its name.
    fn publish(mut self, name: &str) -> Result<()> {
        self.file.sync()?;
        self.storage.rename(&self.temporary, name)?;
        self.is_published = true;
        Ok(self.storage.sync_directory()?)
    }
}

impl Drop for TemporaryOutput<'_> {
    fn drop(&mut self) {
        if !self.is_published {
            // The first error is more useful.
            let _ = self.storage.remove(&self.temporary);
        }
    }
}

/// Whether a file is a temporary file for `name`.
fn is_growing(file: &str, name: &str) -> bool {
    let rest = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
    let id = rest.and_then(|rest| rest.strip_suffix(TEMPORARY));
    id.is_some_and(|id| id.len() == 16 && id.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

fn write_rows(open: &OpenKeyspace, delimiter: u8, target: &mut dyn Write, work: &mut ExportWork) -> Result<()> {
    let failed = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(source) => match source.downcast::<ogive::Error>() {
            Ok(error) => Failure::Engine(error),
            Err(source) => Failure::from_output(source),
        },
        _ => Failure::refused("a row cannot be written", "export to a table instead"),
    };
    let mut rows = csv::WriterBuilder::new().delimiter(delimiter).from_writer(target);
    rows.write_record(["key", "value"]).map_err(failed)?;
    for entry in open.keyspace.iter() {
        let (key, value) = entry?;
        let is_plain = matches!(open.keys.key_type(), KeyType::Text | KeyType::Bytes | KeyType::FixedBytes(_));
        if is_plain {
            rows.write_record([&key[..], &value[..]]).map_err(failed)?;
        } else {
            rows.write_record([open.keys.shown(&key).as_bytes(), &value[..]]).map_err(failed)?;
        }
        work.step()?;
    }
    rows.flush().map_err(|error| failed(error.into()))
}

fn write_table(open: &OpenKeyspace, place: &OutputFile, work: &mut ExportWork) -> Result<()> {
    let options = TableWriteOptions::default().key_type(open.keys.key_type()).replace(true);
    // Interrupts also stop the end of a table, where its index is built.
    let storage = MonitoredStorage::new(place.storage(LocalStorage::new), &work.interrupt);
    let mut writer = TableWriter::create(storage, &place.name, options)?;
    for entry in open.keyspace.iter() {
        let (key, value) = entry?;
        writer.append(&key, &value)?;
        work.step()?;
    }
    writer.finish()?;
    Ok(())
}

/// Progress and interrupts of an export.
struct ExportWork {
    progress: Progress,
    interrupt: Interrupt,
    entries: u64,
}

impl ExportWork {
    fn start(interrupt: &Interrupt) -> Self {
        let progress = Progress::start("exporting", None, Unit::Items);
        Self { progress, interrupt: interrupt.clone(), entries: 0 }
    }

    fn step(&mut self) -> Result<()> {
        self.entries += 1;
        // After each entry, since one may have a GiB.
        self.interrupt.check()?;
        if self.entries.is_multiple_of(ENTRIES_A_STEP) {
            self.progress.reach(self.entries);
        }
        Ok(())
    }
}

impl Write for TemporaryOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.append(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard output as a byte writer.
struct OutputBytes<'a>(&'a mut Output);

impl Write for OutputBytes<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.bytes(bytes).map(|()| bytes.len()).map_err(|failure| match failure {
            Failure::ClosedPipe => io::ErrorKind::BrokenPipe.into(),
            Failure::Output(source) => source,
            other => io::Error::other(other.to_string()),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
