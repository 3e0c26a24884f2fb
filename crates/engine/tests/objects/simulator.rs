//! The simulator of stores on an object store. Goal: all acknowledged writes are there, nothing is mixed, and what is
//! not needed any more is removed, whatever happens to requests. Method: for each seed, writers take the store from one
//! another, sleep before requests while others act, lose requests and answers, and die; readers open versions and keep
//! them; requests arrive late and twice; listings are old, empty or of another store; the clock jumps; all of it on one
//! thread. A model knows which batches were acknowledged, and the one that may or may not be there.

use crate::support::{Records, STUB, client, leaks, records, small};
use ogive::io::{ListedFile, Storage, seed_random, set_unix_time_s};
use ogive::lsm::{Db, DbOptions, StoreVersion};
use ogive::{Cause, Error, Result};
use ogive_testkit::{Mishap, ObjectClient, Random, Repeat, SimulatedObjects, named_seed, seeds};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// A batch: `None` removes its key.
type Batch = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// What is known about the contents.
#[derive(Debug, Default)]
struct Model {
    /// The contents after all batches that were decided.
    contents: Records,
    /// The batch of the owner that is under way, or that failed: it may be there, or may appear.
    open: Option<Batch>,
    /// The number of the writer that opened the store last.
    owner: usize,
    /// Whether the last open batch was found by the opening that decided it.
    was_found: bool,
    writers: usize,
    now_s: u64,
}

fn apply(contents: &mut Records, batch: &Batch) {
    for (key, value) in batch {
        match value {
            Some(value) => _ = contents.insert(key.clone(), value.clone()),
            None => _ = contents.remove(key),
        }
    }
}

impl Model {
    fn with_open(&self) -> Records {
        let mut contents = self.contents.clone();
        self.open.iter().for_each(|batch| apply(&mut contents, batch));
        contents
    }

    /// Whether a reader may find these contents now.
    fn allows(&self, found: &Records) -> bool {
        *found == self.contents || *found == self.with_open()
    }

    /// A writer found these contents when it opened the store: the open batch is decided.
    fn taken_over(&mut self, found: Records, number: usize) {
        assert!(self.allows(&found), "writer {number} found something else: {}", self.difference(&found));
        self.was_found = self.open.is_some() && found == self.with_open();
        (self.contents, self.open, self.owner) = (found, None, number);
    }

    fn difference(&self, found: &Records) -> String {
        let keys = |from: &Records, other: &Records| -> Vec<String> {
            let differing = from.iter().filter(|(key, value)| other.get(*key) != Some(value));
            differing.map(|(key, _)| key.escape_ascii().to_string()).collect()
        };
        format!("missing {:?}, found {:?}", keys(&self.contents, found), keys(found, &self.contents))
    }
}

struct Writer {
    number: usize,
    client: ObjectClient,
    db: Db,
}

struct Reader {
    db: Db,
    found: Records,
    version: StoreVersion,
}

#[derive(Clone)]
struct World {
    server: SimulatedObjects,
    model: Arc<Mutex<Model>>,
    random: Arc<Mutex<Random>>,
    /// What false listings show: what the store was before, nothing, and another store.
    listings: Arc<Mutex<Vec<Vec<ListedFile>>>>,
    options: DbOptions,
}

