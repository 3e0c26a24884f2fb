//! Formats of inputs.

/// Format of an input: a u64 count and sorted little-endian integers, lines that are keys, comma-separated or
/// tab-separated values, objects of JSON, one a line or in an array, or Parquet if built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    Sosd,
    Lines,
    Csv,
    Tsv,
    Jsonl,
    Parquet,
}

impl Format {
    /// Its name, for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sosd => "a SOSD file",
            Self::Lines => "lines of text",
            Self::Csv => "comma-separated values",
            Self::Tsv => "tab-separated values",
            Self::Jsonl => "JSON",
            Self::Parquet => "Parquet",
        }
    }
}
