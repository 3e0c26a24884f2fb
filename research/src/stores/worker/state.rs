//! The state of a worker: the records, and the open store.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::content::Content;
use crate::stores::protocol::Setup;
use crate::stores::resources::{Measure, Timed, disk_bytes, resident_bytes};
use crate::stores::store::StoreSessions;
use crate::stores::system::{StoreSettings, StoreSystem};
use crate::stores::systems::Systems;
use crate::workload::{KeyForm, Population, Records};

pub(super) struct State {
    pub(super) setup: Setup,
    system: &'static StoreSystem,
    pub(super) records: Records,
    /// Places of records: those that are loaded, and those that come in later.
    pub(super) population: Population,
    /// How many of those have come in.
    pub(super) inserted: usize,
    /// Version that the next written value has.
    pub(super) version: u32,
    /// What the store must hold.
    pub(super) content: Content,
    store: Option<Box<dyn StoreSessions>>,
    folder: Option<PathBuf>,
    /// Resident set before a store was opened.
    before_bytes: u64,
}

impl State {
    pub(super) fn new(setup: Setup, systems: &Systems) -> Result<Self> {
        let system = systems.named(&setup.system)?;
        let form: KeyForm = setup.key_form.parse()?;
        let set = crate::keys::open(&setup.key_set())?;
        let records = Records::of(&set, form, setup.value_bytes)?;
        let all = records.len() as u64;
        let places = (0..all).collect();
        let population = Population::split(places, all.saturating_sub(setup.held_out).max(1), all, setup.seed);
        // A process that follows another one finds the store that was loaded. A load starts anew.
        let mut content = Content::new(&records);
        content.load(population.loaded());
        let before_bytes = resident_bytes();
        Ok(Self {
            setup,
            system,
            records,
            population,
            inserted: 0,
            // Loaded values have version 0.
            version: 1,
            content,
            store: None,
            folder: None,
            before_bytes,
        })
    }

    pub(super) fn store(&self) -> Result<&dyn StoreSessions> {
        self.store.as_deref().context("no store is open")
    }

    pub(super) fn store_mut(&mut self) -> Result<&mut dyn StoreSessions> {
        Ok(self.store.as_mut().context("no store is open")?.as_mut())
    }

    pub(super) fn open(&mut self, folder: &Path, memory_bytes: u64, synced: bool, direct: bool) -> Result<Timed> {
        self.close();
        std::fs::create_dir_all(folder)?;
        self.folder = Some(folder.into());
        let Setup { memtable_bytes, lz4, .. } = self.setup;
        let settings = StoreSettings { memory_bytes, memtable_bytes, synced, direct, lz4 };
        let start = Measure::start();
        self.store = Some((self.system.open)(folder, &settings)?);
        Ok(start.stop(1))
    }

    pub(super) fn close(&mut self) -> Timed {
        let start = Measure::start();
        self.store = None;
        start.stop(1)
    }

    pub(super) fn compact(&mut self) -> Result<Timed> {
        let start = Measure::start();
        self.store_mut()?.compact()?;
        Ok(start.stop(self.population.loaded().len() as u64))
    }

    pub(super) fn disk_bytes(&self) -> Result<u64> {
        self.folder.as_deref().filter(|folder| folder.exists()).map_or(Ok(0), disk_bytes)
    }

    /// Resident set, less that of the records.
    pub(super) fn memory_bytes(&self) -> u64 {
        resident_bytes().saturating_sub(self.before_bytes)
    }
}
