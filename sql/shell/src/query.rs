//! Execution of one statement: a separate task plans and runs it, so that an interrupt takes effect at once.

use crate::failure::{Failure, Result};
use crate::interrupts::Interrupts;
use crate::output::{Format, Printer, RowLimit};
use crate::paths::with_folders;
use crate::progress::Progress;
use crate::session::Session;
use crate::statements::Piece;
use arrow_array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::plan_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::config::Dialect;
use datafusion::datasource::file_format::file_type_to_format;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, SessionState};
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use futures::StreamExt;
use ogive::io::{local_path, remote_url};
use ogive_datafusion::{parse_statements, stores_and_keyspaces};
use ogive_terminal::shell_word;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};

/// Batches that wait to be printed.
const BATCHES_AHEAD: usize = 2;

/// A statement that has run.
pub(crate) struct Done {
    /// The plan, with its metrics.
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    /// Tables that it read, with their columns.
    pub(crate) tables: Vec<(String, SchemaRef)>,
    /// Whether it returns rows.
    pub(crate) has_rows: bool,
    /// Rows of its result.
    pub(crate) rows: u64,
    /// Rows that were not printed.
    pub(crate) left_out: u64,
    /// Time from the start of planning to the last row.
    pub(crate) elapsed: Duration,
}

/// A statement that runs.
struct Started {
    plan: Arc<dyn ExecutionPlan>,
    tables: Vec<(String, SchemaRef)>,
    is_whole: bool,
    rows: SendableRecordBatchStream,
}

impl Started {
    /// A statement that has done its work, and returns nothing.
    fn done(context: &SessionContext) -> Result<Self, DataFusionError> {
        let plan: Arc<dyn ExecutionPlan> = Arc::new(EmptyExec::new(Arc::new(Schema::empty())));
        let rows = execute_stream(plan.clone(), context.task_ctx())?;
        Ok(Self { plan, tables: Vec::new(), is_whole: true, rows })
    }
}

/// Runs a statement and prints its rows. An empty one, such as a comment, gives nothing.
///
/// # Errors
/// Those of DataFusion and of tables, of standard output, and [`Failure::Interrupted`].
pub(crate) async fn run(
    session: &Session,
    piece: &Piece<'_>,
    format: Format,
    limit: RowLimit,
    interrupts: &mut Interrupts,
) -> Result<Option<Done>> {
    let (name, _) = session.dialect();
    let Some(mut statement) = parse(piece, name)? else { return Ok(None) };
    if session.is_remote {
        with_folders(&mut statement);
    }
    let mut progress = Progress::start(format == Format::Table || !io::stdout().is_terminal());
    let planned = session.clone();
    let work = async move {
        planned.refresh(&statement).await?;
        match planned.carry_out(&statement).await? {
            true => Ok(Started::done(&planned.context)?),
            false => Ok(plan(&planned.context, statement).await?),
        }
    };
    let started = by_task(work, interrupts, &mut progress).await.map_err(|failure| failure.among(&session.context));
    let Started { plan, tables, is_whole, rows: stream } = started?;
    let schema = plan.schema();
    let has_rows = !schema.fields().is_empty();
    // Plans and settings are short, and of no use in part.
    let limit = if is_whole { RowLimit(None) } else { limit };
    let memory = MemoryConsumer::new("rows to print").register(session.context.task_ctx().memory_pool());
    let mut output = io::stdout().lock();
    let mut printer = Printer::new((format, limit), schema, memory, &mut output);
    // Dropping the set aborts the task.
    let mut tasks = JoinSet::new();
    let mut batches = forward(stream, &mut tasks);
    let mut rows = 0;
    loop {
        tokio::select! {
            batch = batches.recv() => match batch {
                Some(batch) => {
                    let batch = batch?;
                    rows += batch.num_rows() as u64;
                    progress.clear();
                    printer.write(batch)?;
                }
                None => break,
            },
            () = interrupts.next() => return Err(Failure::Interrupted),
            () = progress.due() => progress.show(Some(&plan), rows),
        }
    }
    // A panic of the task has closed the channel, too.
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(panicked)?;
    }
    progress.clear();
    let elapsed = progress.elapsed();
    let (rows, left_out) = printer.finish()?;
    Ok(Some(Done { plan, tables, has_rows, rows, left_out, elapsed }))
}

/// Parses a statement; an error tells its place in the whole text.
fn parse(piece: &Piece<'_>, dialect: Dialect) -> Result<Option<Statement>> {
    use datafusion::sql::sqlparser::dialect::{GenericDialect, dialect_from_str};
    let dialect = dialect_from_str(dialect).unwrap_or_else(|| Box::new(GenericDialect {}));
    let read = |text: &str| parse_statements(text, dialect.as_ref());
    match read(piece.text) {
        Ok(mut statements) => Ok(statements.pop_front()),
        Err(error) => {
            let error: Failure = read(&(piece.padding() + piece.text)).err().unwrap_or(error).into();
            Err(error.with_word_meant())
        }
    }
}

