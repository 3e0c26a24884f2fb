//! Joins of relations larger than memory, planned by cost.
//!
//! One kernel merges two *row streams* in key order. The methods differ in how they produce the streams: by reading a
//! relation from end to end, by reading only the blocks in which an index locates partners, or by sorting, partitioning
//! or hashing unsorted input. `ogive-research` adds methods of papers by a hidden seam, `extend`.

mod block_run;
mod condition;
mod emit;
mod execute;
#[doc(hidden)]
pub mod extend;
mod group;
mod group_where;
mod hash;
mod inlj;
mod joined;
mod merge;
#[cfg(test)]
mod merge_tests;
mod method;
mod no_spill;
mod options;
mod output;
mod overflow;
mod packed_rows;
mod parallel;
mod partition;
mod plan;
mod prefetch;
mod read_lanes;
mod records;
mod report;
mod rows;
mod run;
mod scan;
#[cfg(test)]
mod scan_tests;
mod sorted;
mod source;
mod spill;
mod stoppable;
mod stored;
mod task;
#[cfg(test)]
mod test_relations;
#[cfg(test)]
mod thread_tests;

pub use condition::{JoinCondition, JoinPair};
pub use joined::JoinedRecords;
pub use method::{JoinMethod, RegisteredMethod};
pub use options::{JoinKind, JoinOptions, JoinPhase, JoinProgress, MEMORY_BYTES_MIN, Side, Watcher};
pub use output::{JoinOutput, JoinRow, JoinRows, join_rows};
pub use plan::{Actual, Alternative, Cost, Explanation, ReadPlan, RelationSummary, cached_profile};
pub use records::{RecordShape, Records};
pub use report::{JoinReport, Seconds};
pub use run::{explain, join};
pub use source::JoinSource;
