//! Q2 of the slides: file size after a bulk load and after doubling by inserts, compared with the B+-tree.

use std::sync::Arc;

use anyhow::Result;
use ogive::index::IndexKind;
use ogive::io::MemoryStorage;

use crate::experiments::indexes::{
    GENERATED, IndexStore, IndexSubject, LOAD_MEMORY_BYTES, distinct, growing, pages, subjects,
};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, each_set, or_report};
use crate::output::Record;
use crate::workload::{Mix, Population, Requests};

pub(crate) const STORAGE: Experiment = Experiment {
    name: "disk/storage",
    about: "file size after a bulk load and after random inserts, over the B+-tree's (slides, Q2; AULID, Figure 9)",
    run,
};

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let subjects = subjects(context, &IndexKind::all())?;
    each_set(context, STORAGE.name, &GENERATED, output, |spec, output| {
        let set = growing(context, spec)?;
        let population = Mix::WriteOnly.population(distinct(&set)?, context.seed);
        let progress = Progress::new(subjects.len())?;
        let record = |subject: &IndexSubject| {
            Record::new(STORAGE.name).keys(set.name()).figure("structure", subject.name.as_str())
        };
        let mut all = Vec::new();
        for subject in &subjects {
            progress.on(format!("{} of {}", subject.name, set.name()));
            let sizes = or_report(output, record(subject), |_| sizes(context, subject, &population))?;
            all.extend(sizes.map(|sizes| (subject, sizes)));
            progress.step();
        }
        let btree = all.iter().find(|(subject, _)| subject.options.kind == IndexKind::BTREE).map(|(_, sizes)| *sizes);
        for (subject, (bulk, grown)) in &all {
            let mut row = record(subject).figure("bulk_file_bytes", *bulk).figure("grown_file_bytes", *grown);
            if let Some((btree_bulk, btree_grown)) = btree {
                row = row
                    .figure("bulk_ratio_to_btree", *bulk as f64 / btree_bulk as f64)
                    .figure("grown_ratio_to_btree", *grown as f64 / btree_grown as f64);
            }
            output.report(row)?;
        }
        Ok(())
    })
}

/// Bytes of the file after the load, and after all inserts.
fn sizes(context: &Context, subject: &IndexSubject, population: &Population) -> Result<(u64, u64)> {
    let mut options = subject.options.clone();
    options.pages = pages(options.pages.page_bytes, LOAD_MEMORY_BYTES);
    let keys = population.loaded().iter().copied().map(Ok);
    let (store, _) = IndexStore::load(Arc::new(MemoryStorage::new()), &options, &[], keys)?;
    let bulk = store.file_bytes()?;
    let most = context.lookups.unwrap_or(usize::MAX);
    store.drive(Mix::WriteOnly.operations(population, &Requests::Uniform, most, context.seed)?, |_| {})?;
    Ok((bulk, store.file_bytes()?))
}
