//! Random options of a join, and random places for its relations, spill files and output.

use super::{Joined, Row, Shape, check, collect, options};
use ogive::block::compress::Compression;
use ogive::index::extend::Tunable;
use ogive::io::{LocalStorage, MemoryStorage, Profile, Purpose, ReadRequest, Storage};
use ogive::join::{JoinCondition, JoinKind, JoinMethod, JoinOptions, JoinOutput, JoinSide, JoinSource, join};
use ogive::table::{Table, TableOptions, TableWriteOptions, TableWriter};
use ogive::{Cause, Error};
use ogive_testkit::{Random, Repeat, fast_paths, joined_values, named_seed};
use std::sync::Arc;
use tempfile::{TempDir, tempdir};

/// The destination of the rows.
#[derive(Clone, Copy, Debug)]
enum Form {
    Caller,
    Lines,
    Table,
}

/// Draws, and the folders that it has made.
pub struct Draws {
    random: Random,
    /// The tunables of a draw.
    tunables: fn(u64) -> Vec<Tunable>,
    folders: Vec<TempDir>,
    /// The condition of all joins.
    pub condition: Option<JoinCondition>,
    _repeat: Repeat,
}

impl Draws {
    /// For a test of the binary of this name.
    pub fn new(binary: &str, tunables: fn(u64) -> Vec<Tunable>) -> Self {
        let seed = named_seed().unwrap_or(1);
        let repeat = Repeat::of(env!("CARGO_PKG_NAME"), binary, seed);
        Self { random: Random::new(seed), tunables, folders: Vec::new(), condition: None, _repeat: repeat }
    }

    pub fn any<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.random.below(choices.len() as u64) as usize]
    }

    /// Memory; one in `rarity` times a folder, read through the page cache or past it.
    fn storage(&mut self, rarity: u64) -> Arc<dyn Storage> {
        if !self.random.one_in(rarity) {
            return Arc::new(MemoryStorage::new());
        }
        let folder = tempdir().unwrap();
        let direct = self.random.one_in(2);
        let storage = if direct { LocalStorage::direct(folder.path()) } else { LocalStorage::new(folder.path()) };
        let storage = if self.random.one_in(2) { storage.with_open_files(8) } else { storage };
        self.folders.push(folder);
        Arc::new(storage)
    }

    fn profile(&mut self) -> Profile {
        let profile = Profile::named(self.any(&["nvme", "hdd", "s3"])).unwrap();
        // As if it had been measured, so that requests are in flight one by one.
        if self.random.one_in(3) { profile.with_peak(500.0).unwrap() } else { profile }
    }

    /// A table of sorted rows; of the shape, keys, values and the index stay.
    pub fn table(&mut self, rows: &[Row], shape: Shape) -> JoinSource {
        let storage = self.storage(3);
        let written = TableWriteOptions::default()
            .key_type(shape.key_type)
            .value_width(shape.value_width)
            .block_bytes(self.any(&[None, Some(512), Some(1024), Some(4096)]))
            .design(shape.design.parse().unwrap())
            .compression(self.any(&[Compression::None, Compression::Lz4]))
            .filter_bits_per_key(self.any(&[None, Some(10)]))
            .profile(self.profile());
        let mut writer = TableWriter::create((storage.clone(), "t"), written).unwrap();
        rows.iter().for_each(|(key, value)| writer.append(key, value).unwrap());
        writer.finish().unwrap();
        let budget_bytes = self.any(&[1 << 18, 1 << 20, 64 << 20]);
        let fast_paths = fast_paths::drawn(&mut self.random);
        let opened = TableOptions::default().memory_bytes(budget_bytes).profile(self.profile()).fast_paths(fast_paths);
        JoinSource::table(&Table::open((storage, "t"), &opened).unwrap())
    }

    /// All options but the kind and the method.
    fn options(&mut self, kind: JoinKind, method: JoinMethod) -> JoinOptions {
        options(kind, method, self.any(&[2 << 20, 8 << 20, 16 << 20, 64 << 20]))
            .inner(self.any(&[None, None, Some(JoinSide::Left), Some(JoinSide::Right)]))
            .threads(self.any(&[1, 1, 1, 2, 4]))
            .any_order(self.random.one_in(4))
            .tunables((self.tunables)(self.random.below(9)))
            .profile(self.profile())
            .fast_paths(fast_paths::drawn(&mut self.random))
            .spill(Some((self.storage(20), "spilled".into())))
    }

    /// Joins with options that are drawn, and holds the rows against the reference. Returns whether the method could
    /// join these at all.
    #[track_caller]
    pub fn check(
        &mut self,
        sides: (&JoinSource, &JoinSource),
        (kind, method): (JoinKind, JoinMethod),
        expected: &[Joined],
        what: &str,
    ) -> bool {
        let mut options = self.options(kind, method);
        options.condition.clone_from(&self.condition);
        // Little memory may be too little, and a join that says so must do with more.
        if let Err(Error { cause: Cause::JoinMemory { needed_bytes, .. }, .. }) = collect(sides.0, sides.1, &options) {
            assert!(needed_bytes > options.memory_bytes, "{what}: raised to no more");
            options.memory_bytes = 256 << 20;
        }
        let form = self.any(&[Form::Caller, Form::Caller, Form::Lines, Form::Table]);
        if !matches!(form, Form::Caller) {
            // Their buffers come on top.
            options.memory_bytes = options.memory_bytes.max(16 << 20);
        }
        let what = format!("{what}, {form:?}, {options:?}");
        let storage = self.storage(20);
        match form {
            Form::Lines => check_lines(sides, &storage, &options, expected, &what),
            // Rows without partner are filled up to a width that is not known here: `join_rows` takes those apart.
            Form::Table if !matches!(kind, JoinKind::Left | JoinKind::Full) => {
                check_table(sides, &storage, &options, expected, &what)
            }
            _ => check(sides.0, sides.1, &options, expected, &what),
        }
    }
}

