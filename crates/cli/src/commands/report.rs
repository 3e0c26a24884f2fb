//! `ogive report`: writes a page about a table.

use crate::args::Outcome;
use crate::export::write_whole;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::key;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::replace::{Force, OutputKind, claim};
use crate::size::{ByteSize, human_bytes};
use crate::urls::{self, is_folder, path_argument};
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::FileFormat;
use ogive::io::FastPaths;
use ogive::table::{Table, TableOptions};
use ogive_report::table::{PictureOptions, TablePicture};
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  ogive report words.ogive -o report.html                   the page of a table
  ogive report keys.ogive -o report.html --key 17 --key 42  with these lookups, and the index around them
  ogive report keys.ogive --json                            the data behind the page

The page is one file that loads nothing: the key curve under the layers of the index, what the file is made of, where
the time of a lookup goes, and an explorer that follows the lookup of any key. It has at most 2 MB. Of an index that is
larger, it holds the parts around the keys of --key. Reads the index and a few blocks of data.";

/// Write a page about a table: its key curve, its index, its costs, and what a lookup does
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArguments {
    /// Table, or external index, to report on
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().try_map(path_argument))]
    path: PathBuf,

    /// Page to write (HTML)
    #[arg(short, long, value_name = "PAGE", value_parser = OsStringValueParser::new().try_map(path_argument))]
    #[arg(required_unless_present = "json")]
    output: Option<PathBuf>,

    /// Key to look up in the page, as `ogive get` takes it; may be repeated
    #[arg(long = "key", value_name = "KEY", allow_negative_numbers = true)]
    keys: Vec<OsString>,

    /// Data blocks to read for the curve if the index does not have the separators of all blocks
    #[arg(long, value_name = "N", default_value_t = 64)]
    samples: u32,

    /// Memory for the index
    #[arg(long, value_name = "N", default_value = "64MiB")]
    memory: ByteSize,

    #[command(flatten)]
    force: Force,
}

/// Runs the command.
pub(crate) fn run(arguments: &ReportArguments, output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    let target = arguments.output.as_deref();
    let place = target.map(|target| claim(target, OutputKind::Page, &[&arguments.path], Some(arguments.force)));
    let place = place.transpose()?;
    refuse_others(&arguments.path)?;
    let picture = picture(arguments, &interrupt)?;
    let Some(place) = place else {
        output.json(&picture)?;
        return Ok(Outcome::Done);
    };
    let html = picture.to_html(&command(arguments));
    interrupt.check()?;
    write_whole(&html, &place).map_err(|failure| place.left(failure))?;
    let shown = target.unwrap_or(Path::new("")).display();
    if output.is_json() {
        output.json(&json!({ "page": shown.to_string(), "bytes": html.len() }))?;
    } else {
        output.line(format_args!("{shown}: {}; open it in a browser", human_bytes(html.len() as u64)))?;
    }
    Ok(Outcome::Done)
}

/// Refuses files that this command has no page for.
fn refuse_others(path: &Path) -> Result<()> {
    let shown = path.display();
    let refused = |what: &str, hint: &str| Err(Failure::refused(format!("{shown} is {what}"), hint));
    if is_folder(path)? {
        return refused("a folder", "`ogive report` takes a table; `ogive db stats` tells about a store");
    }
    match FileFormat::of_path(path)? {
        Some(FileFormat::PageFile) => refused("an index", "`ogive report` takes a table; use `ogive index stats`"),
        _ => Ok(()),
    }
}

/// Collects the data of the page.
fn picture(arguments: &ReportArguments, interrupt: &Interrupt) -> Result<TablePicture> {
    let (storage, name) = urls::place(&arguments.path, false)?;
    let options = TableOptions::default()
        .memory_bytes(arguments.memory.0)
        .profile(urls::profile_of(&arguments.path)?)
        // Lookups of the page show all of their reads.
        .fast_paths(FastPaths { cache: false, ..FastPaths::ALL });
    let table = Table::open(storage, &name, &options)?;
    if crate::input::is_beside(&table) {
        let message = format!("{} is an index of Parquet files", arguments.path.display());
        return Err(Failure::refused(message, "use `ogive explain`"));
    }
    let key_type = table.key_type();
    let keys = arguments.keys.iter().map(|key| key::from_argument(key_type, key)).collect::<Result<_>>()?;
    let options = PictureOptions { keys, sampled_blocks: u64::from(arguments.samples), ..PictureOptions::default() };
    let mut progress =
        Progress::start(format!("reading the index of {}", arguments.path.display()), Some(100), Unit::Parts);
    let shown = arguments.path.file_name().unwrap_or(arguments.path.as_os_str()).to_string_lossy();
    let mut watch = |done: u64, total: u64| {
        progress.reach((u128::from(done) * 100 / u128::from(total.max(1))) as u64);
        interrupt.engine_check()
    };
    Ok(TablePicture::of(&table, &shown, &options, &mut watch)?)
}

/// The command line that makes the page.
fn command(arguments: &ReportArguments) -> String {
    let mut words = vec!["ogive report".to_owned(), quoted(&arguments.path.display().to_string())];
    words.extend(arguments.output.iter().map(|page| format!("-o {}", quoted(&page.display().to_string()))));
    words.extend(arguments.keys.iter().map(|key| format!("--key {}", quoted(&key.to_string_lossy()))));
    words.join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@%+=,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
