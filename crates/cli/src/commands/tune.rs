//! `ogive tune`: compares index designs.

use super::build::block_bytes;
use crate::assess;
use crate::failure::{Failure, Result};
use crate::input::{Input, InputOptions};
use crate::interrupt::Interrupt;
use crate::load::{Target, pour};
use crate::outcome::Outcome;
use crate::output::{Output, note};
use crate::page_file::{self, PageOption};
use crate::reading::lookups::Lookups;
use crate::reading::source::Source;
use crate::reading::standard_input::shown;
use crate::replace::Force;
use crate::report::{index_bytes_a_block, layers_in_words};
use crate::values::size::{ByteSize, counted, grouped, human_bytes, human_us, sort_memory};
use crate::values::table_text::plain_table;
use crate::workload::WorkloadOptions;
use ogive::io::DiscardStorage;
use ogive::io::Profile;
use ogive::table::{COMPARED_BLOCK_BYTES, COMPARED_DESIGNS, TableReport, TableWriteOptions, compare_designs};
use ogive::tune::{DesignRequest, extend};
use ogive::{Cause, Error};
use ogive_report::tune::Comparison;
use serde_json::{Value, json};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  ogive tune keys.u64 --for s3                     the tuned design and the fixed ones, on an object store
  ogive tune keys.u64 --for data.json              on storage measured by `ogive profile`
  ogive tune keys.u64 --html designs.html          also write a page with the designs as bars
  ogive tune rows.csv --key id --design layers=2,builder=gband,lambda=4096
                                                   with an additional design
  ogive tune keys.u64 --for s3 --objective p99     with the least 99th percentile of a lookup
  ogive tune keys.u64 --open --lookups hot.txt     for lookups of these keys in a table that stays open
  ogive tune keys.ogive --for s3 --assess          could a new search speed this table up?

Builds every design in full, including data blocks, and discards it. Times are modelled: a cold lookup of one key,
including the read that opens the table. The options of lookups change that: with --objective, a quantile is
the sum of the quantiles of all reads; with --lookups, blocks count as often as they are looked up.";

/// Compare index designs for a data set and a storage
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TuneArguments {
    #[command(flatten)]
    input: InputOptions,

    /// Storage: optane, nvme, sata, ssd, hdd, nfs, s3, or a file written by `ogive profile`
    #[arg(long = "for", value_name = "PROFILE", default_value = "nvme")]
    profile: String,

    /// Additional design, as in `ogive build --design`; may be repeated
    #[arg(long = "design", value_name = "NAME")]
    designs: Vec<String>,

    /// Size of data blocks in the fixed designs: a power of two from 512 B to 1 MiB
    #[arg(long, value_name = "N")]
    block_size: Option<ByteSize>,

    /// Upper limit of memory for sorting, at least 64 KiB
    #[arg(long, value_name = "N", default_value = "256MiB", value_parser = sort_memory)]
    memory: ByteSize,

    #[command(flatten)]
    workload: WorkloadOptions,

    /// Say what a new search could gain over the index of the table INPUT, without reading its data; builds nothing
    #[arg(long, conflicts_with_all = ["designs", "block_size", "html"])]
    assess: bool,

    #[command(flatten)]
    page: PageOption,

    #[command(flatten)]
    force: Force,
}

/// A built design.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its name, as in `--design`.
    pub(crate) name: String,
    /// The report on the table.
    pub(crate) report: TableReport,
}

/// The common part of compared designs.
#[derive(Debug)]
pub(crate) struct Compared<'a> {
    /// Options of the tables.
    pub(crate) options: &'a TableWriteOptions,
    /// Keys that will be looked up.
    pub(crate) lookups: Option<Arc<Lookups>>,
    /// Block size of designs that do not choose it.
    pub(crate) fixed_block_bytes: u32,
}

/// Name of a design that does not support the keys, and the reason.
pub(crate) type UnsupportedDesign = (String, String);

/// Runs the command.
pub(crate) fn run(arguments: &TuneArguments, output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    let profile = Profile::by_name_or_file(&arguments.profile)?;
    let workload = &arguments.workload;
    if arguments.assess {
        let assessed = assess::run(&arguments.input.path, &profile, workload, &interrupt, output);
        return assessed.map(|()| Outcome::Done);
    }
    if arguments.page.is_wanted() && !workload.is_cold_mean() {
        return Err(Failure::usage(
            "the page of --html shows expected times of cold lookups of any key",
            "remove --html, or --objective, --open and --lookups",
        ));
    }
    workload.refuse_one_pipe(&arguments.input.path)?;
    let lookups = workload.read_lookups()?;
    let fixed_bytes = arguments.block_size.map_or(Ok(COMPARED_BLOCK_BYTES), block_bytes)?;
    let mut names =
        [&COMPARED_DESIGNS[..], extend::compared()].concat().into_iter().map(str::to_owned).collect::<Vec<_>>();
    names.extend(arguments.designs.iter().cloned());
    let requests: Vec<DesignRequest> = names.iter().map(|name| name.parse()).collect::<Result<_, Error>>()?;

    arguments.input.refuse_table_but(
        "add --assess to see what a new search could gain, or write its records by `ogive export` and tune for those",
    )?;
    let page = arguments.page.claim(&[&arguments.input.path], arguments.force)?;
    let source = Source::prepare(&arguments.input, arguments.memory.0, &interrupt)?;
    let designs: Vec<(String, DesignRequest)> = names.into_iter().zip(requests).collect();
    let sample = arguments.input.quick_sample()?;
    let options = TableWriteOptions::default().profile(profile.clone()).tuning(|tuning| tuning.sample(sample));
    let options = workload.write_options(options);
    let data = Compared { options: &options, lookups, fixed_block_bytes: fixed_bytes };
    let (rows, unfit) = compare(&designs, &data, &interrupt, || source.open())?;
    if let Some(first) = rows.first() {
        workload.tell_of_strings(&first.report.key_type);
    }
    if let Some(page) = &page {
        let compared = Comparison {
            input: shown(&arguments.input.path).to_string(),
            profile: &profile,
            rows: rows.iter().map(|row| (row.name.as_str(), &row.report)).collect(),
            left_out: unfit.iter().map(|(name, reason)| (name.as_str(), reason.as_str())).collect(),
        };
        page_file::write(&compared.to_html(&page_file::command_line()), page)?;
    }
    if output.is_json() {
        output.json(&to_json(arguments, &profile, &rows, &unfit))?;
    } else {
        print(arguments, &profile, &rows, output)?;
        unfit.iter().for_each(|(_, reason)| note(format_args!("skipped: {reason}")));
    }
    Ok(Outcome::Done)
}

