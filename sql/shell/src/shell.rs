//! The interactive shell.

use crate::command::{HELP, ShellCommand, command, unquoted};
use crate::editor::SqlHelper;
use crate::failure::{Failure, Result};
use crate::history;
use crate::interrupts::Interrupts;
use crate::output::{Format, Printer, RowLimit};
use crate::picture::Picture;
use crate::progress::Progress;
use crate::query::{self, Done, by_task};
use crate::redact::has_credentials;
use crate::session::Session;
use crate::size::shown_time;
use crate::statements::{Piece, split};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use datafusion::common::TableReference;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryConsumer;
use ogive_datafusion::OgiveOptions;
use ogive_terminal::counted;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::runtime::Runtime;

const PROMPT: &str = "ogive> ";

const TABLES: &str = "select table_schema as schema, table_name as name, table_type as type \
                      from information_schema.tables where table_schema <> 'information_schema' order by 1, 2";

/// Results as a user wants them.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Form of rows.
    pub(crate) format: Format,
    /// Rows of a table that are printed.
    pub(crate) limit: RowLimit,
    /// Whether times are printed.
    pub(crate) has_timing: bool,
    /// The page to write after each statement.
    pub(crate) picture: Option<PathBuf>,
}

/// A shell over a session.
struct Shell<'a> {
    session: &'a Session,
    runtime: &'a Runtime,
    interrupts: Interrupts,
    settings: Settings,
    editor: Editor<SqlHelper, FileHistory>,
    history: Option<PathBuf>,
    last: Option<Picture>,
}

/// Reads statements and commands from the terminal until its user leaves.
///
/// # Errors
/// A terminal that cannot be used. Errors of statements are printed, and the shell goes on.
pub(crate) fn run(session: &Session, runtime: &Runtime, settings: Settings, interrupts: Interrupts) -> Result<()> {
    let config = Config::builder()
        .max_history_size(history::STATEMENTS_MAX)
        .map_err(Failure::Terminal)?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .build();
    let mut editor = Editor::with_config(config).map_err(Failure::Terminal)?;
    editor.set_helper(Some(SqlHelper::new(session.dialect().0)));
    let history = opened_history(&mut editor);
    note(&format!("ogive-sql {}; \\? lists commands, \\q leaves", env!("CARGO_PKG_VERSION")));
    Shell { session, runtime, interrupts, settings, editor, history, last: None }.run()
}

/// The file of past statements, read into the editor. A shell without it works as well.
fn opened_history(editor: &mut Editor<SqlHelper, FileHistory>) -> Option<PathBuf> {
    let file = history::place()?;
    let opened = history::prepare(&file).map_err(ReadlineError::from).and_then(|()| editor.load_history(&file));
    match opened {
        Ok(()) => Some(file),
        Err(error) => {
            note(&format!("cannot use {}: {error}; statements are not kept", file.display()));
            None
        }
    }
}

