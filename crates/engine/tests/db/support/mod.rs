//! Test support: a plain model of a store, and random work on both.

#![allow(dead_code, unused_imports, reason = "each test uses its part")]

mod draws;

pub(crate) use draws::Draws;
use draws::drawn_keyspace_options;
use ogive::io::{MemoryStorage, Purpose, ReadRequest, Storage};
use ogive::lsm::{Db, DbOptions, Keyspace};
use ogive::table::{TableWriteOptions, TableWriter};
use ogive::{Advice, Cause, Durability, Error, KeyType, Result, Setting};
use ogive_testkit::Random;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The records of one keyspace.
pub(crate) type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// The records of all keyspaces by instance: a keyspace that is dropped and created again is another instance.
pub(crate) type Contents = BTreeMap<usize, Records>;

/// The instance of each keyspace name.
pub(crate) type Names = BTreeMap<String, usize>;

/// The files of a folder, by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// The files of a store, without its lock.
pub(crate) fn files(memory: &MemoryStorage) -> Files {
    let names = memory.list().unwrap().into_iter().filter(|name| name != "LOCK");
    names.map(|name| (name.clone(), memory.content(&name).unwrap())).collect()
}

/// A storage with these files.
pub(crate) fn memory(files: &Files) -> MemoryStorage {
    let memory = MemoryStorage::new();
    files.iter().for_each(|(name, content)| memory.put(name, content.clone()).unwrap());
    memory
}

/// A small store in which everything happens soon: memtables, tables and levels of a few KiB, and separation from 100
/// bytes on.
pub(crate) fn small() -> DbOptions {
    DbOptions::default()
        .threads(0)
        .memory_bytes(1 << 20)
        .writes(|writes| writes.memtable_bytes(1 << 10).group_bytes(700))
        .levels(|levels| levels.table_bytes(2 << 10).level_bytes(4 << 10).level_factor(2).block_bytes(512))
        .values(|values| values.separation_bytes(100))
}

/// The minimum memory of a store in bytes.
pub(crate) const LEAST_MEMORY: u64 = 1 << 20;

/// A copy of all files.
pub(crate) fn copy_of(storage: &dyn Storage) -> Arc<MemoryStorage> {
    let copied = Arc::new(MemoryStorage::new());
    copy(storage, &*copied);
    copied
}

/// Copies all files.
pub(crate) fn copy(from: &dyn Storage, to: &dyn Storage) {
    for name in from.list().unwrap() {
        let mut file = to.create(&name).unwrap();
        file.append(&content(from, &name)).unwrap();
        file.sync().unwrap();
    }
}

fn content(storage: &dyn Storage, name: &str) -> Vec<u8> {
    let file = storage.open(name).unwrap();
    let mut buffer = vec![0; file.len() as usize];
    file.read(ReadRequest { offset: 0, buffer: &mut buffer, purpose: Purpose::Walk }).unwrap();
    buffer
}

/// Opens a store with the memory of its options, or with the memory that it reports to need, if that is more.
pub(crate) fn open_or_raise(storage: &Arc<dyn Storage>, options: &DbOptions) -> Db {
    let mut memory_bytes = options.memory_bytes;
    loop {
        match Db::open(Arc::clone(storage), &options.clone().memory_bytes(memory_bytes)) {
            Err(error @ Error { cause: Cause::Memory { needed_bytes, given_bytes }, .. }) => {
                assert_eq!(given_bytes, memory_bytes);
                assert_eq!(
                    error.advice(),
                    Some(&Advice::Raise { option: Setting::StoreMemory, to: Some(needed_bytes) })
                );
                assert!(needed_bytes > given_bytes, "{needed_bytes} are no more than {given_bytes}");
                memory_bytes = needed_bytes;
            }
            opened => return opened.unwrap(),
        }
    }
}

/// Opens copies of a closed store with the minimum memory and with more, and passes them to `check`.
pub(crate) fn in_any_memory(storage: &dyn Storage, options: &DbOptions, mut check: impl FnMut(&Db)) {
    for memory_bytes in [LEAST_MEMORY, 16 << 20, 2 << 30] {
        let copied: Arc<dyn Storage> = copy_of(storage);
        let db = open_or_raise(&copied, &options.clone().memory_bytes(memory_bytes));
        check(&db);
        db.close().unwrap();
    }
}

