//! The sub-command `paper`.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use ogive::index::IndexKind;

use super::arguments::{PaperArguments, PaperCommand};
use super::bench::BenchCommand;
use crate::experiments::is_program;
use crate::output::{Record, Reporter};
use crate::pages::Run;
use crate::paper::{
    self, Differences, Paper, PaperOptions, PaperResults, Scale, Step, TIMING_TOLERANCE, diff, html, markdown, named,
    papers,
};

use crate::Error;
use ogive_terminal::did_you_mean;

type Printer<'a> = Reporter<&'a mut dyn Write>;

/// The name that stands for all papers.
const ALL: &str = "all";

pub(super) fn run(bench: &BenchCommand, arguments: &PaperArguments, out: &mut Printer<'_>) -> Result<()> {
    match &arguments.command {
        Some(PaperCommand::List) => list(out),
        Some(PaperCommand::Diff { first, second }) => compare(first, second, out),
        None => run_all(bench, arguments, out),
    }
}

fn list(out: &mut Printer<'_>) -> Result<()> {
    for paper in papers() {
        for item in paper.items {
            let steps: Vec<&str> = item.steps.iter().map(|step| step.experiment).collect();
            let record = Record::new(format!("paper {}", paper.name)).figure("place", item.place);
            let record = record.figure("shows", item.shows);
            let claims = item.claims.len() as u64;
            out.report(record.figure("claims", claims).figure("run", steps.join(", ")))?;
        }
        out.flush()?;
    }
    Ok(())
}

fn run_all(bench: &BenchCommand, arguments: &PaperArguments, out: &mut Printer<'_>) -> Result<()> {
    let mut chosen: Vec<&'static Paper> = Vec::new();
    for name in &arguments.papers {
        if name == ALL { chosen.extend(papers()) } else { chosen.push(named(name)?) }
    }
    check_steps(&arguments.only, &chosen)?;
    check_structures(arguments, &chosen)?;
    let options = PaperOptions {
        folder: arguments.folder.clone(),
        scale: arguments.scale,
        resume: arguments.resume,
        only: arguments.only.clone(),
        structures: arguments.structures.clone(),
        keys_folder: arguments.keys_folder.clone(),
        device: arguments.device.clone(),
        memory: bench.gauge(),
    };
    if arguments.scale != Scale::Small {
        eprintln!("an interrupted run loses its current step only; --resume goes on with it");
    }
    let (mut failed, mut subjects) = (0, 0);
    // Of all papers, a choice of steps is of some.
    chosen.retain(|paper| paper.steps().iter().any(|step| step.is_among(&arguments.only)));
    for paper in chosen {
        let results = paper::run(paper, &options, &mut |line| eprintln!("{line}"))?;
        let folder = options.folder.join(paper.name);
        write_pages(&results, &folder, &bench.command_line())?;
        report(&results, out)?;
        eprintln!("{}: {}", paper.title, folder.join(PAGE_HTML).display());
        failed += results.failed();
        subjects += results.failures();
    }
    if failed > 0 {
        bail!("{failed} steps failed; the pages say why, and --resume runs them again");
    }
    if subjects > 0 && !arguments.structures.is_empty() {
        bail!("{subjects} subjects failed; the pages say why, below the commands of their steps");
    }
    Ok(())
}

/// Fails if an experiment is no step of these papers.
fn check_steps(only: &[String], papers: &[&'static Paper]) -> Result<()> {
    let known: Vec<&str> = papers.iter().flat_map(|paper| paper.steps()).map(|step| step.experiment).collect();
    let Some(name) = only.iter().find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
    let hint = did_you_mean(name, known.iter().copied());
    let hint = hint.unwrap_or_else(|| "`ogive-research paper list` names them".to_owned());
    Err(Error::Step { name: name.clone(), hint }.into())
}

/// Fails if a structure is unknown, before each step fails of it, or if no chosen step takes it.
fn check_structures(arguments: &PaperArguments, papers: &[&'static Paper]) -> Result<()> {
    let all: Vec<&Step> = papers.iter().flat_map(|paper| paper.steps()).collect();
    for name in &arguments.structures {
        if !is_program(name) {
            name.parse::<IndexKind>().map_err(|error| anyhow!(error))?;
        }
        let takes = |step: &&Step| step.takes(name, arguments.scale);
        if !all.iter().copied().filter(|step| step.is_among(&arguments.only)).any(|step| takes(&step)) {
            let mut others: Vec<&str> = all.iter().copied().filter(takes).map(|step| step.experiment).collect();
            others.sort_unstable();
            others.dedup();
            let hint = match others.is_empty() {
                true => "papers aulid and disk-indexes have steps that do".to_owned(),
                false => format!("these do: {}", others.join(", ")),
            };
            bail!("no chosen step measures {name}; {hint}");
        }
    }
    Ok(())
}

const PAGE_HTML: &str = "page.html";
const PAGE_MARKDOWN: &str = "page.md";

fn write_pages(results: &PaperResults, folder: &Path, command: &str) -> Result<()> {
    write_whole(&folder.join(PAGE_MARKDOWN), &markdown(results, command))?;
    write_whole(&folder.join(PAGE_HTML), &html(results, command))
}

/// Writes a file, which gets its name once it is whole.
fn write_whole(path: &Path, text: &str) -> Result<()> {
    let part = path.with_extension("part");
    let written = fs::write(&part, text).and_then(|()| fs::rename(&part, path));
    written.with_context(|| format!("cannot write {}; make room, and go on with --resume", path.display()))
}

/// Prints the verdicts.
fn report(results: &PaperResults, out: &mut Printer<'_>) -> Result<()> {
    for judged in results.judged() {
        let record = Record::new(format!("paper {}", results.paper.name)).figure("place", judged.item.place);
        let record = record.figure("verdict", judged.verdict.with_reason()).figure("ours", judged.verdict.ours());
        out.report(record.figure("claim", judged.says()))?;
    }
    Ok(out.flush()?)
}

fn compare(first: &Path, second: &Path, out: &mut Printer<'_>) -> Result<()> {
    let Differences { figures, too_short, of_one_side, found } = diff(&Run::read_all(first)?, &Run::read_all(second)?);
    for experiment in &of_one_side {
        out.report(
            Record::new("not compared").figure("subject", experiment.as_str()).figure("records", "of one side"),
        )?;
    }
    for difference in &found {
        out.report(
            Record::new("differences")
                .figure("subject", difference.subject.as_str())
                .figure("field", difference.field.as_str())
                .figure("first", difference.first.as_str())
                .figure("second", difference.second.as_str())
                .figure("reason", difference.reason.as_str()),
        )?;
    }
    out.report(
        Record::new("compared")
            .figure("figures", figures as u64)
            .figure("differences", found.len() as u64)
            .figure("too_short_to_time", too_short as u64)
            .figure("timing_tolerance", TIMING_TOLERANCE),
    )?;
    out.flush()?;
    if figures == 0 && too_short == 0 && found.is_empty() {
        bail!("nothing to compare: no experiment is in both {} and {}", first.display(), second.display());
    }
    if !found.is_empty() {
        let lacking = found.iter().filter(|difference| difference.is_of_one_side()).count();
        let why = match lacking {
            0 => String::new(),
            _ => format!(", {lacking} of them records that one side lacks, as of other scales, options or key sets"),
        };
        let differences = if found.len() == 1 { "difference" } else { "differences" };
        bail!("{} {differences} beside {figures} compared figures{why}", found.len());
    }
    Ok(())
}
