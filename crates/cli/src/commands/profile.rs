//! `ogive profile`: measures a storage device.

use crate::args::Outcome;
use crate::failure::Result;
use crate::output::{Output, note};
use crate::progress::{Progress, Unit};
use crate::replace::{Force, OutputKind, claim};
use crate::size::{ByteSize, grouped, human_bytes, human_us};
use crate::table_text::plain_table;
use ogive::io::{MeasureOptions, MeasuredProfile, measure_profile};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  ogive profile .                          measure the device of this folder
  ogive profile /mnt/data -o data.json     save the profile, for `ogive build --for data.json`
  ogive profile . --seconds 60             measure longer, for more stable figures

Reads a temporary file, bypassing the page cache, and measures the time to read 512 B to 16 MiB and the reads per second
with 1 to 64 in flight. Removes the file afterwards.";

/// Measure a storage device, to tune tables for it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProfileArguments {
    /// Folder on the device to measure
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Save the profile to FILE; replaces an existing profile, and any other file only with --force
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    force: Force,

    /// Approximate duration, in seconds
    #[arg(long, value_name = "N", default_value = "14")]
    seconds: f64,

    /// Size of the temporary file; should exceed the cache of the device
    #[arg(long, value_name = "N", default_value = "256MiB")]
    file_size: ByteSize,
}

/// Runs the command.
pub(crate) fn run(arguments: &ProfileArguments, output: &mut Output) -> Result<Outcome> {
    let claimed = |file: &PathBuf| claim(file, OutputKind::Profile, &[&arguments.path], Some(arguments.force));
    let place = arguments.output.as_ref().map(claimed).transpose()?;
    let folder = if arguments.path.is_file() { arguments.path.parent() } else { None };
    let folder = folder.unwrap_or(&arguments.path);
    // The folder of a bare file name is empty and means the current one.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    // The name of a profile is an absolute path; a missing folder is reported as given.
    let resolved = folder.canonicalize();
    let folder = resolved.as_deref().unwrap_or(folder);
    let options = MeasureOptions::default().file_bytes(arguments.file_size.0).budget_s(arguments.seconds);
    let measured = Progress::during("measuring", Unit::Items, |progress| measure_profile(folder, &options, progress))?;
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
    output.line(plain_table(&["read size", "median", "p99", "reads timed"], times))?;
    output.line("")?;
    let levels = measured
        .levels
        .iter()
        .map(|level| vec![level.in_flight.to_string(), grouped(level.requests_per_s.round() as u64)]);
    output.line(plain_table(&["in flight", "4 KiB reads per second"], levels))?;
    output.line("")?;
    let reached =
        if measured.cold { "bypassing the page cache" } else { "through the page cache, not from the device" };
    output
        .line(format_args!("{} serves about {} reads at once; measured {reached}", measured.name, measured.parallel))?;
    match stored {
        Some(file) => {
            output.line(format_args!("saved to {0}; next: ogive build INPUT -o TABLE --for {0}", file.display()))
        }
        None => output.line("save it with -o FILE, and tune tables for it with --for FILE"),
    }
}