/// Builds every design over the same records and discards it. Also gives the designs that do not support the keys.
pub(crate) fn compare<'a>(
    designs: &[(String, DesignRequest)],
    Compared { options, lookups, fixed_block_bytes }: &Compared<'_>,
    interrupt: &Interrupt,
    open: impl Fn() -> Result<Box<dyn Input + 'a>>,
) -> Result<(Vec<Row>, Vec<UnsupportedDesign>)> {
    let compared = compare_designs(designs, options, *fixed_block_bytes, |name, options| {
        let target = Target {
            storage: Arc::new(DiscardStorage),
            name: name.to_owned(),
            options,
            memory_bytes: 0,
            lookups: lookups.clone(),
        };
        match pour(&mut *open()?, &target, false, &format!("building {name}"), interrupt) {
            Ok(TableReport { records: 0, .. }) => Err(nothing_to_tune()),
            Ok(report) => Ok(Ok(report)),
            // Some designs support only numbers.
            Err(Failure::Engine(error @ Error { cause: Cause::Input, .. })) => Ok(Err(error.detail().to_owned())),
            Err(failure) => Err(failure),
        }
    })?;
    let rows = compared.built.into_iter().map(|(name, report)| Row { name, report }).collect();
    Ok((rows, compared.left_out))
}

fn nothing_to_tune() -> Failure {
    Failure::refused("the input contains no records to tune an index for", "give a file with at least one record")
}

fn to_json(arguments: &TuneArguments, profile: &Profile, rows: &[Row], unfit: &[UnsupportedDesign]) -> Value {
    let designs: Vec<Value> = rows
        .iter()
        .map(|row| {
            let mut object = json!(row.report);
            object["design"] = json!(row.name);
            object["modelled_us"] = json!(row.report.modelled_us(profile));
            object["objective_us"] = json!(price_us(&row.report, &arguments.workload, profile));
            object
        })
        .collect();
    let left_out: Vec<Value> = unfit.iter().map(|(name, reason)| json!({ "design": name, "reason": reason })).collect();
    let mut object = json!({
        "input": arguments.input.path.display().to_string(),
        "profile": profile.name(),
        "records": rows.first().map(|row| row.report.records),
        "designs": designs,
        "left_out": left_out,
    });
    arguments.workload.add_to_json(&mut object);
    object
}

/// The time of a lookup that designs are compared by, in microseconds.
fn price_us(report: &TableReport, workload: &WorkloadOptions, profile: &Profile) -> f64 {
    let stated = report.objective.as_ref().filter(|_| !workload.is_cold_mean());
    stated.map_or_else(|| report.modelled_us(profile), |stated| stated.modelled_us)
}

fn print(arguments: &TuneArguments, profile: &Profile, rows: &[Row], output: &mut Output) -> Result<()> {
    let Some(first) = rows.first() else { return Ok(()) };
    output.line(format_args!(
        "{}: {}; {} on {}",
        arguments.input.path.display(),
        counted(first.report.records, "record"),
        arguments.workload.describe(),
        profile.name()
    ))?;
    output.line("")?;
    let profiles = std::slice::from_ref(profile);
    let price = |report: &TableReport, profile: &Profile| price_us(report, &arguments.workload, profile);
    output.line(design_table(profiles, rows.iter().map(|row| (row.name.as_str(), &row.report)), price))?;
    if !arguments.workload.is_cold() {
        output.line("reads: those of a cold lookup of any key, which opens the table")?;
    }
    output.line("")?;
    output.line("layers, root first:")?;
    for row in rows {
        output.line(format_args!("  {}: {}", row.name, layers_in_words(&row.report)))?;
    }
    Ok(())
}

/// A table of designs: cost on each storage, reads, sizes.
pub(crate) fn design_table<'a>(
    profiles: &[Profile],
    rows: impl Iterator<Item = (&'a str, &'a TableReport)>,
    price_us: impl Fn(&TableReport, &Profile) -> f64,
) -> String {
    let rows = rows.map(|(name, report)| {
        let prices = profiles.iter().map(|profile| human_us(price_us(report, profile)));
        let sizes = [
            report.reads_per_get.cold.to_string(),
            human_bytes(report.opening_bytes()),
            human_bytes(report.block_size_bytes),
            grouped(report.blocks),
            human_bytes(report.index_bytes),
            format!("{:.2}", index_bytes_a_block(report)),
        ];
        std::iter::once(name.to_owned()).chain(prices).chain(sizes).collect()
    });
    let prices = profiles.iter().map(|profile| format!("on {}", profile.name()));
    let sizes = ["reads", "first read", "block", "blocks", "index", "B per block"].map(str::to_owned);
    let headings: Vec<String> = std::iter::once("design".to_owned()).chain(prices).chain(sizes).collect();
    plain_table(&headings, rows)
}