/// The listing of another store, whose objects have names that this one may have.
fn foreign_listing() -> Vec<ListedFile> {
    static LISTING: OnceLock<Vec<ListedFile>> = OnceLock::new();
    let listed = || {
        let server = SimulatedObjects::new();
        for round in 0..3 {
            let db = Db::open(client(&server), &small()).unwrap();
            db.insert(format!("{round}"), "x").unwrap();
            db.flush().unwrap();
        }
        server.listing()
    };
    LISTING.get_or_init(listed).clone()
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let any = |random: &mut Random, choices: &[u64]| choices[random.below(choices.len() as u64) as usize];
        let options = small()
            .writes(|writes| writes.memtable_bytes(any(&mut random, &[4_000, 12_000, 64_000])))
            .levels(|levels| levels.table_bytes(any(&mut random, &[500, 2_000])))
            .values(|values| values.separation_bytes(any(&mut random, &[0, 40, 100, u64::MAX])))
            .objects(|objects| objects.grace_s(any(&mut random, &[0, 60, 300])));
        let model = Model { now_s: 1_000_000, ..Model::default() };
        let listings = Arc::new(Mutex::new(vec![Vec::new(), foreign_listing()]));
        set_unix_time_s(Some(model.now_s));
        seed_random(Some(seed));
        Self {
            server: SimulatedObjects::new(),
            model: Arc::new(Mutex::new(model)),
            random: Arc::new(Mutex::new(random)),
            listings,
            options,
        }
    }

    fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap()
    }

    fn below(&self, bound: u64) -> u64 {
        self.random.lock().unwrap().below(bound)
    }

    fn fork(&self) -> Random {
        Random::new(self.random.lock().unwrap().next_u64())
    }

    /// Lets time pass.
    fn pass(&self, seconds: u64) {
        let mut model = self.model();
        model.now_s += seconds;
        set_unix_time_s(Some(model.now_s));
    }

    /// Opens the store for writing; `None` if that fails, as it may with mishaps and among others.
    fn open_writer(&self, mishaps: u64) -> Option<Writer> {
        let client = self.server.client();
        client.set_mishaps(self.fork(), mishaps);
        if mishaps > 0 && self.below(8) == 0 {
            client.die_at(self.below(6), self.mishap());
        }
        if mishaps > 0 && self.below(3) == 0 {
            self.mislead(&client);
        }
        let number = {
            let mut model = self.model();
            model.writers += 1;
            model.writers
        };
        let storage: Arc<dyn Storage> = Arc::new(client.clone());
        let db = Db::open(storage, &self.options).inspect_err(check_error).ok()?;
        let found = records(&db).ok()?;
        self.model().taken_over(found, number);
        Some(Writer { number, client, db })
    }

    /// Gives a client false listings, some of the times or always.
    fn mislead(&self, client: &ObjectClient) {
        let listings = self.listings.lock().unwrap().clone();
        client.set_false_listings(self.fork(), 1 + self.below(3), listings);
    }

    /// What the store looks like now may be shown later.
    fn note_listing(&self) {
        let listing = self.server.listing();
        let mut listings = self.listings.lock().unwrap();
        if listings.last() != Some(&listing) {
            listings.push(listing);
        }
    }

    /// A reader with false listings finds an earlier version, or says what is wrong; and never that there is no store.
    fn look_misled(&self) {
        let client = self.server.client();
        self.mislead(&client);
        let outcome = Db::open_read_only(Arc::new(client), &self.options).and_then(|db| records(&db));
        let is_there = self.server.objects().contains_key(STUB);
        match outcome {
            Ok(_) | Err(Error { cause: Cause::WrongAnswer | Cause::VersionGone, .. }) => {}
            Err(error) => {
                assert!(matches!(error, Error { cause: Cause::NotAStore, .. }) && !is_there, "a misled reader: {error}")
            }
        }
    }

    fn mishap(&self) -> Option<Mishap> {
        [None, Some(Mishap::Late), Some(Mishap::AnswerLost)][self.below(3) as usize]
    }

    fn batch(&self) -> Batch {
        let mut random = self.random.lock().unwrap();
        let count = 1 + random.below(4);
        let write = |random: &mut Random| {
            let key = format!("key {:02}", random.below(40)).into_bytes();
            let length = [0, 10, 60, 150, 400][random.below(5) as usize];
            let value = random.next_u64().to_string().into_bytes();
            let value = value.into_iter().cycle().take(length).collect();
            (key, (random.below(5) > 0).then_some(value))
        };
        (0..count).map(|_| write(&mut random)).collect()
    }

    /// Commits a batch; before one of its requests, others may act.
    fn commit(&self, writer: &Writer) {
        let batch = self.batch();
        let is_first = {
            let mut model = self.model();
            let is_first = model.owner == writer.number && model.open.is_none();
            if is_first {
                model.open = Some(batch.clone());
            }
            is_first
        };
        if self.below(6) == 0 {
            self.set_hook(writer);
        }
        let outcome = write(&writer.db, &batch).inspect_err(check_error);
        writer.client.set_hook(None);
        let mut model = self.model();
        // After an error it stays open until the next writer finds it, or not.
        if outcome.is_ok() {
            assert!(is_first, "a write after a failure, or of a writer that was taken over, was acknowledged");
            if model.owner != writer.number {
                assert!(model.was_found, "an acknowledged write was not found by the next writer");
            } else {
                let open = model.open.take().unwrap();
                apply(&mut model.contents, &open);
            }
        }
    }

    /// Lets something happen before one of the next requests of a writer.
    fn set_hook(&self, writer: &Writer) {
        let (world, mut wait) = (self.clone(), self.below(6));
        writer.client.set_hook(Some(Box::new(move || {
            if wait == 0 {
                world.interrupt();
            }
            wait = wait.wrapping_sub(1);
        })));
    }

    /// What others do while a writer sleeps.
    fn interrupt(&self) {
        match self.below(4) {
            0 => _ = self.server.deliver(&mut self.fork()),
            1 => self.look(),
            _ => {
                let mishaps = [0, 0, 10][self.below(3) as usize];
                let Some(other) = self.open_writer(mishaps) else { return };
                for _ in 0..self.below(4) {
                    let batch = self.batch();
                    let mut model = self.model();
                    if model.owner != other.number || model.open.is_some() {
                        break;
                    }
                    model.open = Some(batch.clone());
                    drop(model);
                    if write(&other.db, &batch).inspect_err(check_error).is_ok() {
                        let mut model = self.model();
                        let open = model.open.take().unwrap();
                        apply(&mut model.contents, &open);
                    }
                    self.pass(self.below(400));
                }
                match self.below(3) {
                    0 => _ = other.db.close().inspect_err(check_error),
                    1 => other.client.die_at(other.client.changes(), None),
                    _ => {}
                }
            }
        }
    }

    /// A reader that goes at once.
    fn look(&self) {
        drop(self.open_reader());
    }

    fn open_reader(&self) -> Option<Reader> {
        let storage: Arc<dyn Storage> = Arc::new(self.server.client());
        let mut options = self.options.clone();
        options.create = false;
        match Db::open_read_only(storage, &options) {
            Ok(db) => {
                let found = records(&db).unwrap();
                let model = self.model();
                assert!(model.allows(&found), "a reader found something else: {}", model.difference(&found));
                Some(Reader { version: db.version().unwrap(), db, found })
            }
            Err(error) => {
                assert!(matches!(error, Error { cause: Cause::NotAStore, .. }), "a reader: {error}");
                None
            }
        }
    }

    /// A reader finds what it found, or an error that says that it stayed away too long; or goes on.
    fn use_reader(&self, reader: &mut Reader) {
        check_old(records(&reader.db), &reader.found);
        if self.below(3) == 0 {
            let storage: Arc<dyn Storage> = Arc::new(self.server.client());
            let again = Db::open_version(&storage, &self.options, reader.version);
            check_old(again.and_then(|again| records(&again)), &reader.found);
        }
        if self.below(3) == 0 {
            reader.db.refresh().unwrap();
            let found = records(&reader.db).unwrap();
            let model = self.model();
            assert!(model.allows(&found), "after a refresh: {}", model.difference(&found));
            (reader.found, reader.version) = (found, reader.db.version().unwrap());
        }
    }

    /// Another writer, or the end of one.
    fn change_writers(&self, writers: &mut Vec<Writer>) {
        match self.below(4) {
            0 if !writers.is_empty() => {
                let writer = writers.swap_remove(self.below(writers.len() as u64) as usize);
                writer.client.die_at(writer.client.changes() + self.below(3), self.mishap());
            }
            1 if !writers.is_empty() => {
                let writer = writers.swap_remove(self.below(writers.len() as u64) as usize);
                _ = writer.db.close().inspect_err(check_error);
            }
            _ => writers.extend(self.open_writer([0, 0, 30, 8][self.below(4) as usize])),
        }
    }

    /// Goes on after a failure, whose batch is decided then.
    fn resume(&self, writer: &Writer) {
        if writer.db.resume().inspect_err(check_error).is_ok()
            && self.model().owner == writer.number
            && let Ok(found) = records(&writer.db)
        {
            self.model().taken_over(found, writer.number);
        }
    }

    fn step(&self, writers: &mut Vec<Writer>, readers: &mut Vec<Reader>) {
        if self.below(4) == 0 {
            self.note_listing();
        }
        match self.below(21) {
            20 => self.look_misled(),
            0 | 1 => self.change_writers(writers),
            2 if readers.len() < 3 => readers.extend(self.open_reader()),
            2 | 3 => readers.iter_mut().for_each(|reader| self.use_reader(reader)),
            4 => self.pass(self.below(500)),
            5 => _ = self.server.deliver(&mut self.fork()),
            step => {
                let Some(writer) = writers.get(self.below(writers.len() as u64) as usize) else { return };
                match step {
                    6 => _ = writer.db.flush().inspect_err(check_error),
                    7 if self.below(4) == 0 => _ = writer.db.compact().inspect_err(check_error),
                    8 => self.resume(writer),
                    _ => self.commit(writer),
                }
            }
        }
    }

    /// Lets all late requests arrive, and checks contents and leaks.
    fn finish(&self) {
        while self.server.deliver(&mut self.fork()) {}
        // Its memtables hold all that it writes, so that it changes no file after its opening but by removals.
        let quiet =
            Self { options: self.options.clone().writes(|writes| writes.memtable_bytes(1 << 20)), ..self.clone() };
        let last = quiet.open_writer(0).unwrap();
        last.db.compact().unwrap();
        // Files are found to be left after one grace period, and removed after another.
        for _ in 0..3 {
            self.pass(2_000);
            last.db.insert("last", "x").unwrap();
        }
        self.model().contents.insert(b"last".to_vec(), b"x".to_vec());
        self.look();
        let leaks = leaks(&self.server);
        assert!(leaks.is_empty(), "{leaks:?}");
        assert!(self.server.objects().contains_key(STUB));
    }
}