/// The history of a run.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// Contents after each batch that was begun.
    pub(crate) contents: Vec<Contents>,
    /// Names after each creation or drop of a keyspace that was begun.
    pub(crate) names: Vec<Names>,
    /// The first of each that may be found after a crash.
    pub(crate) durable: usize,
    pub(crate) durable_names: usize,
    /// Whether the store certainly exists.
    pub(crate) is_made: bool,
}

impl Default for History {
    fn default() -> Self {
        let names = Names::from([("default".to_owned(), 0)]);
        Self { contents: vec![Contents::new()], names: vec![names], durable: 0, durable_names: 0, is_made: false }
    }
}

impl History {
    /// The current contents.
    pub(crate) fn now(&self) -> (&Contents, &Names) {
        (self.contents.last().unwrap(), self.names.last().unwrap())
    }

    /// Records that everything so far is durable.
    pub(crate) fn all_durable(&mut self) {
        self.durable = self.contents.len() - 1;
        self.durable_names = self.names.len() - 1;
    }
}

pub(crate) fn key(random: &mut Random) -> Vec<u8> {
    let number = random.below(40);
    let length = 1 + number as usize % 5 * 3;
    (0..length).map(|i| if i == 0 { number as u8 } else { b'a' + i as u8 }).collect()
}

fn value(random: &mut Random) -> Vec<u8> {
    let length = match random.below(10) {
        0 => 0,
        1..4 => random.below(100),
        4..9 => 100 + random.below(300),
        _ => random.below(3000),
    };
    let plain = random.one_in(2);
    (0..length).map(|i| if plain { (i / 50) as u8 } else { random.next_u64() as u8 }).collect()
}

/// A store and its model.
pub(crate) struct World {
    pub(crate) db: Option<Db>,
    storage: Arc<dyn Storage>,
    /// The options drawn for each opening, and those of the last one.
    draws: Draws,
    options: DbOptions,
    keyspaces: BTreeMap<usize, Keyspace>,
    snapshots: Vec<(ogive::lsm::DbSnapshot, Contents, Names)>,
    next_instance: usize,
}

impl World {
    /// Opens the store, now and later with drawn options; the model has its contents.
    pub(crate) fn open(storage: &Arc<dyn Storage>, draws: Draws, history: &History) -> Result<Self> {
        let next_instance = history.names.iter().flat_map(|names| names.values()).max().unwrap() + 1;
        let mut world = Self {
            db: None,
            storage: Arc::clone(storage),
            draws,
            options: DbOptions::default(),
            keyspaces: BTreeMap::new(),
            snapshots: Vec::new(),
            next_instance,
        };
        world.reopen(history)?;
        Ok(world)
    }

    fn reopen(&mut self, history: &History) -> Result<()> {
        self.options = self.draws.next();
        let db = Db::open(Arc::clone(&self.storage), &self.options)?;
        for (name, &instance) in history.now().1 {
            self.keyspaces.insert(instance, db.keyspace(name)?);
        }
        self.db = Some(db);
        Ok(())
    }

    pub(crate) fn db(&self) -> &Db {
        self.db.as_ref().unwrap()
    }

    /// Continues with an open store that has the contents of the history.
    pub(crate) fn go_on(&mut self, history: &History) -> Result<()> {
        self.snapshots.clear();
        self.keyspaces.clear();
        for (name, &instance) in history.now().1 {
            let keyspace = self.db().keyspace(name)?;
            self.keyspaces.insert(instance, keyspace);
        }
        Ok(())
    }

    /// Closes the store, which makes everything durable.
    pub(crate) fn close(&mut self, history: &mut History) -> Result<()> {
        self.snapshots.clear();
        self.keyspaces.clear();
        if let Some(db) = self.db.take() {
            db.close()?;
        }
        history.all_durable();
        Ok(())
    }

    /// One random operation.
    pub(crate) fn step(&mut self, history: &mut History, random: &mut Random) -> Result<()> {
        match random.below(60) {
            0 => {
                self.close(history)?;
                self.reopen(history)?;
            }
            1 | 2 => {
                self.db().flush()?;
                history.all_durable();
            }
            3 => {
                self.db().compact()?;
                history.all_durable();
            }
            4 => {
                self.db().persist()?;
                history.all_durable();
            }
            5 => {
                let (contents, names) = history.now();
                self.snapshots.push((self.db().snapshot(), contents.clone(), names.clone()));
            }
            6 => self.check_snapshots(),
            7 | 8 => self.make_keyspace(history, random)?,
            9 => self.drop_keyspace(history, random)?,
            10 => self.stream(history, random)?,
            11 | 12 => self.ingest(history, random)?,
            13 => self.checkpoint(history)?,
            14 => self.set_options(random)?,
            _ => self.write(history, random)?,
        }
        Ok(())
    }

