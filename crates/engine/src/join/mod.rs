//! Joins of relations larger than memory, planned by cost.
//!
//! One kernel merges two *row streams* in key order. The methods differ in how they produce the streams: by reading a
//! relation from end to end, by reading only the blocks in which an index locates partners, or by sorting, partitioning
//! or hashing unsorted input. `ogive-research` adds methods of papers by a hidden seam, `extend`.
//!
//! | room | contents |
//! |---|---|
//! | `rows` | what all rooms share: relations, row streams, options, reports; memory and stop of a join (`task`) |
//! | `input` | relations as row streams: scans, stored inputs, sorted copies of unsorted inputs |
//! | `methods` | the kernel (`merge`), planned scans (`lookup`), learned partitions (`partition`), `hash` |
//! | `plan` | the cost of each method, and the choice (`choose`) |
//! | `output` | tables, files, callbacks, rows that another thread takes |
//! | `run`, `execute`, `iterate` | a join from its inputs to its output; its threads; its rows as an iterator |
//! | `keys`, `unmatched` | the type in which the keys of both inputs are compared; rows whose keys match nothing |

mod execute;
#[doc(hidden)]
pub mod extend;
mod input;
mod iterate;
mod keys;
mod methods;
mod output;
mod plan;
mod rows;
mod run;
#[cfg(test)]
mod test_relations;
#[cfg(test)]
mod thread_tests;
mod unmatched;

pub use input::records::RecordShape;
pub use input::source::JoinSource;
pub use iterate::{JoinRow, JoinRows, join_rows};
pub use output::JoinOutput;
pub use rows::condition::JoinPair;
pub use rows::method::JoinMethod;
pub use rows::options::{JoinKind, JoinOptions, JoinPhase, JoinProgress, JoinSide};
pub use rows::plan::cost::JoinCost;
pub use rows::plan::explanation::{JoinActual, JoinAlternative, JoinExplanation, JoinReadPlan, JoinRelationSummary};
pub use rows::report::{JoinReport, JoinSeconds};
pub use run::{explain, join};

// Seams for the other crates of this repository: hidden, and free to change with any version.
#[doc(hidden)]
pub use {
    input::records::JoinRecords, input::records::RecordReader, plan::cached_profile, rows::condition::JoinCondition,
    rows::joined_records::JoinedRecords, rows::method::RegisteredMethod, rows::options::JoinWatcher,
    rows::text_hints::ParsedText,
};
