//! Damage tests of stores. Goal: with damaged files, a store answers correctly or reports the damage, and never answers
//! wrongly. After a clean close, nothing may be missing unnoticed; after a crash, a torn tail is not damage. Method:
//! each kind of file of a small store, with flipped bits, truncated, moved, mixed, old or missing. The options are
//! drawn anew for each opening.

use crate::support::{Draws, Files, History, Records, World, files, in_any_memory, matching, memory, read_all, small};
use ogive::io::{MemoryStorage, Storage};
use ogive::lsm::Db;
use ogive::{Cause, Error};
use ogive_testkit::{Random, Repeat, seeds};
use std::collections::BTreeMap;
use std::sync::Arc;

type Answers = BTreeMap<String, Records>;

fn storage(files: &Files) -> Arc<dyn Storage> {
    Arc::new(memory(files))
}

/// Drawn options with which most runs have a log.
fn draws(seed: u64) -> Draws {
    Draws::new(seed, &small().writes(|writes| writes.memtable_bytes(8 << 10)))
}

fn repeat(seed: u64) -> Repeat {
    Repeat::new(env!("CARGO_CRATE_NAME"), seed)
}

/// A store after random work.
struct Made {
    /// Its files before and after closing.
    open: Files,
    closed: Files,
    answers: Answers,
    /// Draws the options of each opening of a damaged copy.
    draws: Draws,
}

fn made(seed: u64) -> Made {
    let memory = MemoryStorage::new();
    let dynamic: Arc<dyn Storage> = Arc::new(memory.clone());
    let (mut history, mut random) = (History::default(), Random::new(seed));
    let mut draws = draws(seed);
    let mut world = World::open(&dynamic, draws.others(seed), &history).unwrap();
    for _ in 0..60 {
        world.step(&mut history, &mut random).unwrap();
    }
    // Ensures that the log, and usually a value file, is not empty.
    for number in 0..5 {
        world.write(&mut history, &mut random).unwrap();
        world.db().insert([b'z', number], vec![number; 150]).unwrap();
    }
    let answers = read_all(world.db()).unwrap();
    let open = files(&memory);
    world.close(&mut history).unwrap();
    in_any_memory(&memory, &draws.next(), |db| assert_eq!(read_all(db).unwrap(), answers));
    Made { open, closed: files(&memory), answers, draws }
}

/// The answers of a store, or its error.
fn ask(files: &Files, draws: &mut Draws) -> Result<Answers, String> {
    let db = Db::open(storage(files), &draws.next()).map_err(|error| describe(&error))?;
    read_all(&db)
}

fn describe(error: &Error) -> String {
    assert!(!matches!(error, Error { cause: Cause::Input, .. }), "{error}");
    error.to_string()
}

/// Fails on wrong answers; returns whether the damage was reported.
fn right_or_told(files: &Files, made: &mut Made, what: &str) -> bool {
    match ask(files, &mut made.draws) {
        Ok(found) => {
            assert!(found == made.answers, "{what}: answered wrongly");
            false
        }
        Err(_) => true,
    }
}

fn kind(name: &str) -> &str {
    name.rsplit('.').next().unwrap()
}

/// The valid length of each log. The files of recycled logs contain older groups after it.
fn log_ends(made: &mut Made) -> BTreeMap<String, usize> {
    let closed = made.closed.clone();
    let logs = closed.iter().filter(|(name, _)| kind(name) == "log");
    let end = |(name, content): (&String, &Vec<u8>)| {
        let mut is_told = |length: usize| {
            let mut cut = closed.clone();
            cut.get_mut(name).unwrap().truncate(length);
            ask(&cut, &mut made.draws).is_err()
        };
        let (mut low, mut high) = (0, content.len());
        while low < high {
            let middle = (low + high) / 2;
            if is_told(middle) { low = middle + 1 } else { high = middle }
        }
        (name.clone(), low)
    };
    let ends: BTreeMap<String, usize> = logs.map(end).collect();
    assert!(ends.values().any(|&end| end > 100), "no log is needed: {ends:?}");
    ends
}

