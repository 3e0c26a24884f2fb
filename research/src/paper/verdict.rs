//! Verdicts on the claims of papers.

/// The verdict on a claim, with a sentence that has our figures, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Our figures agree with the claim.
    Confirmed(String),
    /// They do not.
    NotConfirmed(String),
    /// There are no figures that could be compared, and why.
    NotComparable(String),
}

impl Verdict {
    /// The verdict by a condition on our figures.
    pub(crate) fn of(confirmed: bool, ours: impl Into<String>) -> Self {
        if confirmed { Self::Confirmed(ours.into()) } else { Self::NotConfirmed(ours.into()) }
    }

    /// The same verdict, with more figures of ours.
    pub(crate) fn and_told(self, more: &str) -> Self {
        match self {
            Self::Confirmed(ours) => Self::Confirmed(format!("{ours}; {more}")),
            Self::NotConfirmed(ours) => Self::NotConfirmed(format!("{ours}; {more}")),
            other => other,
        }
    }

    /// The verdict in words.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Confirmed(_) => "confirmed",
            Self::NotConfirmed(_) => "not confirmed",
            Self::NotComparable(_) => "not comparable",
        }
    }

    /// Our figures; empty if nothing is compared.
    pub fn ours(&self) -> &str {
        match self {
            Self::Confirmed(ours) | Self::NotConfirmed(ours) => ours,
            Self::NotComparable(_) => "",
        }
    }

    /// The verdict with the reason, if nothing is compared.
    pub fn with_reason(&self) -> String {
        match self {
            Self::NotComparable(reason) => format!("{}: {reason}", self.name()),
            _ => self.name().to_owned(),
        }
    }
}
