//! The command line: the commands on stores of `ogive-research`, and one of this program.

#[cfg(feature = "slatedb")]
use clap::Args;
use clap::Subcommand;
#[cfg(feature = "slatedb")]
use ogive_research::keys::spec::parse_count;
use ogive_research::stores::StoresCommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Stores(StoresCommand),
    /// Compare stores on an object store in memory, with 40 ms and 90 MB/s a request and 64 at once
    #[cfg(feature = "slatedb")]
    Objects(ObjectsArguments),
}

#[cfg(feature = "slatedb")]
#[derive(Debug, Args)]
pub(crate) struct ObjectsArguments {
    /// Number of records, with uniform keys of 16 bytes
    #[arg(short, long = "n", default_value = "1M", value_parser = count, value_name = "COUNT")]
    pub(crate) number: u64,
    /// Bytes of each value
    #[arg(long, default_value_t = 64, value_name = "BYTES")]
    pub(crate) value: usize,
    /// Gets of each measurement; of the longer operations, a tenth
    #[arg(long, default_value = "200", value_parser = count, value_name = "COUNT")]
    pub(crate) operations: u64,
    /// Seed of keys, order and requests
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[cfg(feature = "slatedb")]
fn count(text: &str) -> Result<u64, String> {
    parse_count(text).ok_or_else(|| "a count is a number such as 1000, 10k or 10M".into())
}
