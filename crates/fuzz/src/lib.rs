//! The bodies of the fuzz targets: for each decoder, and for the writers of tables and stores, a function that takes
//! any bytes, and seed inputs.
//!
//! A function here must return, whatever the bytes: no panic, no memory beyond a small multiple of the input. Where an
//! input turns out to be valid, it also asserts what the decoder promises of valid input. The same functions run on
//! fixed inputs in `tests/`, without libFuzzer.

#![expect(clippy::panic, clippy::expect_used, reason = "a fuzz target reports a broken promise by a panic")]

pub mod archive;
pub mod backup;
pub mod block;
pub mod changes;
pub mod coded;
pub mod filter;
pub mod index;
pub mod inner;
mod input;
pub mod manifest;
pub mod nodes;
pub mod parquet;
pub mod profile;
pub mod row;
pub mod shapes;
pub mod store;
pub mod table;
pub mod text;
pub mod value;

/// One fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of its file in `fuzz_targets/`.
    pub name: &'static str,
    /// What it does with an input.
    pub run: fn(&[u8]),
    /// Valid inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All fuzz targets.
pub const TARGETS: &[Target] = &[
    Target { name: "archive", run: archive::segment, seeds: archive::segment_seeds },
    Target { name: "backup", run: backup::record, seeds: backup::record_seeds },
    Target { name: "block", run: block::unpack, seeds: block::unpack_seeds },
    Target { name: "changes", run: changes::follow, seeds: changes::follow_seeds },
    Target { name: "coded_integers", run: coded::integers, seeds: coded::integer_seeds },
    Target { name: "coded_row", run: coded::row, seeds: coded::row_seeds },
    Target { name: "coded_strings", run: coded::strings, seeds: coded::string_seeds },
    Target { name: "router", run: coded::router, seeds: coded::router_seeds },
    Target { name: "design", run: text::design, seeds: text::design_seeds },
    Target { name: "filter", run: filter::page, seeds: filter::page_seeds },
    Target { name: "index", run: index::header, seeds: index::header_seeds },
    Target { name: "inner_node", run: inner::node, seeds: inner::node_seeds },
    Target { name: "inner_row", run: inner::row, seeds: inner::row_seeds },
    Target { name: "key", run: text::key, seeds: text::key_seeds },
    Target { name: "key_type", run: text::key_type, seeds: text::key_type_seeds },
    Target { name: "lines", run: nodes::lines, seeds: nodes::line_seeds },
    Target { name: "manifest", run: manifest::open, seeds: manifest::open_seeds },
    Target { name: "parquet", run: parquet::catalog, seeds: parquet::catalog_seeds },
    Target { name: "profile", run: profile::json, seeds: profile::json_seeds },
    Target { name: "row", run: row::value, seeds: row::value_seeds },
    Target { name: "shapes", run: shapes::check, seeds: shapes::check_seeds },
    Target { name: "steps", run: nodes::steps, seeds: nodes::step_seeds },
    Target { name: "store", run: store::open, seeds: store::open_seeds },
    Target { name: "table", run: table::open, seeds: table::open_seeds },
    Target { name: "value", run: value::stream, seeds: value::stream_seeds },
];
