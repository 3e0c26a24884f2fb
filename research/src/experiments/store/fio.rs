//! The yardstick for reads: `fio` on the same file, if it is installed.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// A pattern of reads, all direct.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadPattern {
    pub(super) is_random: bool,
    pub(super) read_bytes: usize,
    pub(super) in_flight: usize,
}

/// Speed and processor time of reads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadRate {
    pub(super) reads_per_s: f64,
    pub(super) processor_us_per_read: f64,
}

/// Threads reading one after the other, one each: the same engine as the reader threads of a storage.
pub(super) const THREADS: &str = "psync";
/// The kernel's queue, for sequential reads: several threads would each read a file of their own.
pub(super) const QUEUE: &str = "libaio";

/// Runs `fio` for some seconds; `None` if it is not installed.
pub(super) fn run_fio(file: &Path, pattern: ReadPattern, engine: &str, seconds: f64) -> Result<Option<ReadRate>> {
    let ReadPattern { is_random, read_bytes, in_flight } = pattern;
    let (jobs, depth) = if engine == THREADS { (in_flight, 1) } else { (1, in_flight) };
    let mut command = Command::new("fio");
    command.args(["--name=reads", "--direct=1", "--thread", "--group_reporting", "--time_based"]);
    command.args(["--output-format=json", "--randrepeat=0", "--norandommap"]);
    command.arg(format!("--filename={}", file.display()));
    command.arg(format!("--rw={}", if is_random { "randread" } else { "read" }));
    command.args([format!("--bs={read_bytes}"), format!("--ioengine={engine}"), format!("--runtime={seconds}")]);
    command.args([format!("--numjobs={jobs}"), format!("--iodepth={depth}")]);
    let answer = match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        answer => answer.context("fio cannot be started")?,
    };
    ensure!(answer.status.success(), "fio failed: {}", String::from_utf8_lossy(&answer.stderr));
    let report: Value = serde_json::from_slice(&answer.stdout).context("fio printed no report")?;
    let job = &report["jobs"][0];
    let number = |value: &Value| value.as_f64().context("the report of fio lacks a figure");
    let (reads_per_s, reads) = (number(&job["read"]["iops"])?, number(&job["read"]["total_ios"])?);
    // Percentages of the running time of one thread, averaged over all.
    let busy = (number(&job["usr_cpu"])? + number(&job["sys_cpu"])?) / 100.0 * jobs as f64;
    let processor_us = busy * number(&job["read"]["runtime"])? * 1e3;
    Ok(Some(ReadRate { reads_per_s, processor_us_per_read: processor_us / reads.max(1.0) }))
}