/// A version that a reader has: as it was, or gone.
fn check_old(found: Result<Records>, expected: &Records) {
    match found {
        Ok(found) => assert!(found == *expected, "an old version has changed"),
        Err(error) => assert!(matches!(error, Error { cause: Cause::VersionGone, .. }), "{error}"),
    }
}

/// No error says that something is damaged.
fn check_error(error: &Error) {
    let is_expected =
        matches!(error, Error { cause: Cause::Fenced | Cause::Io(_) | Cause::ReadOnly | Cause::WrongAnswer, .. });
    assert!(is_expected, "{error:?}");
}

fn write(db: &Db, batch: &Batch) -> Result<()> {
    let mut writes = db.batch();
    for (key, value) in batch {
        match value {
            Some(value) => writes.insert(db, key, value),
            None => writes.remove(db, key),
        };
    }
    writes.commit()
}

fn simulate(seed: u64) {
    let _repeat = Repeat::new(env!("CARGO_CRATE_NAME"), seed);
    let world = World::new(seed);
    let (mut writers, mut readers) = (Vec::new(), Vec::new());
    for _ in 0..60 {
        world.step(&mut writers, &mut readers);
    }
    writers.iter().for_each(|writer| writer.client.die_at(0, None));
    drop((writers, readers));
    world.finish();
    seed_random(None);
    set_unix_time_s(None);
}

#[test]
fn acknowledged_writes_are_there_and_nothing_is_mixed_whatever_happens_to_requests() {
    for seed in seeds(0..1_000) {
        simulate(seed);
    }
}

#[test]
#[ignore = "long: 10 minutes"]
fn acknowledged_writes_are_there_whatever_happens_to_requests_for_many_more_seeds() {
    let first = named_seed().unwrap_or(10_000);
    for seed in first..first + 100_000 {
        simulate(seed);
    }
}
