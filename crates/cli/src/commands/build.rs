//! `ogive build`: builds a table from a file.

use super::db::ClockAhead;
use super::stored;
use crate::assess;
use crate::failure::{Failure, Result};
use crate::input::{Input, InputOptions};
use crate::interrupt::Interrupt;
use crate::load::{Target, load, pour};
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::reading::external::{RecordLayout, build_external};
use crate::reading::sample;
use crate::reading::source::Source;
use crate::replace::{Force, OutputKind, claim};
use crate::report;
use crate::urls::{self, path_argument};
use crate::values::size::{ByteSize, exact_size, human_bytes, sort_memory, whole_number};
use crate::workload::WorkloadOptions;
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::FileFormat;
use ogive::block::compress::Compression;
use ogive::io::{LocalStorage, Profile};
use ogive::table::{Table, TableOptions, TableReport, TableWriteOptions};
use ogive::tune::{DesignRequest, extend};
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  ogive build words.txt -o words.ogive                       each line is a key
  ogive build rows.csv -o rows.ogive --key id --value name   columns by name or number
  ogive build keys.u64 -o keys.ogive --payload 8 --for s3    SOSD keys, tuned for an object store
  ogive build keys.u64 -o keys.ogive --external              an external index; the data stay in keys.u64
  ogive build s3://bucket/rows.csv -o s3://bucket/rows.ogive   from and to an object store
  ogive build events.parquet --external --key user_id -o events.idx
                                                             an index beside Parquet files, or a folder of them
  ogive build old.ogive -o new.ogive --for s3                a table again; also from an index or a store
  ogive build logs.csv -o logs.ogive --memory 64MiB          sort unsorted input within 64 MiB
  ogive build keys.u64 -o keys.ogive --open --objective p99  for a program that keeps the table open
  ogive build keys.u64 -o keys.ogive --lookups asked.txt     for the keys of this file

A key of one column is never null: an empty field is empty text; for other types it is an error. With --key-type
'(u64?)', for example, it is a null, and in '(text?)' the field \"\" is empty text. In a file of one column, an empty
line is such a null, or is skipped if there are no nulls. In TSV, \\N is a null, and in columns of text an empty field
is empty text.

Replaces an existing Ogive table once the new one is complete, and any other file only with --force. Never replaces
INPUT itself, files of a store or an index, or anything that is not a regular file.";

/// The default level of zstd.
#[cfg(feature = "zstd")]
const ZSTD_LEVEL: i32 = 3;

fn help_of_designs() -> String {
    let forms = extend::forms();
    let (fixed, named) = forms.split_last().unwrap_or((&"", &[]));
    format!("Index design: {}, or fixed layers such as {fixed}", named.join(", "))
}

