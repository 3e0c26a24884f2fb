//! Arguments that schedulers and executors share.

use crate::allowed::Allowed;
use crate::error::PlanError;
use crate::storage_option::StorageOption;
use crate::tables::OpenTables;
use ballista_core::config::TaskSchedulingPolicy;
use clap::{Args, ValueEnum};
use ogive::TableOptions;
use ogive::table::TableCache;
use ogive_datafusion::OgiveOptions;
use std::io::Read;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;

/// What a process may open, and with how much memory; what it says.
#[derive(Clone, Debug, Args)]
pub struct SharedArguments {
    /// Prefix of paths and URLs that queries may open, such as /data or s3://bucket/tables; may be repeated [default:
    /// everything]
    #[arg(long, value_name = "PREFIX")]
    pub allow: Vec<String>,
    /// Option of the object stores behind URLs, such as region=eu-west-1; may be repeated; each process has its own
    #[arg(long = "storage-option", value_name = "KEY=VALUE")]
    pub storage_options: Vec<StorageOption>,
    /// Memory of the cached blocks of all open tables together
    #[arg(long, value_name = "BYTES", default_value = "512MiB", value_parser = parse_bytes)]
    pub block_cache: u64,
    /// Most memory of an open table beside cached blocks
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = parse_bytes)]
    pub table_memory: u64,
    /// Tables that stay open
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub open_tables: usize,
    /// Who starts a task: the scheduler (push-staged), or executors that ask for one (pull-staged); the same in all
    /// processes of a cluster
    #[arg(short = 's', long, value_enum, default_value_t = Policy::PushStaged)]
    pub task_scheduling_policy: Policy,
    /// Least level of messages on standard error
    #[arg(long, value_name = "LEVEL", default_value = "warn", value_parser = parse_level)]
    pub log_level: log::LevelFilter,
    /// End when standard input ends: the process does not outlive its parent.
    #[arg(long, hide = true)]
    pub until_stdin_ends: bool,
}

/// Who starts a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Policy {
    /// The scheduler connects to executors.
    PushStaged,
    /// Executors ask the scheduler.
    PullStaged,
}

impl From<Policy> for TaskSchedulingPolicy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::PushStaged => Self::PushStaged,
            Policy::PullStaged => Self::PullStaged,
        }
    }
}

impl SharedArguments {
    /// The tables that the process has open, none yet.
    ///
    /// # Errors
    /// [`PlanError::Prefix`].
    pub fn tables(&self) -> Result<Arc<OpenTables>, PlanError> {
        let table = TableOptions::default().memory_bytes(self.table_memory).cache(TableCache::new(self.block_cache));
        let options = OgiveOptions { table, ..OgiveOptions::default() };
        Ok(Arc::new(OpenTables::new(Allowed::of_arguments(&self.allow)?, options, self.open_tables)))
    }

    /// Sends messages to standard error, opens URLs as the arguments say, and ends the process with its parent, if it
    /// shall.
    pub(crate) fn begin_process(&self) {
        crate::logging::begin(self.log_level);
        StorageOption::register(&self.storage_options);
        if self.until_stdin_ends {
            std::thread::spawn(|| {
                _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
                std::process::exit(0);
            });
        }
    }
}

/// A port that can be listened on now: the port itself, or a free one for port 0.
pub(crate) fn free_port(host: IpAddr, port: u16) -> std::io::Result<u16> {
    Ok(TcpListener::bind(SocketAddr::new(host, port))?.local_addr()?.port())
}

/// The host by which others reach this one: what is given, or the address that it listens on, unless that is any.
pub(crate) fn external_host(given: Option<&String>, bind_host: IpAddr) -> Option<String> {
    given.cloned().or_else(|| (!bind_host.is_unspecified()).then(|| bind_host.to_string()))
}

fn parse_level(text: &str) -> Result<log::LevelFilter, String> {
    text.parse().map_err(|_| "give one of off, error, warn, info, debug, trace".to_owned())
}

/// A number of bytes, such as 4096, 512MiB or 8GB.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return Err(format!("'{text}' is no number of bytes; give one such as 512MiB or 8GB")),
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    bytes.ok_or_else(|| format!("'{text}' is no number of bytes; give one such as 512MiB or 8GB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units() {
        assert_eq!(parse_bytes("4096"), Ok(4096));
        assert_eq!(parse_bytes("2MiB"), Ok(2 << 20));
        assert_eq!(parse_bytes("3 GB"), Ok(3_000_000_000));
        for wrong in ["", "x", "1.5GB", "99999999999GB", "4 apples"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }
}