    /// Checks that all snapshots show the contents at their time.
    fn check_snapshots(&mut self) {
        for (snapshot, contents, names) in std::mem::take(&mut self.snapshots) {
            for instance in names.values() {
                // A dropped keyspace has no past.
                let Some(keyspace) = self.keyspaces.get(instance) else { continue };
                let found = collect(snapshot.range::<&[u8]>(keyspace, ..));
                if let Ok(found) = found {
                    assert_eq!(&found, contents.get(instance).unwrap_or(&Records::new()), "a snapshot has changed");
                }
            }
        }
    }

    fn make_keyspace(&mut self, history: &mut History, random: &mut Random) -> Result<()> {
        let name = format!("k{}", random.below(3));
        if history.now().1.contains_key(&name) {
            return Ok(());
        }
        let instance = self.next_instance;
        self.next_instance += 1;
        let mut names = history.now().1.clone();
        names.insert(name.clone(), instance);
        history.names.push(names);
        self.keyspaces.insert(instance, self.db().keyspace(&name)?);
        history.durable_names = history.names.len() - 1;
        Ok(())
    }

    /// Gives a keyspace other options, which change no contents.
    fn set_options(&self, random: &mut Random) -> Result<()> {
        let at = random.below(self.keyspaces.len() as u64) as usize;
        let Some(keyspace) = self.keyspaces.values().nth(at) else { return Ok(()) };
        keyspace.set_options(&drawn_keyspace_options(random))
    }

    fn drop_keyspace(&mut self, history: &mut History, random: &mut Random) -> Result<()> {
        let name = format!("k{}", random.below(3));
        let mut names = history.now().1.clone();
        let Some(instance) = names.remove(&name) else { return Ok(()) };
        history.names.push(names);
        self.keyspaces.remove(&instance);
        assert!(self.db().drop_keyspace(&name)?);
        history.durable_names = history.names.len() - 1;
        Ok(())
    }

    /// A batch of one to six operations on any keyspaces.
    pub(crate) fn write(&self, history: &mut History, random: &mut Random) -> Result<()> {
        let mut after = history.now().0.clone();
        let mut batch = self.db().batch();
        for _ in 0..1 + random.below(6) {
            let at = random.below(self.keyspaces.len() as u64) as usize;
            let (&instance, keyspace) = self.keyspaces.iter().nth(at).unwrap();
            let records = after.entry(instance).or_default();
            let key = key(random);
            match random.below(12) {
                0 | 1 => {
                    batch.remove(keyspace, &key);
                    records.remove(&key);
                }
                2 if random.one_in(3) => {
                    let end = [&key[..1], &[0xff]].concat();
                    let start = vec![key[0].saturating_sub(random.below(6) as u8)];
                    batch.remove_range(keyspace, start.clone()..end.clone());
                    records.retain(|key, _| *key < start || *key >= end);
                }
                _ => {
                    let value = value(random);
                    batch.insert(keyspace, &key, &value);
                    records.insert(key, value);
                }
            }
        }
        let durability = match random.below(8) {
            0 => Durability::Synced,
            1 => Durability::Buffered,
            _ => self.options.durability,
        };
        batch.durability(durability);
        history.contents.push(after);
        batch.commit()?;
        if durability == Durability::Synced {
            history.durable = history.contents.len() - 1;
        }
        Ok(())
    }

    /// Writes a value as a stream.
    fn stream(&self, history: &mut History, random: &mut Random) -> Result<()> {
        let (&instance, keyspace) = self.keyspaces.iter().next().unwrap();
        let length = if random.one_in(4) { 70_000 } else { random.below(1000) as usize };
        let (key, value) = (key(random), vec![random.next_u64() as u8; length]);
        let mut after = history.now().0.clone();
        after.entry(instance).or_default().insert(key.clone(), value.clone());
        history.contents.push(after);
        keyspace.insert_stream(&key, &mut &value[..])?;
        if self.options.durability == Durability::Synced {
            history.durable = history.contents.len() - 1;
        }
        Ok(())
    }
}

