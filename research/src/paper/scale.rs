//! Sizes of a run of a paper.

/// The size of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scale {
    /// Tens of thousands of keys: all papers in minutes. Counts and modelled times are judged, measured times are not.
    Small,
    /// The sizes of `docs/papers`, ten million keys for most figures: hours
    Medium,
    /// The sizes of the papers, 200 million keys for most figures: days, and memory for the keys of each step
    Full,
}

impl Scale {
    /// The name in commands and pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Full => "full",
        }
    }

    /// The value of this scale.
    pub(crate) fn pick<T>(self, small: T, medium: T, full: T) -> T {
        match self {
            Self::Small => small,
            Self::Medium => medium,
            Self::Full => full,
        }
    }
}

impl std::fmt::Display for Scale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
