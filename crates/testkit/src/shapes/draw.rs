//! The random generator of shapes.

use super::choices::Choices;
use super::shape::{Ends, JoinForm, Relation, Shape, StoreForm, TableForm, Way};
use super::values::Values;
use crate::fast_paths;
use ogive::KeyType;
use ogive::io::FastPaths;
use ogive::join::{JoinKind, JoinMethod};
use ogive::lsm::Learning;
use ogive::tune::extend;

/// Designs of any keys, and then those of numbers alone.
const DESIGNS: [&str; 9] = [
    "tuned",
    "coded",
    "none",
    "btree",
    "layers=3,builder=pla,error=2",
    "layers=1,builder=gband,lambda=4096",
    "layers=2,builder=gband/gstep,lambda=1024/512",
    "layers=3,builder=eband/coded/gband,lambda=2048/512/1024",
    "layers=2,builder=coded,lambda=4096/512",
];
const DESIGNS_OF_ANY_KEYS: usize = 3;
/// More rows than this take long, and no longer fill anything.
const MOST_ROWS: u64 = 1_500_000;
/// A sort takes records of up to a quarter of its memory.
const SORTED_RECORDS: usize = 5;
/// Approximate overhead of a record in a memtable or table, in bytes.
const ENTRY_BYTES: usize = 48;
/// Without a cache, each lookup reads and unpacks a block. More than this many bytes of that take minutes.
const UNCACHED_BYTES_MAX: u64 = 4 << 30;
/// A store flushes about so often while a shape is written into it: more of them take minutes, and find nothing else.
const FLUSHES_MAX: u64 = 500;
/// Tables of a store, approximately: each compaction looks at all of them, so more take minutes as well.
const TABLES_MAX: u64 = 500;
/// Memory per open table of a store: four times what a small one takes, since half of the memory is for other
/// things.
const OPEN_TABLE_BYTES: u64 = 8 << 10;

/// A random shape with at most about this many bytes of rows.
pub(super) fn shape(choices: &mut Choices<'_>, most_bytes: u64) -> Shape {
    let seed = choices.below(1 << 32);
    let key_type = choices.pick(&[
        KeyType::Text,
        KeyType::Bytes,
        KeyType::Bytes,
        KeyType::Text,
        KeyType::U64,
        KeyType::U64,
        KeyType::U128,
        KeyType::I64,
    ]);
    let is_string = key_type.width().is_none();
    let ends = if is_string { string_ends(choices, key_type) } else { number_ends(choices) };
    let prefix_bytes = if is_string { prefix_bytes(choices).min(most_bytes as usize / 64) } else { 0 };
    let prefixes = choices.pick(&[1, 1, 1, 2, 7]);
    let values = values(choices, (most_bytes / 4) as usize);
    let table = table_form(choices, key_type, values);
    let way = way(choices, prefix_bytes + values.most_bytes());
    let fast_paths = FastPaths::ALL;
    let mut shape = Shape { key_type, ends, prefix_bytes, prefixes, rows: 0, values, seed, table, way, fast_paths };
    if let Way::Store(form) = way {
        shape.values = values.at_most((form.memory_bytes / 32) as usize);
    }
    shape.rows = rows(choices, &shape, most_bytes);
    if let Way::Store(form) = &mut shape.way {
        let record_bytes = (shape.prefix_bytes + shape.values.most_bytes() + ENTRY_BYTES) as u64;
        form.make_room_for(shape.rows as u64 * record_bytes);
    }
    // These two come last, so that seeds give the other choices that they gave before there were these.
    if choices.one_in(3) {
        shape.fast_paths = fast_paths::of_bits(choices.below(fast_paths::SETTINGS));
        let block_bytes = u64::from(shape.table.block_bytes.unwrap_or(4096));
        shape.fast_paths.cache |= shape.rows as u64 * block_bytes > UNCACHED_BYTES_MAX;
    }
    if !is_string && choices.one_in(3) {
        other_width(choices, &mut shape);
    }
    shape
}

