//! The tables of an experiment: each design tuned for each profile.

use anyhow::Result;
use ogive::io::Profile;
use ogive::tune::DesignRequest;

use super::keys::Keys;
use super::settings::{KEY_SETS, Progress, designs, profiles};
use super::tables::Recipe;
use crate::experiments::{Context, Output, each_set};
use crate::output::Record;

/// One table to be measured.
pub(super) struct LookupCase<'c> {
    pub(super) context: &'c Context,
    set: &'c str,
    pub(super) keys: &'c Keys,
    pub(super) profile: &'c Profile,
    design: &'c DesignRequest,
}

impl LookupCase<'_> {
    /// Options of the table.
    pub(super) fn recipe(&self) -> Recipe<'_> {
        Recipe::new(self.context, self.design, self.profile)
    }

    /// Whether the design is the tuned one.
    pub(super) fn is_tuned(&self) -> bool {
        *self.design == DesignRequest::Tuned
    }

    /// A record of an experiment that names this table.
    pub(super) fn record(&self, experiment: &str) -> Record {
        Record::new(experiment).keys(self.set).profile(self.profile.name()).design(&self.design.to_string())
    }
}

/// Measures a table of each design for each profile, over each requested key set, else the first of [`KEY_SETS`]. The
/// given designs and profiles are defaults, too.
pub(super) fn each_table(
    context: &Context,
    experiment: &str,
    (default_profiles, default_designs): (&[&str], &[&str]),
    output: &mut Output<'_>,
    mut measure: impl FnMut(&LookupCase<'_>, &mut Output<'_>) -> Result<()>,
) -> Result<()> {
    let profiles = profiles(context, default_profiles)?;
    let designs = designs(context, default_designs)?;
    each_set(context, experiment, &KEY_SETS[..1], output, |spec, output| {
        let set = context.open(spec, context.seed)?;
        let keys = Keys::load(&set)?;
        let progress = Progress::new(profiles.len() * designs.len())?;
        for profile in &profiles {
            for design in &designs {
                progress.on(format!("{design} on {}", profile.name()));
                measure(&LookupCase { context, set: set.name(), keys: &keys, profile, design }, output)?;
                progress.step();
            }
        }
        Ok(())
    })
}
