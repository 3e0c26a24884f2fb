//! The session: DataFusion with Ogive tables and a memory limit.

use crate::arguments::Input;
use crate::failure::{Failure, Result};
use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::config::Dialect as DialectName;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect, dialect_from_str};
use ogive_datafusion::{
    OgiveOptions, UrlTables, alter_table, change_indexes, configure, has_transaction, transact, with_ogive,
    with_transactions,
};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// Operators that an error about memory names.
const NAMED_CONSUMERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);

/// The part of the memory that each sort sets aside to merge what it has spilled.
const SPILL_SHARE: usize = 64;

/// A session in which quoted paths are tables.
#[derive(Clone)]
pub(crate) struct Session {
    /// The session of DataFusion.
    pub(crate) context: SessionContext,
    /// Whether queries run in a cluster.
    pub(crate) is_remote: bool,
    /// The tables that arguments named, which each statement reads as they are then.
    named: Arc<Mutex<BTreeMap<String, Named>>>,
}

/// A table that an argument named.
#[derive(Clone)]
struct Named {
    path: String,
    /// What has the name, unless a statement has given it to another table.
    table: Arc<dyn TableProvider>,
}

impl Session {
    /// A session on this machine. Without a limit of memory, operators take what there is.
    ///
    /// # Errors
    /// Those of DataFusion.
    pub(crate) fn new(partitions: Option<NonZeroUsize>, memory: Option<usize>) -> Result<Self> {
        let mut config = configure(SessionConfig::new().with_information_schema(true));
        let options = OgiveOptions::default();
        if let Some(partitions) = partitions {
            config = config.with_target_partitions(partitions.get());
        }
        let mut runtime = RuntimeEnvBuilder::new();
        if let Some(bytes) = memory {
            let merges = &mut config.options_mut().execution.sort_spill_reservation_bytes;
            *merges = (bytes / SPILL_SHARE).min(*merges);
            let pool = TrackConsumersPool::new(FairSpillPool::new(bytes), NAMED_CONSUMERS);
            runtime = runtime.with_memory_pool(Arc::new(pool));
        }
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(runtime.build_arc()?)
            .with_default_features();
        let state = with_transactions(with_ogive(state, &options)).build();
        let (state, urls) = UrlTables::add_to(state, options);
        let context = SessionContext::from(state);
        urls.attach(&context);
        Ok(Self { context, is_remote: false, named: Arc::default() })
    }

    /// A session whose queries run in a cluster; its tables must be at the same paths or URLs on all machines.
    ///
    /// # Errors
    /// A scheduler that does not answer.
    pub(crate) async fn of_cluster(address: &str, partitions: Option<NonZeroUsize>) -> Result<Self> {
        let mut config = ogive_ballista::session_config(&Arc::default()).with_information_schema(true);
        if let Some(partitions) = partitions {
            config = config.with_target_partitions(partitions.get());
        }
        let context = ogive_ballista::connect_with(address, config).await?;
        Ok(Self { context, is_remote: true, named: Arc::default() })
    }

    /// Registers the tables among the arguments.
    ///
    /// # Errors
    /// A path that is no table, and a name that two of them have.
    pub(crate) async fn register(&self, inputs: &[Input]) -> Result<()> {
        for input in inputs {
            let Input::Table { name, path } = input else { continue };
            let table = TableReference::bare(name.as_str());
            if self.context.table_exist(table.clone())? {
                let message = format!("{path} would be a second table named {name}");
                return Err(Failure::refused(message, "use NAME=PATH to give it another name"));
            }
            let named = Named { path: path.clone(), table: self.table(path).await? };
            self.context.register_table(table, named.table.clone())?;
            self.named.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone(), named);
        }
        Ok(())
    }

    /// Opens the tables again that arguments named and a statement reads.
    ///
    /// # Errors
    /// If a table is not there any more, or cannot be opened.
    pub(crate) async fn refresh(&self, statement: &Statement) -> Result<()> {
        let state = self.context.state();
        for reference in state.resolve_table_references(statement)? {
            let TableReference::Bare { table: name } = &reference else { continue };
            let named = self.named.lock().unwrap_or_else(PoisonError::into_inner).get(&**name).cloned();
            let Some(Named { path, table }) = named else { continue };
            let schema = state.schema_for_ref(reference.clone())?;
            // A name that was dropped, and perhaps given to another table, stays so.
            let is_same = schema.table_exist(name)
                && schema.table(name).await?.is_some_and(|current| Arc::ptr_eq(&current, &table));
            if !is_same {
                continue;
            }
            let table = self.table(&path).await?;
            schema.deregister_table(name)?;
            schema.register_table(name.to_string(), table.clone())?;
            self.named.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_string(), Named { path, table });
        }
        Ok(())
    }

    /// Tells that a transaction was not committed, at the end of the session.
    pub(crate) fn unfinished(&self) -> Option<&'static str> {
        has_transaction(&self.context).then_some("the transaction was not committed, and nothing of it was written")
    }

    /// Carries out a statement that is none of DataFusion's: `alter table`, `create index`, `drop index`, `begin`,
    /// `commit` or `rollback`; `false` for any other.
    ///
    /// # Errors
    /// Those of [`alter_table`], [`change_indexes`] and [`transact`].
    pub(crate) async fn carry_out(&self, statement: &Statement) -> Result<bool> {
        if transact(&self.context, statement).await? || change_indexes(&self.context, statement).await? {
            return Ok(true);
        }
        let Some(altered) = alter_table(&self.context, statement).await? else { return Ok(false) };
        for named in self.named.lock().unwrap_or_else(PoisonError::into_inner).values_mut() {
            if let Some(table) = altered.renewed(&named.table) {
                named.table = table;
            }
        }
        Ok(true)
    }

    /// The table at a path or URL.
    async fn table(&self, path: &str) -> Result<Arc<dyn TableProvider>> {
        let schema = self.context.state().schema_for_ref(TableReference::bare(path))?;
        schema.table(path).await?.ok_or_else(|| {
            Failure::refused(
                format!("{path} is not a table that can be read"),
                "check the path; names of tables end in .ogive, .parquet, .csv or .json",
            )
        })
    }

    /// The dialect of statements, which `set datafusion.sql_parser.dialect` changes.
    pub(crate) fn dialect(&self) -> (DialectName, Box<dyn Dialect>) {
        let name = self.context.state().config_options().sql_parser.dialect;
        (name, dialect_from_str(name).unwrap_or_else(|| Box::new(GenericDialect {})))
    }
}