/// Keys of another width than 8 bytes, or of 16 with a sign.
fn other_width(choices: &mut Choices<'_>, shape: &mut Shape) {
    shape.key_type = match choices.below(4) {
        0 => KeyType::U32,
        1 => KeyType::I128,
        _ => KeyType::FixedBytes(1 + choices.below(16) as u8),
    };
    if !shape.key_type.is_numeric() && !DESIGNS[..DESIGNS_OF_ANY_KEYS].contains(&shape.table.design) {
        shape.table.design = "coded";
    }
    // Each of few keys has many rows, and a join of them the square of that.
    let rows_max = match shape.key_type.width() {
        Some(1) => 4_000,
        Some(2) => 200_000,
        _ => usize::MAX,
    };
    shape.rows = shape.rows.min(rows_max);
}

fn string_ends(choices: &mut Choices<'_>, key_type: KeyType) -> Ends {
    match choices.below(8) {
        0 | 1 => Ends::Counting,
        2 => Ends::Hexadecimal,
        3 => Ends::Nested,
        4 => Ends::Paths,
        5 => Ends::Repeats,
        6 if key_type == KeyType::Bytes => Ends::Binary,
        7 if key_type == KeyType::Bytes => Ends::Tails(choices.skewed(1, 300) as usize),
        _ => Ends::Paths,
    }
}

fn number_ends(choices: &mut Choices<'_>) -> Ends {
    choices.pick(&[Ends::Dense, Ends::Dense, Ends::Jittered, Ends::Hashed, Ends::Clusters, Ends::RepeatedNumbers])
}

fn prefix_bytes(choices: &mut Choices<'_>) -> usize {
    let bytes = match choices.below(8) {
        0..2 => 0,
        2..4 => choices.skewed(1, 64),
        4..7 => choices.skewed(64, 1500),
        _ => choices.skewed(1500, 10_000),
    };
    bytes as usize
}

fn values(choices: &mut Choices<'_>, most: usize) -> Values {
    let drawn = match choices.below(9) {
        0 | 1 => Values::Empty,
        2 => Values::Even(choices.skewed(1, 64) as usize),
        3 => Values::Alike(choices.skewed(1, 64) as usize),
        4 => Values::Even(choices.skewed(64, 8192) as usize),
        5 | 6 => Values::Mixed(choices.skewed(1, 300) as usize),
        7 => Values::Mixed(choices.skewed(300, 100_000) as usize),
        _ => Values::Rare { every: choices.skewed(2, 2000) as usize, bytes: choices.skewed(300, 3 << 20) as usize },
    };
    drawn.at_most(most)
}

fn table_form(choices: &mut Choices<'_>, key_type: KeyType, values: Values) -> TableForm {
    // With those of papers, where they are registered.
    let designs = match key_type.is_numeric() {
        true => [&DESIGNS[..], extend::compared()].concat(),
        false => DESIGNS[..DESIGNS_OF_ANY_KEYS].to_vec(),
    };
    let design = if choices.below(3) > 0 { choices.pick(&DESIGNS[..2]) } else { choices.pick(&designs) };
    let block_bytes = if choices.below(4) == 0 { None } else { Some(512 << choices.below(12)) };
    let fits = values.width().is_some_and(|width| width + 32 <= block_bytes.unwrap_or(4096) as usize);
    TableForm {
        design,
        block_bytes,
        states_value_width: choices.below(2) == 1 && fits,
        compressed: choices.one_in(5),
        coded: !choices.one_in(4),
        filtered: choices.one_in(4),
    }
}

fn way(choices: &mut Choices<'_>, record_bytes: usize) -> Way {
    match choices.below(10) {
        0..4 => Way::Sorted,
        4 => {
            let least = (SORTED_RECORDS * (record_bytes + 64)).max(64 << 10) as u64;
            Way::Unsorted { sort_bytes: choices.skewed(least, 64 << 20) }
        }
        5..8 => Way::Store(store_form(choices)),
        _ => Way::Join(join_form(choices)),
    }
}