/// Build a table: sorted records with an index tuned to the data and the storage
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BuildArguments {
    #[command(flatten)]
    input: InputOptions,

    /// Table to write
    #[arg(short, long, value_name = "TABLE", value_parser = OsStringValueParser::new().try_map(path_argument))]
    output: PathBuf,

    /// Storage to tune the index for: optane, nvme, sata, ssd, hdd, nfs, s3, or a file written by `ogive profile`
    /// [default: nvme, or s3 if TABLE is a URL]
    #[arg(long = "for", value_name = "PROFILE")]
    profile: Option<String>,

    #[arg(long, value_name = "NAME", default_value = "tuned", help = help_of_designs())]
    design: String,

    /// Size of data blocks: a power of two from 512 B to 1 MiB [default: tuned]
    #[arg(long, value_name = "N")]
    block_size: Option<ByteSize>,

    /// Upper limit of memory for sorting, at least 64 KiB; the rest is sorted in temporary files beside the table
    #[arg(long, value_name = "N", default_value = "256MiB", value_parser = sort_memory)]
    memory: ByteSize,

    /// Compression of data blocks
    #[arg(long, value_enum, value_name = "CODEC", default_value = "none")]
    compress: Compress,

    /// Do not code blocks: the table takes more space, and its blocks are read without decoding
    #[arg(long)]
    no_coding: bool,

    /// Add a Bloom filter with this many bits per key, to skip data reads for absent keys (10 bits give about
    /// 1 % false positives)
    #[arg(long, value_name = "BITS", value_parser = whole_number::<u32>)]
    filter: Option<u32>,

    /// Limit on the memory that the index keeps while the table is open
    #[arg(long, value_name = "N")]
    resident: Option<ByteSize>,

    #[cfg_attr(
        feature = "parquet",
        doc = "Write only an external index: for a sorted file of fixed-size records, for a table, or for a Parquet \
               file or a folder of them with --key; INPUT stays unchanged"
    )]
    #[cfg_attr(
        not(feature = "parquet"),
        doc = "Write only an external index: for a sorted file of fixed-size records or for a table; INPUT stays \
               unchanged"
    )]
    #[arg(long, alias = "beside", conflicts_with_all = ["exact", "payload", "value", "compress", "keys_only",
          "delimiter", "quote", "lenient", "no_header", "keyspace", "clock_ahead"])]
    external: bool,

    /// With --external, for Parquet files: bring the index up to date with the files that are there now
    #[cfg(feature = "parquet")]
    #[arg(long, requires = "external", conflicts_with = "key", help_heading = "Parquet")]
    update: bool,

    /// With --external: index only the Parquet files in this list of paths in the folder INPUT, one per line
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "LIST", requires = "external", help_heading = "Parquet")]
    files: Option<PathBuf>,

    /// With --external: type of a column that the folders of Parquet files state, such as month=text for month=01: i64,
    /// date or text [default: i64 for digits of one width or without leading zeros, then date, then text]
    #[cfg(feature = "parquet")]
    #[arg(long = "partition", value_name = "COL=TYPE", requires = "external", help_heading = "Parquet")]
    partitions: Vec<crate::input::ColumnType>,

    /// If INPUT is a store: the keyspace to read [default: default]
    #[arg(long, value_name = "NAME")]
    keyspace: Option<String>,

    #[command(flatten)]
    clock: ClockAhead,

    #[command(flatten)]
    workload: WorkloadOptions,

    /// Say what a new search could gain over the index that TABLE has now; builds and writes nothing
    #[arg(long, conflicts_with_all = ["external", "design", "block_size", "exact", "filter", "resident", "no_coding"])]
    assess: bool,

    #[command(flatten)]
    layout: RecordLayout,

    /// Choose the block size from all keys instead of a sample, which takes a second pass
    #[arg(long)]
    exact: bool,

    #[command(flatten)]
    force: Force,
}

/// Compression of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Compress {
    None,
    Lz4,
    #[cfg(feature = "zstd")]
    Zstd,
}

