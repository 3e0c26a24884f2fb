//! Writing of records to files of other formats: CSV, TSV, JSON lines, Parquet if built in, and tables.

use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::replace::{Force, OutputFile, OutputKind, claim};
use crate::values::records::RecordFields;
use ogive::io::{FileLock, LocalStorage, StoppableStorage, Storage, WritableFile, random_u64};
use ogive::table::{TableWriteOptions, TableWriter};
use ogive::types::RecordType;
use ogive::{Cause, Error};
use ogive_text::{Quote, Separated};
use std::io::{self, Write};
use std::path::Path;

/// Records between two updates of the progress.
const RECORDS_A_STEP: u64 = 1 << 13;

/// Suffix of incomplete files, as in the engine.
const TEMPORARY: &str = ".ogive-tmp";

/// A format of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordFormat {
    /// Fields of this form.
    Separated(Separated),
    /// One JSON object per line.
    JsonLines,
    #[cfg(feature = "parquet")]
    Parquet,
    Table,
}

impl RecordFormat {
    /// Whether the suffix of a file is that of a format, or of one that is not written. Other names may be those of
    /// tables.
    pub(crate) fn has_known_suffix(path: &Path) -> bool {
        let known = ["csv", "tsv", "jsonl", "ndjson", "parquet", "pq", "ogive"];
        let others = [
            "json", "txt", "text", "gz", "zst", "bz2", "xz", "zip", "xlsx", "xls", "ods", "arrow", "feather", "orc",
            "avro",
        ];
        known.iter().chain(&others).any(|known| *known == suffix(path))
    }

    /// The format of a file by its suffix, with a quote if that is asked for; `-` is CSV, or JSON lines with `--json`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an unknown suffix, and for a quote in a format without fields.
    pub(crate) fn of_path(path: &Path, is_json: bool, quote: Option<Quote>) -> Result<Self> {
        let format = Self::named(path, is_json, quote)?;
        if quote.is_some() && !matches!(format, Self::Separated(_)) {
            let message = format!("{} has no quotes, or has those of its format", path.display());
            return Err(Failure::usage(message, "remove --quote, or write to a .tsv or .csv file"));
        }
        Ok(format)
    }

    fn named(path: &Path, is_json: bool, quote: Option<Quote>) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(if is_json { Self::JsonLines } else { Self::Separated(Separated::CSV) });
        }
        match suffix(path).as_str() {
            "csv" => Ok(Self::Separated(Separated::CSV)),
            "tsv" => Ok(Self::Separated(Separated::tsv(quote))),
            "jsonl" | "ndjson" => Ok(Self::JsonLines),
            "ogive" => Ok(Self::Table),
            #[cfg(feature = "parquet")]
            "parquet" | "pq" => Ok(Self::Parquet),
            #[cfg(not(feature = "parquet"))]
            "parquet" | "pq" => Err(Failure::usage(
                "this ogive was built without Parquet",
                "build it with `--features parquet`, or export to .csv or .jsonl",
            )),
            _ => Err(Failure::usage(
                format!("the name {} does not determine a format", path.display()),
                "use a name that ends in .csv, .tsv, .jsonl, .parquet or .ogive",
            )),
        }
    }
}

