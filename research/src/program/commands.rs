//! The sub-commands of `ogive-research`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use indicatif::{ProgressBar, ProgressStyle};

use super::arguments::{
    Command, DrawArguments, FetchArguments, KeysArguments, KeysCommand, PageArguments, RunArguments,
};
use super::bench::BenchCommand;
use super::papers;
use crate::experiments::{Context, DEFAULT_COUNT, Experiment, experiments};
use crate::keys::{KeySet, RealKeys, fetch, generators, open, real_keys, summarise, write_sosd};
use crate::output::{Record, Reporter, machine};
use crate::pages::{self, Run};
use crate::paper;
use ogive_terminal::did_you_mean;

/// Narrower terminals, and those that do not know their size, count as none.
const WIDTH_MIN: usize = 40;

pub(super) fn run(bench: &BenchCommand, command: &Command, json: bool, out: &mut dyn Write) -> Result<()> {
    match command {
        Command::List => list(&mut reporter(out, json)),
        Command::Keys(keys) => print_keys(keys, json, out),
        Command::Run(run) => run_experiments(bench, run, &mut reporter(out, json).keep(run.html.is_some())),
        Command::Paper(arguments) => papers::run(bench, arguments, &mut reporter(out, json)),
        Command::Page(page) => write_page(bench, page),
        Command::Draw(draw) => write_picture(draw),
        Command::Stores { command } => bench.stores().run(command, json, out),
    }
}

/// A reporter whose tables are as wide as the terminal.
fn reporter(out: &mut dyn Write, json: bool) -> Reporter<&mut dyn Write> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    Reporter::new(out, json).width(size.map(|size| usize::from(size.ws_col)).filter(|width| *width >= WIDTH_MIN))
}

fn list(out: &mut Reporter<&mut dyn Write>) -> Result<()> {
    for generator in generators() {
        let mut options = String::new();
        for (name, default) in generator.options {
            options += &format!(":{name}={default}");
        }
        let record = Record::new("key sets").figure("name", format!("{}{options}", generator.name));
        out.report(record.figure("about", generator.about).figure("distinct", generator.distinct))?;
    }
    for set in real_keys() {
        out.report(described(set))?;
    }
    for experiment in experiments() {
        let record = Record::new("experiments").figure("name", experiment.name);
        out.report(record.figure("about", experiment.about))?;
    }
    for paper in paper::papers() {
        let record = Record::new("papers").figure("name", paper.name);
        out.report(record.figure("about", paper.citation))?;
    }
    Ok(out.flush()?)
}

fn print_keys(arguments: &KeysArguments, json: bool, out: &mut dyn Write) -> Result<()> {
    if let Some(KeysCommand::Fetch(fetch)) = &arguments.command {
        return fetch_keys(fetch, json, out);
    }
    // The parser requires one.
    let set = open(arguments.spec.as_deref().unwrap_or_default())?;
    if let Some(path) = &arguments.output {
        write_file(&set, path, arguments.force)?;
    }
    if arguments.stats {
        let mut reporter = reporter(out, json);
        reporter.report(describe(&set)?)?;
        return Ok(reporter.flush()?);
    }
    if arguments.output.is_none() {
        print_all(&set, json, out)?;
    }
    Ok(())
}

/// Fetches a real key set, and reports its file.
fn fetch_keys(arguments: &FetchArguments, json: bool, out: &mut dyn Write) -> Result<()> {
    let name = arguments.name.as_str();
    let Some(set) = real_keys().iter().find(|set| set.name == name) else {
        let suggestion = did_you_mean(name, real_keys().iter().map(|set| set.name));
        let suggestion = suggestion.map_or_else(String::new, |suggestion| format!("{suggestion} "));
        bail!("no real key set {name:?} can be fetched; {suggestion}`ogive-research list` names those that can");
    };
    let path =
        fetch(set, arguments.from.as_deref(), &arguments.folder, arguments.force, &mut |url| eprintln!("{url}"))?;
    let mut reporter = reporter(out, json);
    let fetched = described(set).figure("path", path.display().to_string());
    reporter.report(fetched)?;
    Ok(reporter.flush()?)
}

fn described(set: &RealKeys) -> Record {
    let record = Record::new("real key sets").figure("name", set.name).figure("about", set.about);
    record.figure("count", set.count).figure("licence", set.licence).figure("file", set.file)
}

fn write_file(set: &KeySet, path: &Path, replace: bool) -> Result<()> {
    let style = ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} keys, {eta} left")?;
    let bar = ProgressBar::new(set.len()).with_style(style);
    write_sosd(set, path, replace, &mut |written| bar.set_position(written))?;
    bar.finish_and_clear();
    Ok(())
}

fn print_all(set: &KeySet, json: bool, out: &mut dyn Write) -> Result<()> {
    if set.is_text() {
        for line in set.lines()? {
            let line = line?;
            if json {
                serde_json::to_writer(&mut *out, &String::from_utf8_lossy(&line))?;
            } else {
                out.write_all(&line)?;
            }
            out.write_all(b"\n")?;
        }
        return Ok(());
    }
    for key in set.stream()? {
        writeln!(out, "{}", key?)?;
    }
    Ok(())
}