/// Runs the command.
pub(crate) fn run(arguments: &BuildArguments, output: &mut Output) -> Result<Outcome> {
    let started = Instant::now();
    let interrupt = Interrupt::watch();
    if arguments.external && arguments.input.key_type.is_some() {
        let message = "the keys of an external index have the type that they have in the data";
        let hint = "remove --key-type; for timestamps of the type INT96 in Parquet use --type, for a column of paths \
                    --partition, and --key-size for records of fixed size";
        return Err(Failure::usage(message, hint));
    }
    if arguments.assess {
        let profile = profile_of(arguments)?;
        let assessed = assess::run(&arguments.output, &profile, &arguments.workload, &interrupt, output);
        return assessed.map(|()| Outcome::Done);
    }
    #[cfg(feature = "parquet")]
    if arguments.external && is_parquet(arguments) && arguments.workload.has_lookups() {
        let message = "--lookups is not for indexes beside Parquet files";
        return Err(Failure::usage(message, "remove --lookups, or build a table without --external"));
    }
    arguments.workload.refuse_one_pipe(&arguments.input.path)?;
    let lookups = arguments.workload.read_lookups()?;
    let stored = if arguments.external { None } else { arguments.stored()? };
    if !arguments.external && stored.is_none() {
        arguments.input.refuse_table()?;
    }
    let place = claim(&arguments.output, OutputKind::Table, &[&arguments.input.path], Some(arguments.force))?;
    arguments.input.refuse_bad_rows_at(&arguments.output)?;
    let target = Target {
        storage: place.storage(LocalStorage::new),
        name: place.name.clone(),
        options: write_options(arguments)?,
        memory_bytes: arguments.memory.0,
        lookups,
    };
    #[cfg(feature = "parquet")]
    if arguments.external && is_parquet(arguments) {
        let built = build_beside(arguments, &place.path, target, &interrupt, output);
        return built.map_err(|failure| place.left(failure)).map(|()| Outcome::Done);
    }
    if arguments.external && !arguments.input.key.is_empty() {
        let message = "--key chooses columns of Parquet files, and this is none";
        return Err(Failure::usage(message, "remove --key, or --external"));
    }
    if arguments.external && !arguments.input.column_types.is_empty() {
        let message = "--type is for columns of Parquet files, and this is none";
        return Err(Failure::usage(message, "remove --type, or --external"));
    }
    let report = make(arguments, stored, target, &interrupt).map_err(|failure| place.left(failure))?;
    if let Some(warning) = kept_too_much(arguments, &report) {
        note(format_args!("warning: {warning}"));
    }
    arguments.workload.tell_of_strings(&report.key_type);
    if let Some(lost) = not_kept(arguments, &report) {
        note(lost);
    }
    if output.is_json() {
        let mut told = json!(report);
        arguments.input.tell_skipped(&mut told);
        output.json(&told)?;
    } else {
        for line in report::summary(&arguments.output.display().to_string(), &report) {
            output.line(line)?;
        }
        output.line(format_args!("built in {:.1} s", started.elapsed().as_secs_f64()))?;
    }
    Ok(Outcome::Done)
}

/// Builds an index beside Parquet files at a path.
#[cfg(feature = "parquet")]
fn build_beside(
    arguments: &BuildArguments,
    path: &std::path::Path,
    target: Target,
    interrupt: &Interrupt,
    output: &mut Output,
) -> Result<()> {
    let build = crate::beside::BesideBuild {
        data: &arguments.input.path,
        key: arguments.input.key.iter().map(|column| column.0.clone()).collect(),
        files: arguments.files.as_deref(),
        types: &arguments.input.column_types,
        partitions: &arguments.partitions,
        ignores_table_log: arguments.input.ignore_table_log,
        is_update: arguments.update,
        path,
        name: &target.name,
        storage: ogive::io::StoppableStorage::new(target.storage, interrupt.flag()),
        options: target.options,
        memory_bytes: target.memory_bytes,
    };
    crate::beside::build(build, output)
}

/// Whether the input is a Parquet file, or a folder of them.
#[cfg(feature = "parquet")]
fn is_parquet(arguments: &BuildArguments) -> bool {
    let path = &arguments.input.path;
    // A URL that ends in a slash is a folder; one without an ending is one, too, if a column is named, or the
    // index is there.
    let names_folder = || {
        crate::urls::is_url(path) && path.extension().is_none() && (!arguments.input.key.is_empty() || arguments.update)
    };
    let is_folder = path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") || names_folder();
    is_folder || arguments.input.format() == crate::input::Format::Parquet || arguments.files.is_some()
}

impl BuildArguments {
    /// The records of the input, if it is a table, an index or a store.
    fn stored(&self) -> Result<Option<Box<dyn Input>>> {
        stored::open(&self.input, self.keyspace.as_deref(), self.clock)
    }
}