/// The byte positions to damage: all near both ends, some between.
fn sample(length: usize, random: &mut Random) -> Vec<usize> {
    (0..length).filter(|&at| at < 64 || at + 40 > length || random.one_in(32)).collect()
}

#[test]
fn every_kind_of_file_is_there() {
    let all: Vec<Made> = (1..6).map(made).collect();
    for ending in ["table", "log", "values", "manifest"] {
        let has = |files: &Files| files.keys().any(|name| kind(name) == ending);
        assert!(all.iter().any(|made| has(&made.open)), "no {ending} in an open store");
        assert!(all.iter().any(|made| has(&made.closed)), "no {ending} in a closed store");
    }
}

#[test]
fn a_flipped_bit_anywhere_is_told_or_does_no_harm() {
    for seed in seeds(1..3) {
        let _repeat = repeat(seed);
        let mut made = made(seed);
        let closed = made.closed.clone();
        let mut random = Random::new(seed);
        let ends = log_ends(&mut made);
        let mut told: BTreeMap<String, (u32, u32)> = BTreeMap::new();
        for (name, content) in &closed {
            let length = ends.get(name).copied().unwrap_or(content.len());
            for at in sample(length, &mut random) {
                let mut damaged = closed.clone();
                damaged.get_mut(name).unwrap()[at] ^= 1 << random.below(8);
                let count = told.entry(kind(name).to_owned()).or_default();
                count.1 += 1;
                let what = format!("seed {seed}: byte {at} of {name}");
                count.0 += u32::from(right_or_told(&damaged, &mut made, &what));
            }
        }
        for ending in ["log", "manifest"] {
            let (told, tried) = told[ending];
            assert_eq!(told, tried, "every bit of a {ending} counts after a clean close");
        }
    }
}

#[test]
fn a_file_that_was_cut_or_is_gone_is_told_or_does_no_harm() {
    for seed in seeds(1..4) {
        let _repeat = repeat(seed);
        let mut made = made(seed);
        let closed = made.closed.clone();
        let mut random = Random::new(seed);
        let ends = log_ends(&mut made);
        for (name, content) in &closed {
            let end = ends.get(name).copied().unwrap_or(content.len());
            for length in sample(end, &mut random) {
                let mut damaged = closed.clone();
                damaged.get_mut(name).unwrap().truncate(length);
                let is_told = right_or_told(&damaged, &mut made, &format!("seed {seed}: {name} cut to {length}"));
                assert!(is_told, "{name} cut to {length} bytes of {}", content.len());
            }
            let mut damaged = closed.clone();
            damaged.remove(name);
            let is_told = right_or_told(&damaged, &mut made, &format!("seed {seed}: {name} gone"));
            assert!(is_told || end == 0, "{name} is gone");
        }
    }
}

#[test]
fn blocks_in_the_place_of_others_are_told_or_do_no_harm() {
    for seed in seeds(1..3) {
        let _repeat = repeat(seed);
        let mut made = made(seed);
        let (open, closed) = (made.open.clone(), made.closed.clone());
        let mut random = Random::new(seed);
        let names: Vec<&String> = closed.keys().collect();
        for round in 0..1_500 {
            let pick = |random: &mut Random| names[random.below(names.len() as u64) as usize];
            let (to, from) = (pick(&mut random), pick(&mut random));
            let block = [1, 16, 64, 512][random.below(4) as usize];
            let source = if random.one_in(3) { open.get(from).unwrap_or(&closed[from]) } else { &closed[from] };
            let mut damaged = closed.clone();
            let target = damaged.get_mut(to).unwrap();
            let place = |length: usize, random: &mut Random| random.below(length as u64) as usize / block * block;
            let (at, of) = (place(target.len(), &mut random), place(source.len(), &mut random));
            let length = block.min(target.len() - at).min(source.len() - of);
            target[at..at + length].copy_from_slice(&source[of..of + length]);
            let what = format!("seed {seed}, round {round}: {length} bytes of {from} at {of} put at {at} of {to}");
            right_or_told(&damaged, &mut made, &what);
        }
    }
}

