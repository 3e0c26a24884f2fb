//! Q5 of the slides: blocks and throughput by buffer size, and with all inner nodes in memory.

use anyhow::Result;
use ogive::index::IndexKind;
use ogive::io::Profile;

use crate::experiments::indexes::{IndexSubject, IndexWorkload, each_population, pages, run_in_memory, subjects};
use crate::experiments::progress::Progress;
use crate::experiments::{Context, Experiment, Output, or_report};
use crate::output::Record;
use crate::workload::{Mix, Population};

pub(crate) const BUFFER: Experiment = Experiment {
    name: "disk/buffer",
    about: "blocks read and modelled throughput of W1, W3 and W5 by buffer size (slides, Q5)",
    run,
};

const PROFILES: [&str; 1] = ["nvme"];
const MIXES: [Mix; 3] = [Mix::LookupOnly, Mix::WriteOnly, Mix::Balanced];
/// Sizes of the buffer in pages, including 0; the largest holds the inner nodes of any structure over leaves.
const BUFFER_PAGES: [u64; 5] = [0, 16, 128, 1_024, 8_192];
const OPERATIONS: usize = 100_000;

fn run(context: &Context, output: &mut Output<'_>) -> Result<()> {
    let subjects = subjects(context, &IndexKind::all())?;
    let profiles = context.profiles_or(&PROFILES)?;
    each_population(context, BUFFER.name, &MIXES, output, |(set, mix, population), output| {
        let progress = Progress::new(subjects.len() * BUFFER_PAGES.len())?;
        for buffer_pages in BUFFER_PAGES {
            for subject in &subjects {
                progress.on(format!("{} of {}, {mix}, {buffer_pages} pages", subject.name, set.name()));
                let case = BufferCase { context, population, mix, profiles: &profiles, buffer_pages };
                let record = case.record(set.name(), subject);
                or_report(output, record.clone(), |output| case.measure(subject, &record, output))?;
                progress.step();
            }
        }
        Ok(())
    })
}

struct BufferCase<'a> {
    context: &'a Context,
    population: &'a Population,
    mix: Mix,
    profiles: &'a [Profile],
    buffer_pages: u64,
}

impl BufferCase<'_> {
    fn buffer_bytes(&self, subject: &IndexSubject) -> u64 {
        self.buffer_pages * subject.options.pages.page_bytes as u64
    }

    fn record(&self, set: &str, subject: &IndexSubject) -> Record {
        Record::new(BUFFER.name)
            .keys(set)
            .figure("workload", self.mix.name())
            .figure("structure", subject.name.as_str())
            .figure("buffer_bytes", self.buffer_bytes(subject))
    }

    fn measure(&self, subject: &IndexSubject, record: &Record, output: &mut Output<'_>) -> Result<()> {
        let plan = IndexWorkload::uniform(self.context, subject, self.population, self.mix, self.profiles, OPERATIONS);
        let memory = pages(subject.options.pages.page_bytes, self.buffer_bytes(subject));
        let outcome = run_in_memory(&IndexWorkload { memory, ..plan })?;
        for (place, profile) in self.profiles.iter().enumerate() {
            let row = record
                .clone()
                .profile(profile.name())
                .figure("inner_blocks_read_per_operation", outcome.per_operation(outcome.inner_blocks as f64))
                .figure("blocks_read_per_operation", outcome.blocks_per_operation())
                .figure("modelled_ops_per_s", outcome.modelled_ops_per_s(place));
            output.report(row)?;
        }
        Ok(())
    }
}