fn make(
    arguments: &BuildArguments,
    stored: Option<Box<dyn Input>>,
    target: Target,
    interrupt: &Interrupt,
) -> Result<TableReport> {
    if let Some(mut stored) = stored {
        if arguments.exact {
            let sample = sample::exact(&mut *stored, arguments.memory.0, interrupt)?;
            let target = Target { options: target.options.tuning(|tuning| tuning.sample(sample)), ..target };
            let again = arguments.stored()?;
            return pour(&mut *again.unwrap_or(stored), &target, false, "building", interrupt);
        }
        pour(&mut *stored, &target, false, "building", interrupt)
    } else if arguments.external {
        build_external(&arguments.input, &arguments.layout, &target, interrupt)
    } else if arguments.exact {
        let source = Source::prepare(&arguments.input, arguments.memory.0, interrupt)?;
        let sample = sample::exact(&mut *source.open()?, arguments.memory.0, interrupt)?;
        let target = Target { options: target.options.tuning(|tuning| tuning.sample(sample)), ..target };
        pour(&mut *source.open()?, &target, false, "building", interrupt)
    } else {
        load(&arguments.input, &target, "building", interrupt)
    }
}

/// The options of a table that was the input which the new table does not have, if any.
fn not_kept(arguments: &BuildArguments, new: &TableReport) -> Option<String> {
    let path = &arguments.input.path;
    // Opening a pipe again would wait for another writer.
    let may_be_table =
        !arguments.external && arguments.input.format.is_none() && (path.is_file() || urls::is_url(path));
    if !may_be_table || !matches!(FileFormat::at(path), Ok(Some(FileFormat::Table))) {
        return None;
    }
    // The table was just read, so an error is no reason to fail.
    let old = Table::open(path, &TableOptions::default()).ok()?.explain();
    let mut lost = Vec::new();
    if old.compression != new.compression && new.compression == Compression::None.name() {
        lost.push(format!("its compression (--compress {})", old.compression));
    }
    if old.filter_bytes > 0 && new.filter_bytes == 0 {
        lost.push("its filter (--filter)".into());
    }
    if old.block_size_bytes != new.block_size_bytes && arguments.block_size.is_none() {
        lost.push(format!("its block size (--block-size {})", exact_size(old.block_size_bytes)));
    }
    let lost = [lost.join(", ")].into_iter().find(|lost| !lost.is_empty())?;
    Some(format!("{} is built anew, without {lost}", path.display()))
}

/// A warning about an index that keeps more in memory than requested, because the keys allow no smaller one.
fn kept_too_much(arguments: &BuildArguments, report: &TableReport) -> Option<String> {
    let asked_bytes = arguments.resident?.0;
    let root_bytes = report.layers.last()?.size_bytes;
    (root_bytes > asked_bytes)
        .then(|| format!("the index keeps {} in memory, more than --resident allows", human_bytes(root_bytes)))
}

fn write_options(arguments: &BuildArguments) -> Result<TableWriteOptions> {
    let options = TableWriteOptions::default()
        .block_bytes(arguments.block_size.map(block_bytes).transpose()?)
        .design(arguments.design.parse::<DesignRequest>()?)
        .profile(profile_of(arguments)?)
        .coding(!arguments.no_coding)
        .compression(match arguments.compress {
            Compress::None => Compression::None,
            Compress::Lz4 => Compression::Lz4,
            #[cfg(feature = "zstd")]
            Compress::Zstd => Compression::Zstd { level: ZSTD_LEVEL },
        })
        .filter_bits_per_key(arguments.filter)
        .tuning(|tuning| tuning.resident_bytes(arguments.resident.map(|size| size.0)))
        .replace(true);
    Ok(arguments.workload.write_options(options))
}

/// The storage that the index is tuned for.
fn profile_of(arguments: &BuildArguments) -> Result<Profile> {
    Ok(match &arguments.profile {
        Some(profile) => Profile::by_name_or_file(profile)?,
        None => urls::profile_of(&arguments.output)?,
    })
}

/// Converts a block size; the engine checks whether it is valid.
pub(super) fn block_bytes(size: ByteSize) -> Result<u32> {
    u32::try_from(size.0)
        .map_err(|_| Failure::usage(format!("blocks of {} bytes are too large", size.0), "the maximum is 1 MiB"))
}
