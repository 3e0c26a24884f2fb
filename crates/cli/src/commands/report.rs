//! `ogive report`: writes a page about a table, an index, an index beside Parquet files, or a store.

use super::db::{self, ClockAhead};
use super::index;
use super::place::PlaceKind;
use crate::advice::{Foreign, foreign};
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::page_file;
use crate::progress::{Progress, Unit};
use crate::replace::{Force, OutputKind, claim};
use crate::shell::shell_path;
use crate::urls::{self, path_argument};
use crate::values::key;
use crate::values::size::{ByteSize, whole_number};
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::io::{FastPaths, Profile};
use ogive::table::{Table, TableOptions};
use ogive_report::index::IndexPicture;
#[cfg(feature = "parquet")]
use ogive_report::parquet::ParquetPicture;
use ogive_report::store::StorePicture;
use ogive_report::table::{PictureOptions, TablePicture};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  ogive report words.ogive -o report.html                   the page of a table
  ogive report keys.ogive -o report.html --key 17 --key 42  with these lookups, and the index around them
  ogive report ids.ogx -o report.html --key 17              an index: its nodes, and the path of a key
  ogive report events.idx -o report.html --key 17           an index beside Parquet: files, and the pages of a row
  ogive report fruit -o report.html                         a store: levels, key ranges, what they take
  ogive report keys.ogive --json                            the data behind the page
  ogive report keys.ogive --figure curve -o curve.svg       one picture, for a document
  ogive report keys.ogive --figure lookup --key 17 -o lookup.svg
                                                            the reads of a lookup

The page is one file that loads nothing. For a table it shows the key curve under the layers of the index, what the file
is made of, where the time of a lookup goes, and an explorer that follows the lookup of any key. It has at most 2 MB: of
a larger index, it contains the parts around the keys of --key. Reads the index and a few blocks of data.";

/// Data blocks that are read for the curve, unless their number is given.
const SAMPLES: u32 = 64;

/// Write a page about a table, an index or a store: its parts, and what a lookup does
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArguments {
    /// Table, external index, index, index beside Parquet files, or store to report on
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().try_map(path_argument))]
    path: PathBuf,

    /// Page to write (HTML)
    #[arg(short, long, value_name = "PAGE", value_parser = OsStringValueParser::new().try_map(path_argument))]
    #[arg(required_unless_present = "json")]
    output: Option<PathBuf>,

    /// For all but a store: key to look up in the page, as `ogive get` takes it; may be repeated for a table
    #[arg(long = "key", value_name = "KEY", allow_negative_numbers = true)]
    keys: Vec<OsString>,

    /// Write one picture of a table as SVG instead of a page
    #[arg(long, value_enum, value_name = "NAME", requires = "output", conflicts_with = "json")]
    figure: Option<Figure>,

    /// Data blocks to read for the curve if the index does not have the separators of all blocks [default: 64]
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>)]
    samples: Option<u32>,

    /// Upper limit of memory, caches included
    #[arg(long, value_name = "N", default_value = "64MiB")]
    memory: ByteSize,

    #[command(flatten)]
    clock: ClockAhead,

    #[command(flatten)]
    force: Force,
}

/// A picture of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Figure {
    /// The key curve
    Curve,
    /// The layers of the index
    Layers,
    /// The reads of the lookup of --key
    Lookup,
}

/// Runs the command.
pub(crate) fn run(arguments: &ReportArguments, output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    let target = arguments.output.as_deref();
    let place = target.map(|target| claim(target, OutputKind::Page, &[&arguments.path], Some(arguments.force)));
    let place = place.transpose()?;
    let picture = Picture::of(arguments, &interrupt)?;
    let (Some(place), Some(target)) = (place, target) else {
        picture.print(output)?;
        return Ok(Outcome::Done);
    };
    let document = match arguments.figure {
        Some(figure) => picture.to_svg(figure)?,
        None => picture.to_html(&page_file::command_line()),
    };
    interrupt.check()?;
    page_file::publish(&document, &place, target, output)?;
    Ok(Outcome::Done)
}

/// What a report shows, by the kind of file.
enum Picture {
    Table(Box<TablePicture>),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetPicture>),
    Index(Box<IndexPicture>),
    Store(Box<StorePicture>),
}

impl Picture {
    fn of(arguments: &ReportArguments, interrupt: &Interrupt) -> Result<Self> {
        let path = &arguments.path;
        let name = shown(arguments);
        let kind = PlaceKind::of(path)?;
        if kind == Some(PlaceKind::Store) {
            if !arguments.keys.is_empty() {
                return Err(Failure::usage("a store's report follows no key", "leave out --key"));
            }
            refuse_samples(arguments, "a store")?;
            return db::picture(path, &name, arguments.memory, arguments.clock)
                .map(|picture| Self::Store(Box::new(picture)));
        }
        if let Some(foreign) = foreign(path) {
            return Err(not_reported(path, &foreign));
        }
        if arguments.clock.is_given() {
            let message = format!("--clock-ahead is for a store, but {} is none", path.display());
            return Err(Failure::usage(message, "remove --clock-ahead"));
        }
        if kind != Some(PlaceKind::Index) {
            return of_table(arguments, interrupt);
        }
        if arguments.keys.len() > 1 {
            return Err(Failure::usage("an index's report follows one key", "give --key once"));
        }
        refuse_samples(arguments, "an index")?;
        let (storage, object) = urls::place(path, false)?;
        let mut picture = index::picture(&storage, &object, arguments.memory.0, arguments.keys.first())?;
        picture.name = name;
        Ok(Self::Index(Box::new(picture)))
    }

