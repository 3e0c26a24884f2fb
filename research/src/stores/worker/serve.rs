//! The loop of a worker.

use std::io::{self, BufRead, Write};

use anyhow::Result;

use super::state::State;
use crate::error::with_causes;
use crate::stores::protocol::{Answer, Job, JobOutcome};
use crate::stores::resources::{Timed, drop_from_page_cache};
use crate::stores::systems::Systems;

/// Serves jobs until standard input ends.
pub(in crate::stores) fn serve(setup: &str, systems: &Systems, out: &mut dyn Write) -> Result<()> {
    let mut state = State::new(serde_json::from_str(setup)?, systems)?;
    for line in io::stdin().lock().lines() {
        let job: Job = serde_json::from_str(&line?)?;
        let answer: Answer = perform(&mut state, &job).map_err(|error| with_causes(&error));
        serde_json::to_writer(&mut *out, &answer)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}

fn perform(state: &mut State, job: &Job) -> Result<JobOutcome> {
    let timed = match job {
        Job::Open { folder, memory_bytes, synced, direct } => state.open(folder, *memory_bytes, *synced, *direct)?,
        Job::Close => state.close(),
        Job::Load { order } => state.load(*order)?,
        Job::LoadOneByOne { order, threads, commits } => state.load_one_by_one(*order, *threads, *commits)?,
        Job::Compact => state.compact()?,
        Job::Warm => state.warm()?,
        Job::Gets { present, requests, count, seed } => state.gets(*present, requests, *count, *seed)?,
        Job::Scans { entries, requests, count, seed } => state.scans(*entries, requests, *count, *seed)?,
        Job::Overwrites { requests, count, seed } => state.overwrites(requests, *count, *seed)?,
        Job::Mix { mix, requests, count, seed } => state.mix(mix, requests, *count, *seed)?,
        Job::Check { count, seed } => state.check(*count, *seed)?,
        Job::Drop { folder } => {
            drop_from_page_cache(folder)?;
            Timed::default()
        }
    };
    Ok(JobOutcome {
        operations: timed.operations,
        elapsed_ns: timed.elapsed_ns,
        processor_ns: timed.processor_ns,
        disk_bytes: state.disk_bytes()?,
        memory_bytes: state.memory_bytes(),
        read_bytes: timed.read_bytes,
        written_bytes: timed.written_bytes,
    })
}