/// Whether the join was done; not if the method cannot join these.
fn is_done(outcome: ogive::Result<ogive::join::JoinReport>, rows: usize, what: &str) -> bool {
    match outcome {
        Ok(report) => {
            assert_eq!(report.rows, rows as u64, "{what}");
            true
        }
        Err(error @ Error { cause: Cause::Input, .. })
            if error.detail().contains("cannot join these") || error.detail().contains("no way to be") =>
        {
            false
        }
        Err(error) => panic!("{what}: {error}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn line(key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>) -> String {
    let or_none = |value: Option<&[u8]>| value.map_or_else(|| "none".to_owned(), hex);
    format!("{},{},{}\n", hex(key), or_none(left), or_none(right))
}

fn check_lines(
    sides: (&JoinSource, &JoinSource),
    storage: &Arc<dyn Storage>,
    options: &JoinOptions,
    expected: &[Joined],
    what: &str,
) -> bool {
    let output = JoinOutput::lines(storage.clone(), "joined", true, |key, left, right, to: &mut Vec<u8>| {
        to.extend_from_slice(line(key, left, right).as_bytes());
        Ok(())
    });
    if !is_done(join(sides.0, sides.1, output, options), expected.len(), what) {
        return false;
    }
    let file = storage.open("joined").unwrap();
    let mut bytes = vec![0; file.len() as usize];
    file.read(ReadRequest { offset: 0, buffer: &mut bytes, purpose: Purpose::Walk }).unwrap();
    let mut found: Vec<&str> = std::str::from_utf8(&bytes).unwrap().split_inclusive('\n').collect();
    let mut wanted: Vec<String> =
        expected.iter().map(|(key, left, right)| line(key, left.as_deref(), right.as_deref())).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    assert!(found.iter().eq(wanted.iter()), "{what}: {} lines, {} expected", found.len(), wanted.len());
    true
}

fn check_table(
    sides: (&JoinSource, &JoinSource),
    storage: &Arc<dyn Storage>,
    options: &JoinOptions,
    expected: &[Joined],
    what: &str,
) -> bool {
    let output = JoinOutput::table(storage.clone(), "joined", JoinOutput::options());
    if !is_done(join(sides.0, sides.1, output, options), expected.len(), what) {
        return false;
    }
    let table = Table::open((storage.clone(), "joined"), &TableOptions::default()).unwrap();
    let taken_apart = |(key, value): Row| {
        let (left, right) = joined_values(options.kind, table.record_type(), &value);
        (key, left, right)
    };
    let mut found: Vec<Joined> = table.range::<&[u8]>(..).map(Result::unwrap).map(taken_apart).collect();
    assert!(found.is_sorted_by(|one, other| one.0 <= other.0), "{what}: not in key order");
    let mut wanted = expected.to_vec();
    found.sort();
    wanted.sort();
    assert!(found == wanted, "{what}: {} records, {} expected", found.len(), wanted.len());
    true
}
