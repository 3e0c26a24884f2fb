//! `ogive db export`: writes the entries of a keyspace to a file.

use super::store::{KeyspaceOptions, OpenKeyspace};
use crate::args::Outcome;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::size::grouped;
use ogive::io::{LocalStorage, Storage, WritableFile};
use ogive::table::{KeyType, TableWriter, WriteOptions};
use serde_json::json;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  ogive db export fruit fruit.csv          comma-separated values: key, value
  ogive db export fruit fruit.tsv          the same, separated by tabs
  ogive db export fruit fruit.ogive        a table, which `ogive get` reads and `ogive db ingest` takes in
  ogive db export fruit - | sort -R        to standard output, as comma-separated values

It shows one moment, whatever is written meanwhile. A file that is there is replaced, once the new one is whole.";

/// Entries between two looks at the clock and the interrupt flag.
const ENTRIES_A_STEP: u64 = 1 << 13;

/// Write all entries to a file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    keyspace: KeyspaceOptions,

    /// File to write: .csv, .tsv or .ogive; - for standard output
    #[arg(value_name = "OUTPUT")]
    target: PathBuf,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let open = arguments.keyspace.read()?;
    let extension = arguments.target.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let entries = match extension {
        _ if arguments.target.as_os_str() == "-" => {
            return write_rows(&open, b',', &mut OutputBytes(output)).map(|_| Outcome::Done);
        }
        "csv" => write_file(&open, b',', &arguments.target)?,
        "tsv" => write_file(&open, b'\t', &arguments.target)?,
        "ogive" => write_table(&open, &arguments.target)?,
        _ => {
            let message = format!("{} does not say what it is to be", arguments.target.display());
            return Err(Failure::usage(message, "give a name that ends in .csv, .tsv or .ogive"));
        }
    };
    if output.is_json() {
        output.json(&json!({ "entries": entries }))?;
    } else {
        output.line(format_args!("{}: {} entries", arguments.target.display(), grouped(entries)))?;
    }
    Ok(Outcome::Done)
}

/// Writes rows to a file, which gets its name when it is whole.
fn write_file(open: &OpenKeyspace, delimiter: u8, path: &Path) -> Result<u64> {
    let (folder, name) = LocalStorage::split_path(path)?;
    let storage = LocalStorage::new(folder);
    let temporary = format!("{name}.new");
    if storage.exists(&temporary)? {
        storage.remove(&temporary)?;
    }
    let mut file = FileBytes(storage.create(&temporary)?);
    let written = write_rows(open, delimiter, &mut file).and_then(|entries| {
        file.0.sync()?;
        storage.rename(&temporary, &name)?;
        storage.sync_directory()?;
        Ok(entries)
    });
    if written.is_err() {
        // The first error says more.
        let _ = storage.remove(&temporary);
    }
    written
}

fn write_rows(open: &OpenKeyspace, delimiter: u8, target: &mut dyn Write) -> Result<u64> {
    let mut work = Work::start();
    let failed = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(source) => match source.downcast::<ogive::Error>() {
            Ok(error) => Failure::Engine(error),
            Err(source) => Failure::from_output(source),
        },
        _ => Failure::refused("a row cannot be written", "use a table as the target"),
    };
    let mut rows = csv::WriterBuilder::new().delimiter(delimiter).from_writer(target);
    rows.write_record(["key", "value"]).map_err(failed)?;
    for entry in open.keyspace.iter() {
        let (key, value) = entry?;
        let is_plain = matches!(open.keys.key_type(), KeyType::Text | KeyType::Bytes);
        if is_plain {
            rows.write_record([&key[..], &value[..]]).map_err(failed)?;
        } else {
            rows.write_record([open.keys.shown(&key).as_bytes(), &value[..]]).map_err(failed)?;
        }
        work.step()?;
    }
    rows.flush().map_err(|error| failed(error.into()))?;
    Ok(work.entries)
}

fn write_table(open: &OpenKeyspace, path: &Path) -> Result<u64> {
    let (folder, name) = LocalStorage::split_path(path)?;
    let storage: Arc<dyn Storage> = Arc::new(LocalStorage::new(folder));
    let options = WriteOptions { key_type: open.keys.key_type(), ..WriteOptions::default() };
    let mut writer = TableWriter::create(storage, &name, options)?;
    let mut work = Work::start();
    for entry in open.keyspace.iter() {
        let (key, value) = entry?;
        writer.append(&key, &value)?;
        work.step()?;
    }
    writer.finish()?;
    Ok(work.entries)
}

/// Shows how far the work is, and stops it when asked to.
struct Work {
    progress: Progress,
    interrupt: Interrupt,
    entries: u64,
}

impl Work {
    fn start() -> Self {
        Self { progress: Progress::start("exporting", None, Unit::Items), interrupt: Interrupt::watch(), entries: 0 }
    }

    fn step(&mut self) -> Result<()> {
        self.entries += 1;
        if self.entries.is_multiple_of(ENTRIES_A_STEP) {
            self.interrupt.check()?;
            self.progress.reach(self.entries);
        }
        Ok(())
    }
}

/// A file of the engine's as a target of bytes.
struct FileBytes(Box<dyn WritableFile>);

impl Write for FileBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard output as a target of bytes.
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
