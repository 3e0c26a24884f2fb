//! The command `model`.

use super::count::Counts;
use super::formula::Machines;
use super::predict::{Target, limits, predict};
use super::report;
use crate::error::{engine, failed};
use crate::measure::{MeasuredData, ObjectQueries};
use clap::Args;
use datafusion::error::Result;
use ogive::Profile;
use std::io::Write;

/// Arguments of `model`.
#[derive(Args, Debug)]
pub struct ModelArguments {
    /// The data set that is counted, as that of `measure`
    #[command(flatten)]
    data: MeasuredData,
    /// Executors of the modelled cluster
    #[arg(long, value_name = "N", default_value_t = 64)]
    executors: u32,
    /// Partitions that each of them works on at a time
    #[arg(long, value_name = "N", default_value_t = 16)]
    vcores: u32,
    /// Bytes of the table, in TB
    #[arg(long, value_name = "TB", default_value_t = 100.0)]
    terabytes: f64,
    /// Bytes of one of its files, in GB
    #[arg(long, value_name = "GB", default_value_t = 64.0)]
    table_gigabytes: f64,
    /// Rate of the network link of each machine, in Gbit/s
    #[arg(long, value_name = "GBIT", default_value_t = 10.0)]
    network: f64,
    /// Profile of the object store: a name or a file
    #[arg(long, value_name = "PROFILE", default_value = "s3")]
    profile: String,
}

impl ModelArguments {
    fn target(&self, profile: Profile) -> Result<Target> {
        let is_positive = |number: f64| number.is_finite() && number > 0.0;
        if self.executors == 0
            || self.vcores == 0
            || ![self.terabytes, self.table_gigabytes, self.network].into_iter().all(is_positive)
        {
            return Err(failed("executors, vcores, bytes and the network are numbers above 0"));
        }
        let (executors, vcores) = (f64::from(self.executors), f64::from(self.vcores));
        let machines = Machines { executors, vcores, gbit_per_s: self.network, profile };
        Ok(Target { machines, bytes: self.terabytes * 1e12, table_bytes: self.table_gigabytes * 1e9 })
    }
}

/// Counts queries on this machine, and prints the counts, the model, and its limits.
///
/// # Errors
/// Files that cannot be written or read, and queries that fail.
pub async fn run(arguments: &ModelArguments, output: &mut dyn Write) -> Result<()> {
    let profile = Profile::by_name_or_file(&arguments.profile).map_err(engine)?;
    let target = arguments.target(profile.clone())?;
    let data = arguments.data.prepare()?;
    let mut objects = ObjectQueries::prepare(&arguments.data, profile)?;
    let counts = Counts::take(&data, &mut objects, &mut std::io::stderr()).await?;
    report::counted(&counts, output)?;
    writeln!(output)?;
    let Some(point) = counts.queries.first() else { return Err(failed("nothing was counted")) };
    let predictions: Vec<_> =
        counts.queries.iter().map(|query| (query.name, predict(query, point, &counts, &target))).collect();
    report::predicted(&predictions, &target, output)?;
    report::limits(&limits(&counts, &target), &target, output)?;
    Ok(())
}