impl Shell<'_> {
    fn run(mut self) -> Result<()> {
        loop {
            self.refresh();
            let line = match self.editor.readline(PROMPT) {
                Ok(line) => line,
                Err(ReadlineError::Interrupted) => continue,
                Err(ReadlineError::Eof) => return Ok(()),
                Err(error) => return Err(Failure::Terminal(error)),
            };
            self.remember(&line);
            let ran = match command(&line) {
                Some(Ok(ShellCommand::Quit)) => return Ok(()),
                Some(Ok(command)) => self.command(command),
                Some(Err(message)) => {
                    note(&message);
                    continue;
                }
                None => self.statements(&line),
            };
            match ran {
                Err(failure) if failure.is_closed_pipe() => return Ok(()),
                Err(failure) => note(&failure.line()),
                Ok(()) => {}
            }
        }
    }

    /// Gives the editor the names and the dialect that there are now.
    fn refresh(&mut self) {
        let (session, runtime) = (self.session, self.runtime);
        if let Some(helper) = self.editor.helper_mut() {
            helper.dialect = session.dialect().0;
            runtime.block_on(helper.names.refresh(&session.context));
        }
    }

    /// Writes a statement to the history at once, for other shells and for a crash.
    fn remember(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        if has_credentials(line) {
            note("not kept in the history, since it may hold credentials");
            return;
        }
        let kept = self.editor.add_history_entry(line.trim_end());
        let written = match (&self.history, kept) {
            (Some(file), Ok(true)) => self.editor.append_history(file),
            (_, kept) => kept.map(|_| ()),
        };
        if let Err(error) = written {
            note(&format!("cannot write the history: {error}; statements are no longer kept"));
            self.history = None;
        }
    }

    fn statements(&mut self, text: &str) -> Result<()> {
        // The dialect may change from one statement to the next.
        let (_, dialect) = self.session.dialect();
        for piece in split(text, dialect.as_ref()).all() {
            self.statement(&piece)?;
        }
        Ok(())
    }

    fn statement(&mut self, piece: &Piece<'_>) -> Result<()> {
        self.interrupts.forget();
        let Settings { format, limit, .. } = self.settings;
        let run = query::run(self.session, piece, format, limit, &mut self.interrupts);
        let Some(done) = self.runtime.block_on(run)? else { return Ok(()) };
        note(&summary(&done, self.settings.has_timing, "\\rows all"));
        if let Some(helper) = self.editor.helper_mut() {
            done.tables.iter().for_each(|(name, schema)| helper.names.learn(name, schema));
        }
        if !done.has_rows {
            return Ok(());
        }
        let picture = self.last.insert(Picture::new(piece.text, &done));
        self.settings.picture.as_ref().map_or(Ok(()), |page| picture.write(page))
    }

    fn command(&mut self, command: ShellCommand) -> Result<()> {
        match command {
            ShellCommand::Tables => self.tables(),
            ShellCommand::Columns(name) => self.columns(&name),
            ShellCommand::Timing => {
                self.settings.has_timing = !self.settings.has_timing;
                note(if self.settings.has_timing { "times are shown" } else { "times are hidden" });
                Ok(())
            }
            ShellCommand::Format(format) => {
                self.settings.format = format.unwrap_or(self.settings.format);
                note(&format!("rows are printed as {:?}", self.settings.format).to_lowercase());
                Ok(())
            }
            ShellCommand::Rows(limit) => {
                self.settings.limit = limit;
                Ok(())
            }
            ShellCommand::Picture(file) => self.picture(&file),
            ShellCommand::Help => writeln!(io::stdout(), "{HELP}").map_err(Failure::Output),
            ShellCommand::Quit => Ok(()),
        }
    }

    fn tables(&mut self) -> Result<()> {
        self.interrupts.forget();
        let piece = Piece { text: TABLES, line: 1, column: 1 };
        let run = query::run(self.session, &piece, Format::Table, RowLimit(None), &mut self.interrupts);
        if self.runtime.block_on(run)?.is_some_and(|done| done.rows == 0) {
            note("no tables; name files by their paths in quotes, or start with ogive-sql FILE...");
        }
        Ok(())
    }

    fn columns(&mut self, name: &str) -> Result<()> {
        let bare = unquoted(name);
        let is_path = bare.len() < name.len() || bare.contains(['/', '\\']);
        let table = if is_path { TableReference::bare(bare) } else { TableReference::parse_str(name) };
        self.interrupts.forget();
        let context = self.session.context.clone();
        let opening = async move { Ok(context.table_provider(table).await?.schema()) };
        let interrupts = &mut self.interrupts;
        // A timer belongs to the runtime in which it starts.
        let schema = self.runtime.block_on(async { by_task(opening, interrupts, &mut Progress::start(true)).await })?;
        let texts = |texts: Vec<String>| Arc::new(StringArray::from(texts)) as ArrayRef;
        let fields = schema.fields();
        let batch = RecordBatch::try_from_iter([
            ("column", texts(fields.iter().map(|field| field.name().clone()).collect())),
            ("type", texts(fields.iter().map(|field| field.data_type().to_string()).collect())),
            ("null", Arc::new(fields.iter().map(|field| Some(field.is_nullable())).collect::<BooleanArray>())),
        ])
        .map_err(DataFusionError::from)?;
        let memory = MemoryConsumer::new("columns").register(self.session.context.task_ctx().memory_pool());
        let mut output = io::stdout().lock();
        let mut printer = Printer::new((Format::Table, RowLimit(None)), batch.schema(), memory, &mut output);
        printer.write(batch)?;
        printer.finish()?;
        drop(output);
        self.keyspaces(bare)
    }

    /// Names the keyspaces of a store that is named without one.
    fn keyspaces(&self, path: &str) -> Result<()> {
        let Some(store) = OgiveOptions::default().open_store(path)? else { return Ok(()) };
        let names = store.keyspaces();
        if names.len() > 1 {
            let listed = names.iter().map(|name| format!("'{path}#{name}'")).collect::<Vec<_>>().join(", ");
            note(&format!("{path} has the keyspaces {listed}"));
        }
        Ok(())
    }

    fn picture(&self, file: &Path) -> Result<()> {
        let Some(last) = &self.last else {
            return Err(Failure::refused("no query has run yet", "run one, then write its picture"));
        };
        last.write(file)?;
        note(&format!("{}: open it in a browser", file.display()));
        Ok(())
    }
}

/// Rows of a result, its time, and those that are not shown unless `remedy` is used.
pub(crate) fn summary(done: &Done, has_timing: bool, remedy: &str) -> String {
    let rows = if done.has_rows { counted(done.rows, "row") } else { "done".to_owned() };
    let time = if has_timing { format!(" in {}", shown_time(done.elapsed)) } else { String::new() };
    let left_out = left_out(done.left_out, remedy).map(|text| format!("; {text}")).unwrap_or_default();
    format!("{rows}{time}{left_out}")
}

/// Tells of rows that are not shown.
pub(crate) fn left_out(rows: u64, remedy: &str) -> Option<String> {
    let verb = if rows == 1 { "is" } else { "are" };
    (rows > 0).then(|| format!("{} {verb} not shown; {remedy} shows them", counted(rows, "row")))
}

/// Writes a line to standard error; if that is closed, to nowhere.
pub(crate) fn note(line: &str) {
    _ = writeln!(io::stderr(), "{line}");
}