fn describe(set: &KeySet) -> Result<Record> {
    let shown = |line: Vec<u8>| String::from_utf8_lossy(&line).into_owned();
    let record = Record::new("keys").keys(set.name());
    let add = |record: Record, count: u64, distinct: u64, longest: u64| {
        record.figure("count", count).figure("distinct", distinct).figure("longest_repeat", longest)
    };
    if set.is_text() {
        let summary = summarise(set.lines()?)?;
        let record = add(record, summary.count, summary.distinct, summary.longest_repeat);
        return Ok(summary
            .ends
            .into_iter()
            .fold(record, |record, (min, max)| record.figure("min_key", shown(min)).figure("max_key", shown(max))));
    }
    let summary = summarise(set.stream()?)?;
    let record = add(record, summary.count, summary.distinct, summary.longest_repeat);
    Ok(summary.ends.into_iter().fold(record, |record, (min, max)| record.figure("min_key", min).figure("max_key", max)))
}

fn run_experiments(bench: &BenchCommand, arguments: &RunArguments, out: &mut Reporter<&mut dyn Write>) -> Result<()> {
    let wanted = |experiment: &&Experiment| {
        experiment.name == arguments.experiment
            || arguments.experiment.ends_with('/') && experiment.name.starts_with(&arguments.experiment)
    };
    let chosen: Vec<&Experiment> = experiments().iter().filter(wanted).collect();
    if chosen.is_empty() {
        let suggestion = did_you_mean(&arguments.experiment, experiments().iter().map(|experiment| experiment.name));
        let suggestion = suggestion.map_or_else(String::new, |suggestion| format!("{suggestion} "));
        bail!("no experiment {:?}; {suggestion}`ogive-research list` names them", arguments.experiment);
    }
    let context = Context {
        key_sets: arguments.keys.clone(),
        count: arguments.number.unwrap_or(DEFAULT_COUNT),
        asked_count: arguments.number,
        seed: arguments.seed,
        seeds: arguments.seeds,
        profiles: arguments.profiles.clone(),
        designs: arguments.designs.clone(),
        structures: arguments.structures.clone(),
        program_timeout_s: arguments.program_timeout,
        resident: arguments.resident.clone(),
        phases: arguments.phases.clone(),
        workloads: arguments.workloads.clone(),
        requests: arguments.requests.clone(),
        lookups: arguments.lookups.map(|lookups| usize::try_from(lookups).unwrap_or(usize::MAX)),
        payload_bytes: arguments.payload,
        learning: arguments.learning.clone(),
        write_percents: arguments.writes.clone(),
        methods: arguments.methods.clone(),
        ratios: arguments.ratios.clone(),
        memory_limits: arguments.memory_limits.clone(),
        inline_values: arguments.inline,
        exact: arguments.exact,
        device: arguments.device.clone(),
        modelled_only: arguments.modelled_only,
        full: arguments.full,
        memory: bench.gauge(),
    };
    // Known before the experiments, which may take hours.
    let mut page = arguments.html.as_deref().map(|path| create(path, arguments.force)).transpose()?;
    out.report(machine(arguments.device.as_deref().unwrap_or(Path::new("."))).figure("command", bench.command_line()))?;
    let (mut empty, mut failed, mut failures) = (Vec::new(), Vec::new(), 0);
    for experiment in chosen {
        let (records, errors) = out.counts();
        experiment.measure(&context, out)?;
        out.flush()?;
        let (records, errors) = (out.counts().0 - records, out.counts().1 - errors);
        empty.extend((records == 0).then_some(experiment.name));
        failed.extend((errors > 0 && errors == records).then_some(experiment.name));
        failures += errors;
    }
    if let Some(page) = &mut page {
        let run = Run::of_records(out.kept())?;
        page.write_all(pages::page(&[run], &bench.command_line()).as_bytes())?;
    }
    // The failure of some subjects is a result; that of all leaves none.
    ensure!(failed.is_empty(), "nothing was measured of {}; the records say why", failed.join(", "));
    let hint =
        if context.modelled_only { "leave --modelled-only out, to measure this device" } else { "see its options" };
    ensure!(empty.is_empty(), "nothing was measured of {}; {hint}", empty.join(", "));
    if failures > 0 {
        eprintln!("{failures} measurements failed; the records say why");
    }
    Ok(())
}

fn write_page(bench: &BenchCommand, arguments: &PageArguments) -> Result<()> {
    let html = pages::page(&Run::read_all(&arguments.runs)?, &bench.command_line());
    Ok(create(&arguments.output, arguments.force)?.write_all(html.as_bytes())?)
}

fn write_picture(arguments: &DrawArguments) -> Result<()> {
    let svg = pages::picture(&Run::read_all(&arguments.runs)?, &arguments.picture)?;
    Ok(create(&arguments.output, arguments.force)?.write_all(svg.as_bytes())?)
}

pub(super) fn create(path: &Path, replace: bool) -> Result<File> {
    let mut options = OpenOptions::new();
    let options = if replace { options.create(true).truncate(true) } else { options.create_new(true) };
    let hint = if replace { "" } else { "; replace it with --force" };
    options.write(true).open(path).with_context(|| format!("cannot create {}{hint}", path.display()))
}
