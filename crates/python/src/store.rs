//! Stores.

pub(crate) mod index_lookup;
pub(crate) mod options;

use crate::changes::ChangeIterator;
use crate::errors::{self, OrRaise};
use crate::object::Object;
use crate::opened::Opened;
use crate::wait::{Task, abandonable, interruptible, interruptible_as};
use ogive::lsm::{KeyspaceIndex, StoreVersion, has_store};
use ogive::types::IndexDefinition;
use ogive::{ChangePosition, DbOptions, Durability, Profile};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A store. See `ogive.Db`.
#[pyclass(module = "ogive._internal", frozen)]
pub(crate) struct Store {
    opened: Arc<Opened>,
}

impl Store {
    pub(crate) fn opened(&self) -> &Arc<Opened> {
        &self.opened
    }
}

#[pymethods]
impl Store {
    /// Opens a store.
    #[new]
    #[pyo3(signature = (path, create=true, read_only=false, memory=None, durability=None, profile=None,
                        version=None, wait=0.0, clock_ahead=86400.0, more=Vec::new()))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        create: bool,
        read_only: bool,
        memory: Option<u64>,
        durability: Option<&str>,
        profile: Option<&str>,
        version: Option<&str>,
        wait: f64,
        clock_ahead: f64,
        more: Vec<(String, Object<'_>)>,
    ) -> PyResult<Self> {
        let wait = Duration::try_from_secs_f64(wait)
            .map_err(|_| errors::new("InvalidArgument", &format!("{wait} is no time to wait; give seconds")))?;
        // An infinite time trusts the clock.
        let clock_ahead = Duration::try_from_secs_f64(clock_ahead).unwrap_or(Duration::MAX);
        let mut options = DbOptions::default().create(create && !read_only).wait_for_lock(wait);
        options = options.expiry(|expiry| expiry.clock_ahead_max(clock_ahead));
        if let Some(memory) = memory {
            options = options.memory_bytes(memory);
        }
        options = match durability {
            None | Some("synced") => options,
            Some("grouped") => options.durability(Durability::Grouped),
            Some("buffered") => options.durability(Durability::Buffered),
            Some(other) => {
                let message = format!("{other:?} is not a durability; give \"synced\", \"grouped\" or \"buffered\"");
                return Err(errors::new("InvalidArgument", &message));
            }
        };
        if let Some(profile) = profile {
            options = options.profile(py.detach(|| Profile::by_name_or_file(profile)).or_raise()?);
        }
        for (name, value) in &more {
            options = options::with(options, name, value)?;
        }
        let version = version.map(str::parse::<StoreVersion>).transpose().or_raise()?;
        let open = move || Opened::open(path, options, read_only, version);
        // A signal ends the call; the store that is opened after that is closed again.
        let opened = if wait.is_zero() { py.detach(open).or_raise()? } else { abandonable(py, open)? };
        Ok(Self { opened: Arc::new(opened) })
    }

    /// Whether there is a store at a path or URL.
    #[staticmethod]
    fn exists(py: Python<'_>, path: PathBuf) -> PyResult<bool> {
        py.detach(|| ogive::io::locate_folder(path).and_then(|storage| has_store(&*storage))).or_raise()
    }

    #[getter]
    fn path(&self) -> String {
        // Not as an object of `pathlib`, which would take URLs for paths.
        self.opened.path.display().to_string()
    }

    #[getter]
    fn is_read_only(&self) -> bool {
        self.opened.is_read_only
    }

    /// Whether the path still leads to the store.
    fn is_in_place(&self, py: Python<'_>) -> PyResult<bool> {
        let db = self.opened.db()?;
        py.detach(|| db.is_in_place()).or_raise()
    }

    fn keyspaces(&self) -> PyResult<Vec<String>> {
        Ok(self.opened.db()?.keyspaces())
    }

    fn drop_keyspace(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let db = self.opened.db()?;
        py.detach(|| db.drop_keyspace(name)).or_raise()
    }

    /// Creates an index of a keyspace; an exception of a signal handler stops it.
    fn create_index(
        &self,
        py: Python<'_>,
        names: (String, String),
        by: &str,
        unique: bool,
        not_null: Option<String>,
    ) -> PyResult<()> {
        let (db, (name, keyspace)) = (self.opened.db()?, names);
        let definition = IndexDefinition::by(by).or_raise()?;
        let definition = if unique { definition.unique() } else { definition };
        let definition = not_null.into_iter().fold(definition, IndexDefinition::where_not_null);
        let keyspace = py.detach(|| db.keyspace(&keyspace)).or_raise()?;
        interruptible_as(py, Task::default(), None, |task| {
            let progress = &mut |_| task.check();
            let created = db.create_index_showing(&name, &keyspace, &definition, progress);
            created.map(drop).map_err(|error| self.opened.raised(error))
        })
    }

    fn drop_index(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let db = self.opened.db()?;
        py.detach(|| db.drop_index(name)).or_raise()
    }

    /// The indexes: their names, those of their keyspaces, and what they are by.
    fn indexes(&self) -> PyResult<Vec<(String, String, String)>> {
        let all = self.opened.db()?.indexes();
        let shown = |index: KeyspaceIndex| {
            (index.name().to_owned(), index.keyspace().name().to_owned(), index.definition().to_string())
        };
        Ok(all.into_iter().map(shown).collect())
    }

    /// Goes on with the newest version, for readers.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        self.opened.refresh(py)
    }

    fn persist(&self, py: Python<'_>) -> PyResult<()> {
        let db = self.opened.db()?;
        py.detach(|| db.persist()).or_raise()
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let db = self.opened.db()?;
        abandonable(py, move || db.flush())
    }

    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        let db = self.opened.db()?;
        abandonable(py, move || db.compact())
    }

    /// Copies the store, as it is now, to a path or URL.
    fn checkpoint(&self, py: Python<'_>, target: PathBuf) -> PyResult<()> {
        let db = self.opened.db()?;
        interruptible(py, None, |_| match ogive::io::remote_url(&target) {
            Some(_) => db.checkpoint(&ogive::io::locate_folder(&target)?),
            None => db.checkpoint(&target),
        })
    }

    /// The changes behind a position.
    fn changes(&self, py: Python<'_>, since: Option<&str>) -> PyResult<ChangeIterator> {
        let db = self.opened.db()?;
        let since = since.map(str::parse::<ChangePosition>).transpose().or_raise()?;
        Ok(ChangeIterator::new(py.detach(|| db.changes_since(since)).or_raise()?))
    }

    fn subscribe(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        let db = self.opened.db()?;
        Ok(py.detach(|| db.subscribe(name)).or_raise()?.to_string())
    }

    fn acknowledge(&self, py: Python<'_>, name: &str, position: &str) -> PyResult<()> {
        let (db, position) = (self.opened.db()?, position.parse::<ChangePosition>().or_raise()?);
        py.detach(|| db.acknowledge(name, &position)).or_raise()
    }

    fn unsubscribe(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        let db = self.opened.db()?;
        py.detach(|| db.unsubscribe(name)).or_raise()
    }

    fn subscribers(&self, py: Python<'_>) -> PyResult<BTreeMap<String, String>> {
        let db = self.opened.db()?;
        let found = py.detach(|| db.subscribers()).or_raise()?;
        Ok(found.into_iter().map(|(name, position)| (name, position.to_string())).collect())
    }

    /// Statistics as JSON.
    fn stats(&self) -> PyResult<String> {
        serde_json::to_string(&self.opened.db()?.stats()).map_err(|error| errors::new("OgiveError", &error.to_string()))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.opened.close(py)
    }
}
