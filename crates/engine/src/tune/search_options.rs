//! Parameters of the search: its builders, their granularities, and its effort.

/// The kinds of builder that the search combines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LayerBuilderKind {
    /// Greedy step.
    GStep,
    /// Greedy band.
    GBand,
    /// Equal band.
    EBand,
    /// Coded step.
    Coded,
}

impl LayerBuilderKind {
    /// The builder kinds of the default search.
    pub const ALL: [Self; 4] = [Self::Coded, Self::GStep, Self::GBand, Self::EBand];
}

/// Parameters of the search. The defaults are the paper's (AirIndex, Sections 5.2 and 7), except for the coded step as
/// a fourth builder, and for as many step pieces in a page as fit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DesignSearchOptions {
    /// The builder set F.
    #[doc(hidden)]
    pub builders: Vec<LayerBuilderKind>,
    /// k: number of candidates followed from each layer.
    pub top_k: usize,
    /// p: largest number of step pieces in a page; `None` for as many as fit.
    pub step_pieces: Option<u32>,
    /// Finest granularity in bytes; at least one child.
    pub lambda_low_bytes: u64,
    /// Coarsest granularity in bytes.
    pub lambda_high_bytes: u64,
    /// 1 + epsilon: ratio of consecutive granularities, greater than 1.
    pub growth: f64,
    /// Size of an index page in bytes, header included.
    pub page_bytes: u32,
    /// Number of threads, the caller's included.
    pub threads: usize,
    /// Number of children in a partition, built by one thread; layers begin a new node at each partition.
    pub partition_children: usize,
    /// Inputs of up to this many children are built in full by every builder. For longer ones, builders are compared on
    /// samples, and only the best are built in full.
    pub exact_children: usize,
}

impl Default for DesignSearchOptions {
    fn default() -> Self {
        Self {
            builders: LayerBuilderKind::ALL.to_vec(),
            top_k: 5,
            step_pieces: None,
            lambda_low_bytes: 1 << 8,
            lambda_high_bytes: 1 << 20,
            growth: 2.0,
            page_bytes: 512,
            threads: 1,
            partition_children: 1_000_000,
            exact_children: 1 << 14,
        }
    }
}

setters! {
    DesignSearchOptions {
        #[doc(hidden)]
        builders: Vec<LayerBuilderKind>,
        top_k: usize,
        lambda_low_bytes: u64,
        lambda_high_bytes: u64,
        growth: f64,
        page_bytes: u32,
        threads: usize,
        partition_children: usize,
        exact_children: usize,
    } optional {
        step_pieces: u32,
    }
}
