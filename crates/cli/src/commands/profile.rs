//! `ogive profile`: measures a storage device.

use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::page_file::{self, PageOption};
use crate::progress::{Progress, Unit};
use crate::replace::{Force, OutputFile, OutputKind, claim};
use crate::shell::{shell_path, under_own_name};
use crate::urls::{is_url, measure_url_profile, path_argument};
use crate::values::size::{ByteSize, grouped, human_bytes, human_us};
use crate::values::table_text::plain_table;
use clap::builder::{OsStringValueParser, TypedValueParser};
use ogive::io::{MeasureOptions, MeasuredProfile, Profile};
use ogive_report::profile::{measured_page, profile_page};
use serde_json::json;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  ogive profile .                          measure the device of this folder
  ogive profile /mnt/data -o data.json     save the profile, for `ogive build --for data.json`
  ogive profile . --html disk.html         also write a page: the time to read n bytes, beside named storages
  ogive profile . --seconds 60             measure longer, for more stable figures
  ogive profile s3://bucket/prefix         measure an object store, with an object that is removed afterwards

Reads a temporary file, bypassing the page cache, and measures the time to read 512 B to 16 MiB and the reads per second
with 1 to 64 in flight. Removes the file afterwards.";

/// Measure a storage device, to tune tables for it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProfileArguments {
    /// Folder on the device to measure, or URL of a folder in an object store
    #[arg(value_name = "PATH", value_parser = OsStringValueParser::new().try_map(path_argument))]
    path: PathBuf,

    /// Save the profile to FILE; replaces an existing profile, and any other file only with --force
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    page: PageOption,

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
    // Files of a folder whose device is measured are not read.
    let measured = [arguments.path.as_path()];
    let inputs = if arguments.path.is_dir() { &[][..] } else { &measured[..] };
    let claimed = |file: &PathBuf| claim(file, OutputKind::Profile, inputs, Some(arguments.force));
    let place = arguments.output.as_ref().map(claimed).transpose()?;
    let page = arguments.page.claim(inputs, arguments.force)?;
    if is_url(&arguments.path) {
        return measure_url(arguments, place.as_ref(), page.as_ref(), output);
    }
    let folder = if arguments.path.is_file() { arguments.path.parent() } else { None };
    let folder = folder.unwrap_or(&arguments.path);
    // The folder of a bare file name is empty and means the current one.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    // The name of a profile is an absolute path; a missing folder is reported as given.
    let resolved = folder.canonicalize();
    let folder = resolved.as_deref().unwrap_or(folder);
    let options = MeasureOptions::default().file_bytes(arguments.file_size.0).time_s(arguments.seconds);
    let measured =
        Progress::during("measuring", Unit::Items, |progress| MeasuredProfile::measure(folder, &options, progress))?;
    if let Some(warning) = measured.warning() {
        note(format_args!("warning: {warning}"));
    }
    if let Some(place) = &place {
        measured.save(&place.path).map_err(|error| place.left(error.into()))?;
    }
    if let Some(page) = &page {
        page_file::write(&measured_page(&measured, &page_file::command_line()), page)?;
    }
    if output.is_json() {
        output.json(&measured)?;
    } else {
        print(&measured, arguments.output.as_deref(), output)?;
    }
    Ok(Outcome::Done)
}

/// Block size of the counted lookups: longer blocks would take hardly more time, but too many bytes that are paid for.
const COUNTED_BLOCK_BYTES: u64 = 64 << 10;

/// Measures an object store.
fn measure_url(
    arguments: &ProfileArguments,
    place: Option<&OutputFile>,
    page: Option<&OutputFile>,
    output: &mut Output,
) -> Result<Outcome> {
    let measured = measure_url_profile(&arguments.path, arguments.seconds)?;
    let profile = measured.profile;
    if let Some(place) = place {
        profile.save(&place.path).map_err(|error| place.left(error.into()))?;
    }
    if let Some(page) = page {
        page_file::write(&profile_page(&profile, &page_file::command_line()), page)?;
    }
    if output.is_json() {
        let mut object = serde_json::to_value(&profile).unwrap_or_default();
        object["million_lookups"] = json!({
            "block_bytes": COUNTED_BLOCK_BYTES,
            "opening_bytes": measured.opening_bytes,
            "requests_open_table": 1_000_000,
            "bytes_open_table": 1_000_000 * COUNTED_BLOCK_BYTES,
            "requests_cold": 2_000_000,
            "bytes_cold": 1_000_000 * (COUNTED_BLOCK_BYTES + measured.opening_bytes),
        });
        output.json(&object)?;
        return Ok(Outcome::Done);
    }
    print_url(&profile, measured.opening_bytes, arguments.output.as_deref(), output)?;
    Ok(Outcome::Done)
}

fn print_url(profile: &Profile, opening_bytes: u64, stored: Option<&Path>, output: &mut Output) -> Result<()> {
    let sizes = (10..24).step_by(2).map(|bits| 1_u64 << bits);
    let times = sizes.map(|bytes| vec![human_bytes(bytes), human_us(profile.time_us(bytes))]);
    output.line(plain_table(&["read size", "median"], times))?;
    output.line("")?;
    output.line(format_args!("{} serves about {} requests at once", profile.name(), profile.parallel()))?;
    let (block, cold) = (COUNTED_BLOCK_BYTES, COUNTED_BLOCK_BYTES + opening_bytes);
    output.line(format_args!(
        "a million lookups in an open table, in blocks of {}: 1,000,000 GETs, {}; each from nothing: 2,000,000 \
         GETs, {}",
        human_bytes(block),
        human_bytes(1_000_000 * block),
        human_bytes(1_000_000 * cold)
    ))?;
    next_step(stored, output)
}

/// How to go on with a profile.
fn next_step(stored: Option<&Path>, output: &mut Output) -> Result<()> {
    match stored {
        Some(file) => {
            let next = format!("`ogive build INPUT -o TABLE --for {}`", shell_path(file));
            output.line(format_args!("saved to {}; next: {}", file.display(), under_own_name(&next)))
        }
        None => output.line("save it with -o FILE, and tune tables for it with --for FILE"),
    }
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
    next_step(stored, output)
}
