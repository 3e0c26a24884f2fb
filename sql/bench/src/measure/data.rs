//! The data set of the measurements: users, their events, and streams of ids, from a seed.

use crate::error::file;
use crate::files::{FilesWriter, TableName};
use crate::mixed::mixed;
use datafusion::arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use datafusion::error::Result;
use ogive::Profile;
use ogive_testkit::Random;
use std::path::Path;
use std::sync::Arc;

/// Rows of `users` for each row of the stream that is joined with it.
pub(super) const RATIOS: [u64; 5] = [1, 10, 100, 1_000, 10_000];
/// Users of a region of equal density.
const REGION_USERS: u64 = 1 << 14;
/// The widest distance of two users.
const WIDTH_MAX: u64 = 97;
const BATCH_ROWS: u64 = 1 << 16;
const KINDS: [&str; 5] = ["view", "view", "order", "return", "complaint"];

/// The ids of users, computed from their numbers.
#[derive(Clone, Debug)]
pub(super) struct UserIds {
    users: u64,
    seed: u64,
    /// The first id of each region, and the ids that each of its users has to itself.
    regions: Vec<(u64, u64)>,
}

impl UserIds {
    pub(super) fn new(users: u64, seed: u64) -> Self {
        let mut start = 1_000;
        let regions = (0..users.div_ceil(REGION_USERS)).map(|region| {
            let chance = mixed(seed ^ mixed(region + 1));
            // Between regions, there may be a wide gap.
            start += if chance.is_multiple_of(5) { 1 << 24 } else { 0 };
            let width = 1 + (chance >> 8) % WIDTH_MAX;
            let first = start;
            start += REGION_USERS * width;
            (first, width)
        });
        Self { users, seed, regions: regions.collect() }
    }

    pub(super) fn users(&self) -> u64 {
        self.users
    }

    /// The id of a user; ids ascend with numbers.
    pub(super) fn id(&self, user: u64) -> i64 {
        let (first, width) = self.regions[(user / REGION_USERS) as usize];
        let id = first + user % REGION_USERS * width + mixed(self.seed ^ user) % width;
        id.cast_signed()
    }

    /// The id of some user; half of all draws prefer those with small numbers.
    pub(super) fn draw(&self, draw: &mut Random) -> i64 {
        let share = draw.unit();
        let share = if draw.one_in(2) { share * share * share } else { share };
        self.id((share * self.users as f64) as u64)
    }

    /// The first and the last id of a range of users.
    pub(super) fn range(&self, draw: &mut Random, users: u64) -> (i64, i64) {
        let users = users.clamp(1, self.users);
        let first = draw.below(self.users - users + 1);
        (self.id(first), self.id(first + users - 1))
    }
}

/// The tables by the keys of which they are sorted.
pub(super) fn users() -> TableName {
    TableName::new("users", &["id"])
}

pub(super) fn events() -> TableName {
    TableName::new("events", &["user_id"])
}

/// The stream with one row for each `ratio` users.
pub(super) fn stream(ratio: u64) -> TableName {
    TableName { is_sorted: false, ..TableName::new(&format!("stream_{ratio}"), &["id"]) }
}

fn batch_of(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    Ok(RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, false)))?)
}

/// Writes batches, of which there is at least one.
fn write(
    profile: &Profile,
    folder: &Path,
    table: &TableName,
    batches: impl Iterator<Item = Result<RecordBatch>>,
) -> Result<()> {
    let mut writer = None;
    for batch in batches {
        let batch = batch?;
        let writer = match &mut writer {
            Some(writer) => writer,
            none => none.insert(FilesWriter::create_for(profile, folder, table, &batch.schema())?),
        };
        writer.write(&batch)?;
    }
    writer.map_or(Ok(()), FilesWriter::finish)
}

/// Numbers in steps of a batch.
fn steps(rows: u64) -> impl Iterator<Item = std::ops::Range<u64>> {
    (0..rows.max(1).div_ceil(BATCH_ROWS)).map(move |step| step * BATCH_ROWS..rows.min((step + 1) * BATCH_ROWS))
}

