//! Tables 3 and 4, and slots against bytes: AULID with parts switched on and off, after a bulk load.

use crate::AulidOptions;
use anyhow::Result;
use ogive::index::IndexKind;

use crate::experiments::indexes::{GENERATED, IndexSubject, Loaded, distinct, load_and_count, present};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set, or_report};
use crate::output::Record;

pub(crate) const READ_OPTIMISATIONS: Experiment = Experiment {
    name: "aulid/read-optimisations",
    about: "blocks in excess of the nodes of the path, with and without ScanForward and Fulfill (AULID, Table 3)",
    run: run_read_optimisations,
};

pub(crate) const ABLATION: Experiment = Experiment {
    name: "aulid/ablation",
    about: "mean height and file with and without packed arrays and two-layer nodes (AULID, Table 4)",
    run: run_ablation,
};

pub(crate) const SLOTS: Experiment =
    Experiment { name: "aulid/slots", about: "blocks and bytes by the number of slots per leaf", run: run_slots };

const LOOKUPS: usize = 100_000;
const SLOTS_PER_LEAF: [u8; 7] = [1, 2, 3, 4, 6, 8, 11];

fn run_read_optimisations(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let variant = |name: &str, scan_forward, fulfill| {
        IndexSubject::aulid(name, |options| (options.scan_forward, options.fulfill) = (scan_forward, fulfill))
    };
    let subjects = [
        variant("none", false, false),
        variant("fulfill", false, true),
        variant("scan-forward", true, false),
        variant("both", true, true),
    ];
    each(context, READ_OPTIMISATIONS.name, &subjects, output)
}

fn run_ablation(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let variant = |name: &str, packed_arrays, two_layer_nodes| {
        IndexSubject::aulid(name, |options| {
            (options.packed_arrays, options.two_layer_nodes) = (packed_arrays, two_layer_nodes);
        })
    };
    let subjects = [
        variant("aulid", true, true),
        variant("without packed arrays", false, true),
        variant("without two-layer nodes", true, false),
        variant("without both", false, false),
        IndexSubject::of(crate::LIPP_BTREE),
    ];
    each(context, ABLATION.name, &subjects, output)
}

fn run_slots(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let variant = |slots: u8| {
        IndexSubject::aulid(&format!("{slots} slots"), |options: &mut AulidOptions| {
            options.slots_per_leaf = Some(slots)
        })
    };
    let default = IndexSubject::aulid("authors' choice", |_| {});
    let mut subjects: Vec<IndexSubject> = SLOTS_PER_LEAF.into_iter().map(variant).collect();
    subjects.extend([default, IndexSubject::of(IndexKind::BTREE), IndexSubject::of(IndexKind::OGIVE)]);
    each(context, SLOTS.name, &subjects, output)
}

fn each(context: &Context, experiment: &str, subjects: &[IndexSubject], output: &mut Output<'_>) -> Result<()> {
    each_set(context, experiment, &GENERATED, output, |spec, output| {
        let set = context.open(spec, context.seed)?;
        let keys = distinct(&set)?;
        let asked = present(&keys, context.lookups.unwrap_or(LOOKUPS), context.seed);
        let progress = Progress::new(subjects.len())?;
        for subject in subjects {
            progress.on(format!("{} of {}", subject.name, set.name()));
            let record = Record::new(experiment).keys(set.name()).figure("structure", subject.name.as_str());
            or_report(output, record.clone(), |output| {
                let loaded = load_and_count(subject, subject.options.pages.page_bytes, &keys, &asked)?;
                output.report(filled(record, &loaded))?;
                Ok(())
            })?;
            progress.step();
        }
        Ok(())
    })
}

/// The counts, the blocks that are not nodes of the path, and the counts of this structure only.
fn filled(record: Record, loaded: &Loaded) -> Record {
    let extra = loaded.blocks_per_get() - loaded.statistics.mean_height;
    let record = loaded.fill(record).figure("extra_blocks_per_get", extra);
    loaded.statistics.details.iter().fold(record, |record, (name, count)| {
        record.figure(&format!("{}_count", name.replace([' ', '-'], "_")), *count)
    })
}