impl World {
    /// Ingests a table.
    fn ingest(&self, history: &mut History, random: &mut Random) -> Result<()> {
        let at = random.below(self.keyspaces.len() as u64) as usize;
        let (&instance, keyspace) = self.keyspaces.iter().nth(at).unwrap();
        let count = 1 + random.below(8);
        let first = random.below(40) as u8;
        let mut records: Records = (0..count).map(|_| (key(random), value(random))).collect();
        records.retain(|key, _| key[0] >= first);
        let elsewhere: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let options = TableWriteOptions::default().key_type(KeyType::Bytes);
        let mut writer = TableWriter::create((Arc::clone(&elsewhere), "table"), options)?;
        records.iter().try_for_each(|(key, value)| writer.append(key, value))?;
        writer.finish()?;
        // Ingested tables are durable at once; memtables of other keyspaces need not be.
        self.db().persist()?;
        history.all_durable();
        let mut after = history.now().0.clone();
        after.entry(instance).or_default().extend(records);
        history.contents.push(after);
        keyspace.ingest_from(&[(elsewhere, "table".to_owned())])?;
        history.all_durable();
        Ok(())
    }

    /// Takes a checkpoint, and checks that it has the same contents.
    fn checkpoint(&mut self, history: &mut History) -> Result<()> {
        let copy: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        self.db().checkpoint(&copy)?;
        history.all_durable();
        let db = Db::open(copy, &self.draws.next()).unwrap();
        matching(history, &db).unwrap_or_else(|error| panic!("a checkpoint: {error}"));
        Ok(())
    }
}

/// All records of a range.
pub(crate) fn collect(
    range: impl Iterator<Item = Result<(ogive::block::Slice, ogive::block::Slice)>>,
) -> Result<Records> {
    range.map(|record| record.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect()
}

/// All records of a store by name of the keyspace, read in every possible way.
pub(crate) fn read_all(db: &Db) -> std::result::Result<BTreeMap<String, Records>, String> {
    let say = |error: ogive::Error| error.to_string();
    let mut all = BTreeMap::new();
    for name in db.keyspaces() {
        let keyspace = db.keyspace(&name).map_err(say)?;
        let records = collect(keyspace.iter()).map_err(say)?;
        let backwards = collect(keyspace.iter().rev()).map_err(say)?;
        if records != backwards {
            return Err(format!("{name} reads otherwise backwards"));
        }
        for (key, value) in &records {
            if keyspace.get(key).map_err(say)?.as_deref() != Some(&value[..]) {
                return Err(format!("{name} has {key:?} in the range alone"));
            }
        }
        for number in 0..40 {
            let absent = [number, b'x'];
            if keyspace.get(absent).map_err(say)?.is_some() {
                return Err(format!("{name} finds a key that was never there"));
            }
        }
        all.insert(name, records);
    }
    Ok(all)
}

/// Finds a state of the history that a store has after a crash.
pub(crate) fn matching(history: &History, db: &Db) -> std::result::Result<(usize, usize), String> {
    let found = read_all(db)?;
    let names = (history.durable_names..history.names.len())
        .rev()
        .find(|&index| history.names[index].keys().eq(found.keys()))
        .ok_or_else(|| format!("the keyspaces {:?} are none that there were", found.keys().collect::<Vec<_>>()))?;
    let empty = Records::new();
    let is_like = |contents: &Contents| {
        history.names[names].iter().all(|(name, instance)| found[name] == *contents.get(instance).unwrap_or(&empty))
    };
    let contents = (history.durable..history.contents.len()).rev().find(|&index| is_like(&history.contents[index]));
    contents.map(|contents| (contents, names)).ok_or_else(|| {
        let earlier = (0..history.durable).rev().find(|&index| is_like(&history.contents[index]));
        format!(
            "none of the contents {}..{} fits, but {earlier:?} of those before",
            history.durable,
            history.contents.len()
        )
    })
}

/// The history of a store after a crash.
pub(crate) fn after(history: &History, (contents, names): (usize, usize)) -> History {
    History {
        contents: vec![history.contents[contents].clone()],
        names: vec![history.names[names].clone()],
        is_made: true,
        ..History::default()
    }
}
