//! DuckDB in a Python process that takes one query a line, so that its runs alternate with ours.

use super::subject::Taken;
use crate::error::{failed, file};
use crate::json::quoted;
use datafusion::error::Result;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The program that runs queries.
const PROGRAM: &str = include_str!("../../duckdb_server.py");
/// Separates the answers of queries, and their rows.
const ANSWER_END: char = '\u{1d}';
const ROW_END: char = '\u{1e}';

/// A running DuckDB.
pub(super) struct DuckDb {
    process: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
    pub(super) version: String,
}

impl DuckDb {
    /// Starts DuckDB over the Parquet files of a folder, and loads them into a file of its own unless it is there.
    pub(super) fn start(python: &Path, folder: &Path, threads: usize, tables: &[String]) -> Result<Self> {
        let mut process = Command::new(python)
            .arg("-c")
            .arg(PROGRAM)
            .arg(folder)
            .arg(threads.to_string())
            .args(tables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(file("start", python))?;
        let (Some(requests), Some(replies)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(failed("DuckDB has no pipes"));
        };
        let mut duckdb = Self { process, requests, replies: BufReader::new(replies), version: String::new() };
        duckdb.version = duckdb.reply()?;
        Ok(duckdb)
    }

    fn reply(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.replies.read_line(&mut line)? == 0 {
            return Err(failed("DuckDB has ended; its error is above (does this Python have the package duckdb?)"));
        }
        Ok(line.trim_end_matches('\n').to_owned())
    }

    /// Runs queries on its own file (`native`) or on the Parquet files (`parquet`).
    pub(super) fn run(
        &mut self,
        engine: &str,
        memory_bytes: Option<usize>,
        queries: &[String],
        with_answers: bool,
    ) -> Result<Taken> {
        let queries: Vec<String> = queries.iter().map(|query| quoted(query)).collect();
        let memory = memory_bytes.map_or_else(|| "null".to_owned(), |bytes| bytes.to_string());
        writeln!(
            self.requests,
            "{{\"engine\":{},\"memory\":{memory},\"answers\":{with_answers},\"queries\":[{}]}}",
            quoted(engine),
            queries.join(",")
        )?;
        self.requests.flush()?;
        let reply = self.reply()?;
        let fields: Vec<&str> = reply.split('\t').collect();
        let ["ok", seconds, peak, answers] = fields[..] else { return Err(failed(reply.replace('\t', ": "))) };
        let seconds: f64 = seconds.parse().map_err(|_| failed(format!("DuckDB took {seconds:?} seconds")))?;
        let rows = |answer: &str| {
            let mut rows: Vec<String> = answer.split_terminator(ROW_END).map(str::to_owned).collect();
            rows.sort_unstable();
            rows
        };
        Ok(Taken {
            time: Duration::from_secs_f64(seconds),
            peak_rss_bytes: peak.parse().ok(),
            answers: if with_answers { answers.split(ANSWER_END).map(rows).collect() } else { Vec::new() },
            ..Taken::default()
        })
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
