//! `ogive profile`: measures the storage under a path.

use crate::args::Outcome;
use crate::failure::Result;
use crate::output::Output;

/// x
#[derive(Debug, clap::Args)]
#[command(after_help = "ogive profile")]
pub(crate) struct Arguments {}
pub(crate) fn run(_a: &Arguments, _o: &mut Output) -> Result<Outcome> {
    Ok(Outcome::Done)
}
