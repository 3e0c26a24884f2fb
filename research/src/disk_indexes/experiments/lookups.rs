//! Q1 of the slides: inner and leaf blocks of lookups and scans, of the structures and of their hybrids over B+-tree
//! leaves.

use crate::{ALEX, ALEX_BTREE, AULID, FITING, FITING_BTREE, LIPP, LIPP_BTREE, PGM, PGM_BTREE};
use anyhow::Result;
use ogive::index::IndexKind;

use crate::experiments::indexes::{
    GENERATED, LOOKUPS_A_SCAN, ProgramSubject, distinct, load_and_count, present, programs, subjects_beside_programs,
};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set, or_report};
use crate::output::Record;
use crate::workload::Operation;

pub(crate) const LOOKUPS: Experiment = Experiment {
    name: "disk/lookups",
    about: "inner and leaf blocks of lookups and scans, nothing resident (slides, Q1)",
    run: run_structures,
};

pub(crate) const HYBRIDS: Experiment = Experiment {
    name: "disk/hybrids",
    about: "the same for learned inner nodes over B+-tree leaves (slides, Q1)",
    run: run_hybrids,
};

pub(crate) const BLOCK_SIZE: Experiment = Experiment {
    name: "disk/block-size",
    about: "the same for blocks of 1 to 16 KiB (slides, Q3)",
    run: run_block_sizes,
};

const STRUCTURES: [IndexKind; 7] = [IndexKind::BTREE, FITING, PGM, ALEX, LIPP, AULID, IndexKind::OGIVE];
const OVER_LEAVES: [IndexKind; 7] =
    [IndexKind::BTREE, FITING_BTREE, PGM_BTREE, ALEX_BTREE, LIPP_BTREE, AULID, IndexKind::OGIVE];
const BLOCK_BYTES: [usize; 5] = [1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10];
const COUNT: usize = 100_000;

fn run_structures(context: &Context, output: &mut Output<'_>) -> Result<()> {
    each(context, LOOKUPS.name, &STRUCTURES, &[4 << 10], output)
}

fn run_hybrids(context: &Context, output: &mut Output<'_>) -> Result<()> {
    each(context, HYBRIDS.name, &OVER_LEAVES, &[4 << 10], output)
}

fn run_block_sizes(context: &Context, output: &mut Output<'_>) -> Result<()> {
    each(context, BLOCK_SIZE.name, &IndexKind::all(), &BLOCK_BYTES, output)
}

fn each(
    context: &Context,
    experiment: &str,
    kinds: &[IndexKind],
    blocks_bytes: &[usize],
    output: &mut Output<'_>,
) -> Result<()> {
    let (subjects, programs) = (subjects_beside_programs(context, kinds)?, programs(context));
    each_set(context, experiment, &GENERATED, output, |spec, output| {
        let set = context.open(spec, context.seed)?;
        let keys = distinct(&set)?;
        let asked = present(&keys, context.lookups.unwrap_or(COUNT), context.seed);
        let progress = Progress::new((subjects.len() + programs.len()) * blocks_bytes.len())?;
        let record = |structure: &str, block_bytes: usize| {
            let record = Record::new(experiment).keys(set.name());
            record.figure("structure", structure).figure("block_bytes", block_bytes as u64)
        };
        for &block_bytes in blocks_bytes {
            for subject in &subjects {
                progress.on(format!("{} of {}, blocks of {block_bytes} bytes", subject.name, set.name()));
                let record = record(&subject.name, block_bytes);
                or_report(output, record.clone(), |output| {
                    output.report(load_and_count(subject, block_bytes, &keys, &asked)?.fill(record))?;
                    Ok(())
                })?;
                progress.step();
            }
            for program in &programs {
                progress.on(format!("{} of {}, blocks of {block_bytes} bytes", program.name(), set.name()));
                let record = record(&program.name(), block_bytes);
                or_report(output, record.clone(), |output| {
                    output.report(ask_program(program, block_bytes, &keys, &asked, record)?)?;
                    Ok(())
                })?;
                progress.step();
            }
        }
        Ok(())
    })
}

/// Blocks as the program counts them, which does not say which of them are leaves, and times of the lookups.
fn ask_program(
    program: &ProgramSubject,
    block_bytes: usize,
    keys: &[u64],
    asked: &[u64],
    record: Record,
) -> Result<Record> {
    let mut program = program.load(block_bytes, keys, keys.iter().copied().map(Ok))?;
    program.look_up_absent(keys)?;
    let gets = program.drive(keys, asked.iter().map(|&key| Operation::Get(key)))?;
    let scanned = &asked[..asked.len().div_ceil(LOOKUPS_A_SCAN)];
    let scans = if program.scans() {
        program.drive(keys, scanned.iter().map(|&key| Operation::Scan(key)))?.blocks_read()
    } else {
        None
    };
    let counts = [("blocks_per_get", gets.blocks_read()), ("blocks_per_scan100", scans)];
    let record = counts.into_iter().fold(record, |record, (name, count)| match count {
        Some(count) => record.figure(name, count),
        None => record,
    });
    Ok(gets.fill(record))
}