/// Does work by a task of its own, which an interrupt aborts: tables are opened by waiting on the thread, which would
/// hide interrupts from the task of the caller.
///
/// # Errors
/// Those of the work, and [`Failure::Interrupted`].
pub(crate) async fn by_task<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
    interrupts: &mut Interrupts,
    progress: &mut Progress,
) -> Result<T> {
    let mut task = JoinSet::new();
    task.spawn(work);
    loop {
        tokio::select! {
            ended = task.join_next() => {
                return match ended {
                    Some(Ok(result)) => result,
                    Some(Err(error)) => Err(panicked(error)),
                    None => Err(Failure::Interrupted),
                };
            }
            () = interrupts.next() => return Err(Failure::Interrupted),
            () = progress.due() => progress.show(None, 0),
        }
    }
}

async fn plan(context: &SessionContext, statement: Statement) -> Result<Started, DataFusionError> {
    let state = context.state();
    let logical = state.statement_to_plan(statement).await?;
    refuse_drop(&state, &logical)?;
    refuse_other_format(&logical)?;
    let is_whole = matches!(
        logical,
        LogicalPlan::Explain(_) | LogicalPlan::Analyze(_) | LogicalPlan::DescribeTable(_) | LogicalPlan::Statement(_)
    );
    let tables = tables(&logical)?;
    let frame = context.execute_logical_plan(logical).await?;
    let task = Arc::new(frame.task_ctx());
    let plan = frame.create_physical_plan().await?;
    let rows = execute_stream(plan.clone(), task)?;
    Ok(Started { plan, tables, is_whole, rows })
}

/// Refuses `drop table 'users.ogive'`, which would drop nothing: files are tables by their paths, without a name.
fn refuse_drop(state: &SessionState, plan: &LogicalPlan) -> Result<(), DataFusionError> {
    let LogicalPlan::Ddl(DdlStatement::DropTable(drop)) = plan else { return Ok(()) };
    let name = drop.name.table();
    let is_named = state.schema_for_ref(drop.name.clone())?.table_names().iter().any(|known| known == name);
    if is_named || drop.if_exists {
        return Ok(());
    }
    let is_there = |path: &str| remote_url(Path::new(path)).is_some() || Path::new(path).exists();
    let found = stores_and_keyspaces(name).find(|(store, _)| is_there(store) && !Path::new(name).exists());
    if let Some((store, keyspace)) = found {
        let (store, keyspace) = (shell_word(store), shell_word(keyspace));
        return plan_err!(
            "DROP TABLE removes names of tables, and no keyspaces; use `ogive db drop-keyspace {store} {keyspace}`"
        );
    }
    if !is_there(name) {
        return Ok(());
    }
    plan_err!("DROP TABLE removes names of tables, and no files; remove {name} by the commands of the system")
}

/// Refuses `copy ... to 'users.ogive' stored as parquet`, which would be found damaged as a table, and a copy to a file
/// that is there: DataFusion begins by cutting it off, even if the query reads it.
fn refuse_other_format(plan: &LogicalPlan) -> Result<(), DataFusionError> {
    let LogicalPlan::Copy(copy) = plan else { return Ok(()) };
    let format = file_type_to_format(&copy.file_type)?.get_ext();
    let path = &copy.output_url;
    if format == "ogive" {
        return Ok(());
    }
    if local_path(Path::new(path)).is_ok_and(|path| path.is_file()) {
        return plan_err!("{path} exists, and COPY replaces no file of this format; give another name, or remove it");
    }
    if !path.ends_with(".ogive") {
        return Ok(());
    }
    plan_err!("{path} would be a file of the format '{format}'; leave STORED AS out, or give it the suffix .{format}")
}

/// The tables that a plan reads.
fn tables(plan: &LogicalPlan) -> Result<Vec<(String, SchemaRef)>, DataFusionError> {
    let mut tables = Vec::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            tables.push((scan.table_name.table().to_owned(), scan.source.schema()));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(tables)
}

/// Reads a stream by a task.
fn forward(
    mut stream: SendableRecordBatchStream,
    tasks: &mut JoinSet<()>,
) -> mpsc::Receiver<Result<RecordBatch, DataFusionError>> {
    let (sender, receiver) = mpsc::channel(BATCHES_AHEAD);
    tasks.spawn(async move {
        while let Some(batch) = stream.next().await {
            let is_error = batch.is_err();
            if sender.send(batch).await.is_err() || is_error {
                break;
            }
        }
    });
    receiver
}

fn panicked(error: JoinError) -> Failure {
    DataFusionError::ExecutionJoin(Box::new(error)).into()
}