    fn print(&self, output: &mut Output) -> Result<()> {
        match self {
            Self::Table(picture) => output.json(picture),
            #[cfg(feature = "parquet")]
            Self::Parquet(picture) => output.json(picture),
            Self::Index(picture) => output.json(picture),
            Self::Store(picture) => output.json(picture),
        }
    }

    fn to_svg(&self, figure: Figure) -> Result<String> {
        #[cfg(feature = "parquet")]
        if let Self::Parquet(picture) = self {
            let none = |what: &str, hint: &str| Err(Failure::usage(what, hint));
            return match (figure, picture.layers_svg()) {
                (Figure::Curve, _) => Ok(picture.curve_svg()),
                (Figure::Layers, Some(svg)) => Ok(svg),
                (Figure::Layers, None) => none("an index of sorted Parquet files has no layers", "try --figure curve"),
                (Figure::Lookup, _) => {
                    none("the requests of Parquet files are on the page only", "leave out --figure, for a page")
                }
            };
        }
        let Self::Table(picture) = self else {
            return Err(Failure::usage("figures are of tables", "leave out --figure, for a page"));
        };
        match (figure, &picture.keys[..]) {
            (Figure::Curve, _) => Ok(picture.curve_svg()),
            (Figure::Layers, _) => Ok(picture.layers_svg()),
            (Figure::Lookup, [key]) => Ok(picture.lookup_svg(key)),
            (Figure::Lookup, _) => Err(Failure::usage("the figure is of one lookup", "give its key with --key")),
        }
    }

    fn to_html(&self, command: &str) -> String {
        match self {
            Self::Table(picture) => picture.to_html(command),
            #[cfg(feature = "parquet")]
            Self::Parquet(picture) => picture.to_html(command),
            Self::Index(picture) => picture.to_html(command),
            Self::Store(picture) => picture.to_html(command),
        }
    }
}

/// Refuses samples of the key curve, which a report of what this is called does not show.
fn refuse_samples(arguments: &ReportArguments, what: &str) -> Result<()> {
    if arguments.samples.is_none() {
        return Ok(());
    }
    let message = format!("--samples is for the curve of a table, but {} is {what}", arguments.path.display());
    Err(Failure::usage(message, "remove --samples"))
}

/// The failure on a file that no report is made of.
fn not_reported(path: &Path, foreign: &Foreign) -> Failure {
    let taken = "a report takes a table, an index, an index beside Parquet files, or the folder of a store";
    let shown = path.strip_prefix(".").unwrap_or(path).display();
    let hint = match foreign {
        Foreign::Input(_) => format!("{taken}; `ogive build {} -o TABLE` makes a table of it", shell_path(path)),
        Foreign::Profile(_) | Foreign::Other => taken.to_owned(),
    };
    Failure::refused(format!("{shown} is {foreign}"), &hint)
}

/// Collects the data of the page of a table, or of the index of Parquet files that it holds.
fn of_table(arguments: &ReportArguments, interrupt: &Interrupt) -> Result<Picture> {
    let (storage, name) = urls::place(&arguments.path, false)?;
    let profile = urls::profile_of(&arguments.path)?;
    let options = TableOptions::default()
        .memory_bytes(arguments.memory.0)
        .profile(profile.clone())
        // Lookups of the page show all of their reads.
        .fast_paths(FastPaths { cache: false, ..FastPaths::ALL });
    let opened = Table::open((storage, &name), &options);
    let table = opened.map_err(|error| Failure::of_opening(&arguments.path, error))?;
    if crate::places::is_beside(&table) {
        return of_parquet(arguments, interrupt, table, profile);
    }
    let key_type = table.key_type();
    let keys = arguments.keys.iter().map(|key| key::from_argument(key_type, key)).collect::<Result<_>>()?;
    Ok(Picture::Table(Box::new(picture(arguments, interrupt, &table, keys)?)))
}

#[cfg(feature = "parquet")]
fn of_parquet(arguments: &ReportArguments, interrupt: &Interrupt, table: Table, profile: Profile) -> Result<Picture> {
    let report = crate::beside::report::BesideReport {
        path: &arguments.path,
        name: shown(arguments),
        keys: &arguments.keys,
        samples: u64::from(arguments.samples.unwrap_or(SAMPLES)),
        profile,
    };
    let of_table = |table: &Table, keys| picture(arguments, interrupt, table, keys);
    Ok(Picture::Parquet(Box::new(crate::beside::report::picture(&report, table, of_table)?)))
}

#[cfg(not(feature = "parquet"))]
fn of_parquet(arguments: &ReportArguments, _: &Interrupt, _: Table, _: Profile) -> Result<Picture> {
    let message = format!("{} is an index of Parquet files", arguments.path.display());
    Err(Failure::refused(message, "this program was built without the feature parquet"))
}

/// The name of the file, as the page shows it.
fn shown(arguments: &ReportArguments) -> String {
    arguments.path.file_name().unwrap_or(arguments.path.as_os_str()).to_string_lossy().into_owned()
}

/// Collects the data of a table.
fn picture(
    arguments: &ReportArguments,
    interrupt: &Interrupt,
    table: &Table,
    keys: Vec<Vec<u8>>,
) -> Result<TablePicture> {
    let options = PictureOptions {
        keys,
        sampled_blocks: u64::from(arguments.samples.unwrap_or(SAMPLES)),
        ..PictureOptions::default()
    };
    let mut progress =
        Progress::start(format!("reading the index of {}", arguments.path.display()), Some(100), Unit::Parts);
    let mut watch = |done: u64, total: u64| {
        progress.reach((u128::from(done) * 100 / u128::from(total.max(1))) as u64);
        interrupt.engine_check()
    };
    Ok(TablePicture::of(table, &shown(arguments), &options, &mut watch)?)
}
