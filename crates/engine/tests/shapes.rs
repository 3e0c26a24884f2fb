//! Goal: whatever is written can be read back, for every shape of input: length of the shared prefix, number of rows,
//! kind of keys, length of values, design, block size, memory, and rows that come sorted, unsorted, through a store or
//! out of a join.
//! Method: shapes that were once written wrongly, by name, and random shapes: one seed is one case. Each is written,
//! verified, and compared with the sorted rows: every key, absent neighbours, scans from both ends and from anywhere,
//! ranks.
//!
//! Random shapes run for as long as the environment says: `OGIVE_SHAPES_SECONDS=3600 OGIVE_SHAPES_SEED=1 cargo test
//! --release -p ogive --test shapes -- --ignored --nocapture`. A failure prints the command that repeats its case
//! alone.

#![allow(clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "how long to run, and from which seed, comes from the environment")]
#![allow(clippy::disallowed_macros, reason = "a run of an hour says how far it is")]

use ogive::KeyType;
use ogive::io::{FastPaths, Timer};
use ogive::join::{JoinKind, JoinMethod};
use ogive_testkit::shapes::{Effort, Ends, JoinForm, Relation, Shape, StoreForm, TableForm, Values, Way};

/// Blocks of 4 KiB, tuned.
const TABLE: TableForm = TableForm {
    design: "tuned",
    block_bytes: Some(4096),
    states_value_width: false,
    coded: true,
    compressed: false,
    filtered: false,
};

/// The default output design of a join.
const CODED: TableForm = TableForm { design: "coded", block_bytes: None, ..TABLE };

/// Counting text keys without values, written sorted.
const PLAIN: Shape = Shape {
    key_type: KeyType::Text,
    ends: Ends::Counting,
    prefix_bytes: 0,
    prefixes: 1,
    rows: 0,
    values: Values::Empty,
    seed: 1,
    table: TABLE,
    way: Way::Sorted,
    fast_paths: FastPaths::ALL,
};

/// A store with the options that there are unless said, compacted.
const STORE: StoreForm = StoreForm {
    memory_bytes: 256 << 20,
    reopened_bytes: 256 << 20,
    memtable_bytes: 64 << 20,
    table_bytes: 64 << 20,
    level_bytes: 256 << 20,
    level_factor: 10,
    separation_bytes: 1 << 10,
    learning: "coded",
    threads: 0,
    ingested_one_in: 0,
    sorted: true,
    earlier_versions: 0,
    compacted: true,
    checkpointed: false,
};

/// A join of a table with itself.
const JOIN: JoinForm = JoinForm {
    memory_bytes: 256 << 20,
    method: JoinMethod::Merge,
    kind: JoinKind::Inner,
    threads: 1,
    relations: (Relation::Table, Relation::Table),
    right_one_in: 1,
};

fn store_of(memory_bytes: u64) -> Way {
    Way::Store(StoreForm { memory_bytes, reopened_bytes: memory_bytes.max(16 << 20), ..STORE })
}

fn join_within(memory_bytes: u64) -> Way {
    Way::Join(JoinForm { memory_bytes, ..JOIN })
}

#[track_caller]
fn hold(shape: &Shape) {
    if let Err(failure) = shape.check(Effort::QUICK) {
        panic!("{failure}");
    }
}

#[test]
fn prefixes_of_1000_bytes_in_tables() {
    for (design, block_bytes) in [("tuned", None), ("coded", Some(4096)), ("tuned", Some(65536))] {
        let table = TableForm { design, block_bytes, ..TABLE };
        hold(&Shape { prefix_bytes: 1000, rows: 10_000, table, ..PLAIN });
    }
}

#[test]
fn prefixes_of_1000_bytes_in_stores() {
    hold(&Shape { prefix_bytes: 1000, rows: 12_000, way: store_of(256 << 20), ..PLAIN });
    hold(&Shape { prefix_bytes: 1000, rows: 3_000, way: store_of(1 << 20), ..PLAIN });
}

#[test]
fn prefixes_of_1000_bytes_out_of_joins() {
    for (memory_bytes, table) in [(256 << 20, TABLE), (16 << 20, CODED)] {
        hold(&Shape { prefix_bytes: 1000, rows: 10_000, table, way: join_within(memory_bytes), ..PLAIN });
    }
}

#[test]
fn nested_keys() {
    for block_bytes in [None, Some(65536)] {
        hold(&Shape { ends: Ends::Nested, rows: 4_300, table: TableForm { block_bytes, ..TABLE }, ..PLAIN });
    }
    let (prefix_bytes, rows) = (5, 1_300);
    for way in [join_within(2 << 20), store_of(1 << 20)] {
        hold(&Shape { ends: Ends::Nested, prefix_bytes, rows, values: Values::Alike(2), way, ..PLAIN });
    }
}

