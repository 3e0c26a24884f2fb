//! `ogive profile`: measures the storage under a path.

use crate::args::Outcome;
use crate::failure::Result;
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::replace::{Force, Kind, claim};
use crate::size::{ByteSize, grouped, human_bytes, human_us};
use crate::table_text::plain_table;
use ogive::io::{MeasureOptions, MeasuredProfile, measure_profile};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  ogive profile .                          measure the device under this folder
  ogive profile /mnt/data -o data.json     and store the profile, for `ogive build --for data.json`
  ogive profile . --seconds 60             measure longer, for steadier figures

Reads a temporary file past the page cache: the time to read 512 B to 16 MiB, and the reads per second with 1 to 64 of
them in flight. The file is gone afterwards.";

/// Measure the storage under a path, to tune tables for it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Folder on the storage to measure
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// File to store the profile in; a profile of that name is replaced, any other file only with --force
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    force: Force,

    /// About how long to measure, in seconds
    #[arg(long, value_name = "N", default_value = "14")]
    seconds: f64,

    /// Size of the temporary file; larger than the device's own cache is better
    #[arg(long, value_name = "N", default_value = "256MiB")]
    file_size: ByteSize,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Outcome> {
    let claimed = |file: &PathBuf| claim(file, Kind::Profile, &[&arguments.path], Some(arguments.force));
    let place = arguments.output.as_ref().map(claimed).transpose()?;
    let folder = if arguments.path.is_file() { arguments.path.parent() } else { None };
    let folder = folder.unwrap_or(&arguments.path);
    // The folder of a bare file name is empty, and means this one.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    // A profile is known by its folder wherever it is used; a folder that is not there is reported as it was given.
    let resolved = folder.canonicalize();
    let folder = resolved.as_deref().unwrap_or(folder);
    let options = MeasureOptions { file_bytes: arguments.file_size.0, budget_s: arguments.seconds };
    let mut progress = Progress::start("measuring", None, Unit::Items);
    let measured = measure_profile(folder, &options, &mut |done, total| {
        progress.set_total(total);
        progress.reach(done);
    })?;
    drop(progress);
    if let Some(warning) = measured.warning() {
        note(format_args!("warning: {warning}"));
    }
    if let Some(place) = &place {
        measured.save(&place.path).map_err(|error| place.left(error.into()))?;
    }
    if output.is_json() {
        output.json(&measured)?;
    } else {
        print(&measured, arguments.output.as_deref(), output)?;
    }
    Ok(Outcome::Done)
}

fn print(measured: &MeasuredProfile, stored: Option<&Path>, output: &mut Output) -> Result<()> {
    let times = measured.points.iter().map(|point| {
        vec![human_bytes(point.size_bytes), human_us(point.median_us), human_us(point.p99_us), grouped(point.reads)]
    });
    output.line(plain_table(&["read of", "median", "p99", "reads timed"], times))?;
    output.line("")?;
    let levels = measured
        .levels
        .iter()
        .map(|level| vec![level.in_flight.to_string(), grouped(level.requests_per_s.round() as u64)]);
    output.line(plain_table(&["in flight", "4 KiB reads a second"], levels))?;
    output.line("")?;
    let reached = if measured.cold { "past the page cache" } else { "from the page cache, not the device" };
    output.line(format_args!("{} serves about {} reads at once; read {reached}", measured.name, measured.parallel))?;
    match stored {
        Some(file) => {
            output.line(format_args!("stored in {0}; next: ogive build INPUT -o TABLE --for {0}", file.display()))
        }
        None => output.line("store it with -o FILE, and tune tables for it with --for FILE"),
    }
}
