//! Errors of plans that travel between processes.

use datafusion::error::DataFusionError;
use std::fmt;

/// Why a plan cannot be sent, or what was received cannot be run.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// The plan is of a later version of Ogive.
    Newer {
        /// The version of the plan.
        found: u16,
        /// The latest version that this program knows.
        known: u16,
    },
    /// The bytes are no plan, or not all of one.
    Damaged(String),
    /// The table at the location is not the one that the query was planned for.
    Changed {
        /// Path or URL.
        location: String,
    },
    /// The location is outside of what `--allow` names.
    NotAllowed {
        /// Path or URL.
        location: String,
        /// Why, or what is allowed.
        detail: String,
    },
    /// The table is known to this process alone.
    NoLocation {
        /// What messages call the table.
        name: String,
    },
    /// The location has a secret in it.
    Secret {
        /// The location without the secret.
        location: String,
    },
    /// A prefix of `--allow` is not usable.
    Prefix {
        /// As it was given.
        prefix: String,
        /// Why not.
        detail: String,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer { found, known } => write!(
                formatter,
                "the plan is from a newer Ogive (its version is {found}, this program knows {known}); upgrade this \
                 scheduler or executor"
            ),
            Self::Damaged(detail) => write!(
                formatter,
                "the plan cannot be read: {detail}; use the same version of Ogive in the client, the scheduler and \
                 all executors, and run the query again"
            ),
            Self::Changed { location } => write!(
                formatter,
                "the table {location} changed after the query was planned, or differs between machines; register it \
                 anew if it was registered by a name, run the query again, and see that every machine has the same \
                 table there"
            ),
            Self::NotAllowed { location, detail } => write!(
                formatter,
                "{location} may not be opened by queries: {detail}; start the scheduler and all executors with \
                 --allow and a prefix of it"
            ),
            Self::NoLocation { name } => write!(
                formatter,
                "the table {name} is known to this process alone, and no executor can open it; name it by its path or \
                 URL in the query, or open it by `OgiveOptions::open`"
            ),
            Self::Secret { location } => write!(
                formatter,
                "the location {location} has a query or a password, which must not travel in plans; give the \
                 credentials to each machine by its environment"
            ),
            Self::Prefix { prefix, detail } => write!(
                formatter,
                "--allow {prefix}: {detail}; give a folder that exists, or a URL such as s3://bucket/prefix"
            ),
        }
    }
}

/// The message, too: a scheduler of Ballista passes on how executors would print their errors for developers.
impl fmt::Debug for PlanError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl std::error::Error for PlanError {}

impl From<PlanError> for DataFusionError {
    fn from(error: PlanError) -> Self {
        Self::External(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_tasks_keep_their_remedy() {
        let error = DataFusionError::from(PlanError::Changed { location: "/data/t.ogive".to_owned() });
        let shown = format!("{error:?}");
        assert!(shown.contains("the table /data/t.ogive changed") && shown.contains("run the query again"), "{shown}");
    }
}