/// Separators so long that the index has several layers, of which joins read the lowest.
#[test]
fn nested_keys_looked_up_by_joins() {
    for kind in [JoinKind::Inner, JoinKind::Semi, JoinKind::Anti] {
        let way = Way::Join(JoinForm { method: JoinMethod::Inlj, kind, ..JOIN });
        hold(&Shape { ends: Ends::Nested, rows: 2_900, way, ..PLAIN });
    }
}

#[test]
fn prefixes_of_urls_with_random_ends() {
    hold(&Shape { prefix_bytes: 1000, ends: Ends::Hexadecimal, rows: 10_000, ..PLAIN });
    hold(&Shape { prefix_bytes: 64, ends: Ends::Hexadecimal, rows: 40_000, way: store_of(4 << 20), ..PLAIN });
}

#[test]
fn repeats_behind_a_long_prefix() {
    hold(&Shape { prefix_bytes: 300, ends: Ends::Repeats, rows: 60_000, values: Values::Even(8), ..PLAIN });
}

#[test]
fn paths_behind_a_random_prefix_of_300_bytes() {
    let table = TableForm { block_bytes: Some(4096), ..TABLE };
    hold(&Shape { prefix_bytes: 300, ends: Ends::Paths, rows: 30_000, table, ..PLAIN });
    hold(&Shape { prefix_bytes: 300, ends: Ends::Counting, rows: 30_000, table, ..PLAIN });
}

#[test]
fn users_joined_with_themselves() {
    let values = Values::Alike(1);
    hold(&Shape { prefix_bytes: 4, rows: 100_000, values, way: join_within(64 << 20), ..PLAIN });
}

#[test]
fn dense_numbers_with_equal_values_joined_with_themselves() {
    let shape = Shape { key_type: KeyType::U64, ends: Ends::Dense, values: Values::Alike(7), table: CODED, ..PLAIN };
    hold(&Shape { rows: 250_000, way: join_within(256 << 20), ..shape });
}

#[test]
fn hashed_numbers_joined_within_1_mib() {
    let shape = Shape { key_type: KeyType::U64, ends: Ends::Hashed, values: Values::Alike(7), table: CODED, ..PLAIN };
    hold(&Shape { rows: 60_000, way: join_within(1 << 20), ..shape });
}

/// Reading one block takes more than any part of the memory that is set aside for reading by its limit.
#[test]
fn packed_blocks_of_1_mib_joined_within_1_mib() {
    let table = TableForm { block_bytes: Some(1 << 20), compressed: true, ..CODED };
    for method in [JoinMethod::Hash, JoinMethod::Partition, JoinMethod::Merge] {
        let way = Way::Join(JoinForm { memory_bytes: 1 << 20, method, kind: JoinKind::Semi, ..JOIN });
        hold(&Shape { ends: Ends::Repeats, rows: 18, values: Values::Even(6952), table, way, ..PLAIN });
    }
}

#[test]
fn users_in_stores_of_little_memory() {
    for (memory_bytes, seed) in [(1 << 20, 1), (4 << 20, 2)] {
        let way = store_of(memory_bytes);
        hold(&Shape { prefix_bytes: 4, values: Values::Even(8), rows: 60_000, seed, way, ..PLAIN });
    }
}

#[test]
fn urls_in_a_store_of_64_mib() {
    hold(&Shape { prefix_bytes: 35, values: Values::Even(8), rows: 60_000, way: store_of(64 << 20), ..PLAIN });
}

#[test]
fn dense_numbers_without_values_in_blocks_of_1_mib() {
    let table = TableForm { block_bytes: Some(1 << 20), ..TABLE };
    hold(&Shape { key_type: KeyType::U64, ends: Ends::Dense, rows: 1_070_000, table, ..PLAIN });
}

#[test]
fn wide_numbers_in_large_blocks() {
    let table = TableForm { design: "coded", block_bytes: Some(256 << 10), ..TABLE };
    let shape = Shape { key_type: KeyType::U128, ends: Ends::Dense, values: Values::Even(2), table, ..PLAIN };
    hold(&Shape { rows: 480_000, ..shape });
}

#[test]
fn values_of_4000_bytes_in_the_largest_blocks() {
    let table = TableForm { block_bytes: Some(1 << 20), ..TABLE };
    hold(&Shape { prefix_bytes: 10, values: Values::Even(4000), rows: 4_500, table, ..PLAIN });
}