impl StoreForm {
    /// Makes memtables and tables large enough for this number of bytes of each version: each open table takes some
    /// KiB, and where that is short a store says so and takes no more; and each flush takes time.
    fn make_room_for(&mut self, version_bytes: u64) {
        let bytes = version_bytes * (self.earlier_versions + 1);
        self.memtable_bytes = self.memtable_bytes.max(bytes / FLUSHES_MAX);
        self.table_bytes = self.table_bytes.max(bytes / TABLES_MAX.min(self.memory_bytes / OPEN_TABLE_BYTES));
    }
}

const MEMORY_BYTES: [u64; 6] = [1 << 20, 2 << 20, 4 << 20, 16 << 20, 32 << 20, 64 << 20];

fn store_form(choices: &mut Choices<'_>) -> StoreForm {
    StoreForm {
        memory_bytes: choices.pick(&MEMORY_BYTES),
        reopened_bytes: choices.pick(&MEMORY_BYTES),
        memtable_bytes: choices.skewed(16 << 10, 16 << 20),
        table_bytes: choices.pick(&[64 << 20, 1 << 20, 4 << 20, 64 << 10]),
        level_bytes: choices.pick(&[256 << 20, 256 << 10, 4 << 20]),
        level_factor: choices.pick(&[10, 2, 4]),
        separation_bytes: choices.pick(&[1 << 10, u64::MAX, 0, 100]),
        learning: choices.pick(&policies()),
        threads: choices.pick(&[0, 0, 0, 0, 0, 0, 0, 2]),
        ingested_one_in: choices.pick(&[0, 0, 2, 10]),
        sorted: choices.one_in(3),
        earlier_versions: choices.pick(&[0, 0, 0, 1, 2]),
        compacted: choices.below(2) == 0,
        checkpointed: choices.one_in(3),
    }
}

/// The names of all registered learning policies.
fn policies() -> Vec<&'static str> {
    Learning::all().iter().map(Learning::name).collect()
}

fn join_form(choices: &mut Choices<'_>) -> JoinForm {
    // Expected rows begin with a left one here; full joins are tested with the other joins.
    let kinds = JoinKind::ALL.iter().map(|(kind, _)| *kind).filter(|kind| *kind != JoinKind::Full);
    let kinds: Vec<JoinKind> = kinds.collect();
    let mut relation = || choices.pick(&[Relation::Table, Relation::Table, Relation::Unsorted, Relation::Store]);
    let relations = (relation(), relation());
    JoinForm {
        memory_bytes: choices.pick(&MEMORY_BYTES),
        method: choices.pick(&JoinMethod::all()),
        kind: choices.pick(&kinds),
        threads: choices.pick(&[1, 1, 2]),
        relations,
        right_one_in: choices.pick(&[1, 1, 2, 5]),
    }
}

/// As many rows as take about the bytes that are drawn; now and then just a few.
fn rows(choices: &mut Choices<'_>, shape: &Shape, most_bytes: u64) -> usize {
    if choices.one_in(20) {
        return choices.below(4) as usize;
    }
    let bytes = most_bytes >> choices.below(4);
    if shape.ends == Ends::Nested {
        // Each key is one or two bytes longer than the one before.
        let longest = (bytes as f64).sqrt() as u64;
        return longest.min(32_000 - shape.prefix_bytes as u64 / 2).max(1) as usize;
    }
    let end_bytes = match shape.ends {
        Ends::Tails(bytes) => 8 + bytes,
        Ends::Paths => 24,
        _ => 10,
    };
    let row_bytes = shape.prefix_bytes + end_bytes + shape.values.mean_bytes();
    (bytes / row_bytes as u64).clamp(1, MOST_ROWS) as usize
}