pub(super) fn user_rows(ids: &UserIds, numbers: std::ops::Range<u64>) -> Result<RecordBatch> {
    let chance = |user: u64| mixed(ids.seed.rotate_left(17) ^ user);
    let id: Int64Array = numbers.clone().map(|user| Some(ids.id(user))).collect();
    let team = |user: u64| {
        let share = (chance(user) >> 40) as f64 / (1_u64 << 24) as f64;
        (share * share * share * 1_000.0) as i32
    };
    let team: Int32Array = numbers.clone().map(|user| Some(team(user))).collect();
    let balance: Int64Array =
        numbers.clone().map(|user| Some((chance(user) % 2_000_000).cast_signed() - 500_000)).collect();
    let name: StringArray = numbers.map(|user| Some(format!("user-{:08x}", chance(user) as u32))).collect();
    batch_of(vec![
        ("id", Arc::new(id)),
        ("team", Arc::new(team)),
        ("balance", Arc::new(balance)),
        ("name", Arc::new(name)),
    ])
}

/// Events of a range of users: none for half of them, and hundreds for one in a thousand.
fn event_rows(ids: &UserIds, numbers: std::ops::Range<u64>) -> Result<RecordBatch> {
    let mut draw = Random::new(ids.seed ^ mixed(numbers.start + 3));
    let (mut user_ids, mut times, mut amounts, mut kinds) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for user in numbers {
        let mut events = draw.next_u64().trailing_zeros();
        if draw.one_in(1_000) {
            events += draw.below(500) as u32;
        }
        // One user in fifty was deleted, and another id stands for it, if there is room.
        let is_deleted = draw.one_in(50) && ids.id(user) + 1 < ids.id((user + 1).min(ids.users - 1));
        for _ in 0..events {
            user_ids.push(ids.id(user) + i64::from(is_deleted));
            times.push(1_700_000_000_000 + draw.below(40_000_000_000).cast_signed());
            amounts.push(draw.below(10_000).cast_signed());
            kinds.push(*draw.pick(&KINDS));
        }
    }
    batch_of(vec![
        ("user_id", Arc::new(Int64Array::from(user_ids))),
        ("at", Arc::new(Int64Array::from(times))),
        ("amount", Arc::new(Int64Array::from(amounts))),
        ("kind", Arc::new(StringArray::from(kinds))),
    ])
}

fn stream_rows(ids: &UserIds, ratio: u64, numbers: std::ops::Range<u64>) -> Result<RecordBatch> {
    let mut draw = Random::new(ids.seed ^ mixed(numbers.start + ratio));
    let rows = numbers.count();
    // One id in twenty may be that of no user.
    let id: Int64Array = (0..rows).map(|_| Some(ids.draw(&mut draw) + i64::from(draw.one_in(20)))).collect();
    let amount: Int64Array = (0..rows).map(|_| Some(draw.below(1_000).cast_signed())).collect();
    batch_of(vec![("id", Arc::new(id)), ("amount", Arc::new(amount))])
}

/// Writes all files, with Ogive tables that are tuned for the profile, unless they are there.
pub(super) fn prepare(profile: &Profile, folder: &Path, ids: &UserIds) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(file("create", folder))?;
    let marker = folder.join(format!("users-{}-seed-{}", ids.users, ids.seed));
    if marker.exists() {
        return Ok(());
    }
    let loaded = folder.join("bench.duckdb");
    if loaded.exists() {
        std::fs::remove_file(&loaded).map_err(file("remove", &loaded))?;
    }
    write(profile, folder, &users(), steps(ids.users).map(|numbers| user_rows(ids, numbers)))?;
    write(profile, folder, &events(), steps(ids.users).map(|numbers| event_rows(ids, numbers)))?;
    for ratio in RATIOS {
        let steps = steps((ids.users / ratio).max(1));
        write(profile, folder, &stream(ratio), steps.map(|numbers| stream_rows(ids, ratio, numbers)))?;
    }
    std::fs::write(&marker, "").map_err(file("write", &marker))
}