#[test]
fn files_in_the_place_of_others_are_told() {
    for seed in seeds(1..6) {
        let _repeat = repeat(seed);
        let (strange, mut made) = (made(seed + 100).closed, made(seed));
        let ends = log_ends(&mut made);
        let mut closed = made.closed.clone();
        closed.retain(|name, _| ends.get(name) != Some(&0));
        for (one, content) in &closed {
            for other in closed.keys().filter(|other| kind(other) == kind(one) && *other != one) {
                let mut damaged = closed.clone();
                damaged.insert(other.clone(), content.clone());
                let is_told = right_or_told(&damaged, &mut made, &format!("seed {seed}: {one} as {other}"));
                assert!(is_told, "seed {seed}: {one} in the place of {other}");
            }
        }
        // And of another store.
        for (name, content) in &closed {
            for (_, other) in strange.iter().filter(|(other, _)| kind(other) == kind(name)) {
                let mut damaged = closed.clone();
                damaged.insert(name.clone(), other.clone());
                if content != other {
                    let is_told = right_or_told(&damaged, &mut made, &format!("seed {seed}: a strange {name}"));
                    assert!(is_told, "seed {seed}: a file of another store as {name}");
                }
            }
        }
    }
}

/// Pitfall: a torn tail mistaken for damage makes a store impossible to open.
#[test]
fn a_log_with_a_torn_tail_opens_and_holds_what_came_before() {
    for seed in seeds(0..3) {
        let _repeat = repeat(seed);
        let memory = MemoryStorage::new();
        let dynamic: Arc<dyn Storage> = Arc::new(memory.clone());
        let like = small().writes(|writes| writes.memtable_bytes(1 << 20));
        let mut draws = Draws::new(seed, &like);
        let (mut history, mut random) = (History::default(), Random::new(seed));
        let world = World::open(&dynamic, draws.others(seed), &history).unwrap();
        for _ in 0..30 {
            world.write(&mut history, &mut random).unwrap();
        }
        history.durable = 0;
        let left = files(&memory);
        drop(world);
        let mut last = 0;
        for (name, content) in left.iter().filter(|(name, _)| kind(name) == "log" || kind(name) == "values") {
            for length in sample(content.len(), &mut random) {
                let mut torn = left.clone();
                torn.get_mut(name).unwrap().truncate(length);
                let what = format!("seed {seed}: {name} torn at {length} of {}", content.len());
                // Some batches requested a sync, so what they state as durable must be there.
                match Db::open(storage(&torn), &draws.next()) {
                    Ok(db) => {
                        last = last.max(matching(&history, &db).unwrap_or_else(|error| panic!("{what}: {error}")).0)
                    }
                    Err(Error { cause: Cause::Damaged, .. }) => {}
                    Err(error) => panic!("{what}: {error}"),
                }
            }
        }
        assert!(last > 0, "no torn store held anything");
    }
}

#[test]
fn what_no_store_has_written_is_refused_or_ignored() {
    let mut made = made(1);
    let (closed, answers) = (made.closed.clone(), made.answers.clone());
    let mut strange = closed.clone();
    strange.insert("notes.txt".into(), b"hello".to_vec());
    strange.insert("00001.table".into(), b"hello".to_vec());
    strange.insert("x.log".into(), vec![]);
    assert_eq!(ask(&strange, &mut made.draws).unwrap(), answers);
    // Numbers unknown to the store: leftovers, or the work of an interrupted job.
    for ending in ["table", "log", "values"] {
        let mut strange = closed.clone();
        strange.insert(format!("900000.{ending}"), b"hello".to_vec());
        assert_eq!(ask(&strange, &mut made.draws).unwrap(), answers, "an orphan {ending}");
    }
    let mut alone = Files::new();
    alone.insert("000005.table".into(), b"hello".to_vec());
    assert!(ask(&alone, &mut made.draws).is_err(), "files of a store without a manifest");
}