fn suffix(path: &Path) -> String {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// A function that takes the key and the value of a record.
pub(crate) type RecordVisitor<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;

/// Records in key order, each handed to a function.
pub(crate) trait RecordSource {
    /// The types of the records.
    fn record_type(&self) -> RecordType;

    /// The number of records, perhaps estimated; `None` if it takes reading them.
    fn expected(&self) -> Option<u64> {
        None
    }

    /// Calls `visit` with each record.
    fn visit(&self, visit: &mut RecordVisitor<'_>) -> Result<()>;
}

/// Writes all records of a source to a file, which gets its name when it is complete, or to standard output. Returns
/// their number.
///
/// # Errors
/// Those of the source and of the output.
pub(crate) fn export(
    source: &dyn RecordSource,
    (target, format): (&Path, RecordFormat),
    force: Force,
    inputs: &[&Path],
    output: &mut Output,
    interrupt: &Interrupt,
) -> Result<u64> {
    let mut work = ExportWork::start(source.expected(), interrupt);
    if target.as_os_str() == "-" {
        let written = write_text(source, format, &mut OutputBytes(output), &mut work);
        return match written {
            Err(failure @ Failure::Engine(Error { cause: Cause::Interrupted, .. })) => {
                Err(failure.but(format!("at most the first {} records were written", work.records)))
            }
            written => written.map(|()| work.records),
        };
    }
    let kind = if format == RecordFormat::Table { OutputKind::Table } else { OutputKind::Plain };
    let place = claim(target, kind, inputs, Some(force))?;
    let written = match format {
        RecordFormat::Table => write_table(source, &place, &mut work),
        _ => write_growing(source, format, &place, &mut work),
    };
    written.map_err(|failure| place.left(failure))?;
    Ok(work.records)
}

/// Writes all records of a source to a file that is not a table.
///
/// # Errors
/// Those of the source and of the file.
#[cfg(feature = "parquet")]
pub(crate) fn write_file(
    source: &dyn RecordSource,
    format: RecordFormat,
    place: &OutputFile,
    interrupt: &Interrupt,
) -> Result<()> {
    write_growing(source, format, place, &mut ExportWork::start(source.expected(), interrupt))
}

/// Writes a text as a file that gets its name when it is complete.
///
/// # Errors
/// Those of the storage.
pub(crate) fn write_whole(text: &str, place: &OutputFile) -> Result<()> {
    let storage = place.storage(LocalStorage::new);
    let mut growing = TemporaryOutput::begin(&*storage, &place.name)?;
    growing.write_all(text.as_bytes()).map_err(failed)?;
    growing.publish(&place.name)
}

fn write_growing(
    source: &dyn RecordSource,
    format: RecordFormat,
    place: &OutputFile,
    work: &mut ExportWork,
) -> Result<()> {
    let storage = place.storage(LocalStorage::new);
    let mut growing = TemporaryOutput::begin(&*storage, &place.name)?;
    match format {
        #[cfg(feature = "parquet")]
        RecordFormat::Parquet => write_parquet(source, &mut growing, work)?,
        _ => write_text(source, format, &mut growing, work)?,
    }
    growing.publish(&place.name)
}

/// Writes records as separated fields or JSON lines.
fn write_text(
    source: &dyn RecordSource,
    format: RecordFormat,
    target: &mut dyn Write,
    work: &mut ExportWork,
) -> Result<()> {
    let fields = RecordFields::new(&source.record_type());
    let mut line = Vec::new();
    match format {
        RecordFormat::Separated(form) => {
            fields.header(form, &mut line);
            target.write_all(&line).map_err(failed)?;
            source.visit(&mut |key, value| {
                check(&fields, value, work)?;
                line.clear();
                fields.row(key, value, form, &mut line);
                target.write_all(&line).map_err(failed)?;
                work.step()
            })
        }
        _ => source.visit(&mut |key, value| {
            check(&fields, value, work)?;
            let mut object = fields.json(key, Some(value)).into_bytes();
            object.push(b'\n');
            target.write_all(&object).map_err(failed)?;
            work.step()
        }),
    }
}

#[cfg(feature = "parquet")]
fn write_parquet(source: &dyn RecordSource, target: &mut (dyn Write + Send), work: &mut ExportWork) -> Result<()> {
    let fields = RecordFields::new(&source.record_type());
    let mut writer = crate::parquet_out::ParquetWriter::new(&fields, target)?;
    source.visit(&mut |key, value| {
        writer.push(key, value)?;
        work.step()
    })?;
    writer.finish()
}

/// Refuses a value that is not a row of the types: it would be written as bytes in the wrong columns.
fn check(fields: &RecordFields, value: &[u8], work: &ExportWork) -> Result<()> {
    if fields.fits(value) {
        return Ok(());
    }
    let message = format!("record {} is not a row of type {}", work.records + 1, fields.types().values);
    Err(Failure::refused(message, "print it with `ogive scan`, which shows its bytes"))
}

/// An error of writing the output.
pub(crate) fn failed(source: io::Error) -> Failure {
    match source.downcast::<Error>() {
        Ok(error) => Failure::Engine(error),
        Err(source) => Failure::from_output(source),
    }
}

fn write_table(source: &dyn RecordSource, place: &OutputFile, work: &mut ExportWork) -> Result<()> {
    let options = TableWriteOptions::default().record_type(source.record_type()).replace(true);
    // Interrupts also stop the end of a table, where its index is built.
    let storage = StoppableStorage::new(place.storage(LocalStorage::new), work.interrupt.flag());
    let mut writer = TableWriter::create((storage, &place.name), options)?;
    source.visit(&mut |key, value| {
        writer.append(key, value)?;
        work.step()
    })?;
    writer.finish()?;
    Ok(())
}

/// A file under a unique temporary name, or an upload, removed or aborted on drop unless it was published.
struct TemporaryOutput<'a> {
    storage: &'a dyn Storage,
    /// `None` in an object store, where a file appears when it is complete.
    temporary: Option<String>,
    file: Box<dyn WritableFile>,
    is_published: bool,
    /// Marks the file as in use, so that later exports do not remove it as a leftover.
    _lock: Option<Box<dyn FileLock>>,
}

impl<'a> TemporaryOutput<'a> {
    /// Begins a file for `name`, and removes leftovers of killed exports to that name.
    fn begin(storage: &'a dyn Storage, name: &str) -> Result<Self> {
        if storage.is_object_store() {
            let file = storage.create_replacing(name)?;
            return Ok(Self { storage, temporary: None, file, is_published: false, _lock: None });
        }
        for other in storage.list()?.iter().filter(|other| is_growing(other, name)) {
            if let Ok(_lock) = storage.lock(other) {
                storage.remove(other)?;
            }
        }
        let temporary = format!("{name}.{:016x}{TEMPORARY}", random_u64());
        let file = storage.create(&temporary)?;
        let lock = storage.lock(&temporary)?;
        Ok(Self { storage, temporary: Some(temporary), file, is_published: false, _lock: Some(lock) })
    }

    /// Makes the file durable under its name.
    fn publish(mut self, name: &str) -> Result<()> {
        self.file.sync()?;
        if let Some(temporary) = &self.temporary {
            self.storage.rename(temporary, name)?;
        }
        self.is_published = true;
        Ok(self.storage.sync_directory()?)
    }
}

impl Drop for TemporaryOutput<'_> {
    fn drop(&mut self) {
        if let (Some(temporary), false) = (&self.temporary, self.is_published) {
            // The first error is more useful.
            let _ = self.storage.remove(temporary);
        }
    }
}

/// Whether a file is a temporary file for `name`.
fn is_growing(file: &str, name: &str) -> bool {
    let rest = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
    let id = rest.and_then(|rest| rest.strip_suffix(TEMPORARY));
    id.is_some_and(|id| id.len() == 16 && id.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Progress and interrupts of an export.
struct ExportWork {
    progress: Progress,
    interrupt: Interrupt,
    records: u64,
    expected: Option<u64>,
}

impl ExportWork {
    fn start(expected: Option<u64>, interrupt: &Interrupt) -> Self {
        let progress = Progress::start("exporting", expected, Unit::Items);
        Self { expected, progress, interrupt: interrupt.clone(), records: 0 }
    }

    fn step(&mut self) -> Result<()> {
        self.records += 1;
        // After each record, since one may have a GiB.
        self.interrupt.check()?;
        if self.records.is_multiple_of(RECORDS_A_STEP) {
            match self.expected {
                // An estimate may be too low.
                Some(expected) => self.progress.reach_of(self.records, expected.max(self.records)),
                None => self.progress.reach(self.records),
            }
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