/// Clusters, whose separators in small index pages need wider residuals once groups are split to fit.
#[test]
fn clusters_in_two_layers_of_small_index_pages() {
    let table = TableForm { design: "layers=2,builder=coded,lambda=4096/512", block_bytes: None, ..TABLE };
    let shape = Shape { key_type: KeyType::U64, ends: Ends::Clusters, seed: 1_161_047_313, table, ..PLAIN };
    hold(&Shape { rows: 314_572, ..shape });
}

/// The shapes above at about the sizes at which they were met, and their like.
#[test]
#[ignore = "long: 5 minutes"]
fn shapes_by_name_at_full_size() {
    let numbers = Shape { key_type: KeyType::U64, rows: 3_000_000, ..PLAIN };
    for (design, block_bytes) in
        [("tuned", 1 << 20), ("coded", 1 << 20), ("btree", 64 << 10), ("layers=3,builder=pla,error=1", 64 << 10)]
    {
        for ends in [Ends::Dense, Ends::Jittered, Ends::Clusters] {
            let table = TableForm { design, block_bytes: Some(block_bytes), ..TABLE };
            hold(&Shape { ends, table, ..numbers.clone() });
        }
    }
    for block_bytes in [32 << 10, 1 << 20] {
        for ends in [Ends::Dense, Ends::Jittered, Ends::Hashed] {
            let table = TableForm { design: "coded", block_bytes: Some(block_bytes), ..TABLE };
            let shape = Shape { key_type: KeyType::U128, values: Values::Even(2), rows: 1_500_000, ..PLAIN };
            hold(&Shape { ends, table, ..shape });
        }
    }
    for (prefix_bytes, memory_bytes) in [(4, 1 << 20), (4, 16 << 20), (4, 32 << 20), (35, 64 << 20), (64, 4 << 20)] {
        let way = store_of(memory_bytes);
        hold(&Shape { prefix_bytes, values: Values::Even(8), rows: 300_000, way, ..PLAIN });
        hold(&Shape { prefix_bytes, ends: Ends::Hexadecimal, rows: 200_000, way, ..PLAIN });
    }
    for ends in [Ends::Dense, Ends::Hashed] {
        let shape = Shape { ends, values: Values::Alike(7), rows: 600_000, table: CODED, ..numbers.clone() };
        hold(&Shape { way: join_within(1 << 20), ..shape.clone() });
        hold(&Shape { way: join_within(256 << 20), ..shape });
    }
}

/// Seeds of the random shapes of each run, except those above a limit of bytes of rows.
const SAMPLE: (std::ops::Range<u64>, u64) = (0..80, 160 << 10);

#[test]
fn shapes_that_are_drawn() {
    let (seeds, most_bytes) = SAMPLE;
    let failures: Vec<String> = seeds
        .filter(|&seed| Shape::of_seed(seed).bytes() <= most_bytes)
        .filter_map(|seed| failure_of(seed, Effort::QUICK))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// No more failures than this are of use in one run.
const MOST_FAILURES: usize = 20;

#[test]
#[ignore = "long: 10 minutes"]
fn shapes_that_are_drawn_for_as_long_as_is_said() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (seconds, first) = (number("OGIVE_SHAPES_SECONDS"), number("OGIVE_SHAPES_SEED"));
    // A seed alone is one case.
    let seconds = seconds.unwrap_or(if first.is_some() { 0 } else { 600 }) as f64;
    let (timer, mut failures, first) = (Timer::start(), Vec::new(), first.unwrap_or(SAMPLE.0.end));
    let mut seed = first;
    loop {
        let case = Timer::start();
        let failure = failure_of(seed, Effort::FULL);
        let outcome = if failure.is_some() { "wrong" } else { "right" };
        println!("seed {seed}: {outcome}, {:.1} s, {:.0} s in all", case.elapsed_s(), timer.elapsed_s());
        failures.extend(failure);
        seed += 1;
        if timer.elapsed_s() >= seconds || failures.len() == MOST_FAILURES {
            break;
        }
    }
    assert!(failures.is_empty(), "of {} shapes:\n{}", seed - first, failures.join("\n\n"));
}

/// The failure of a seed, and the command that repeats it.
fn failure_of(seed: u64, effort: Effort) -> Option<String> {
    let shape = Shape::of_seed(seed);
    println!("{shape:?}");
    let checked = std::panic::catch_unwind(|| shape.check(effort).map_err(|failure| failure.to_string()));
    let failure = checked.unwrap_or_else(|_| Err(format!("it panicked\n{shape:?}"))).err()?;
    let command = format!("OGIVE_SHAPES_SEED={seed} cargo test -p ogive --test shapes -- --ignored --nocapture");
    Some(format!("seed {seed}: {failure}\nrepeat it: {command}"))
}
