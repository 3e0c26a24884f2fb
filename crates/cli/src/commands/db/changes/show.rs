//! `ogive db changes`: prints the committed changes of a store, in their order, as JSON lines.

use super::lines::LinePlace;
use crate::commands::db::keys::{self, Keys};
use crate::commands::db::store::StoreFolder;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::shell::shell_path;
use crate::values::size::duration;
use ogive::lsm::Db;
use ogive::types::RecordType;
use ogive::{Change, ChangeBatch, ChangePosition};
use ogive_terminal::shell_word;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks whether an interrupt has arrived.
const LOOK_EVERY: Duration = Duration::from_millis(50);

const EXAMPLES: &str = "\
Examples:
  ogive db changes fruit                            print the changes that are left
  ogive db changes fruit --since 0123456789abcdef-42
                                                    print those behind a position
  ogive db changes fruit --subscriber search --subscribe
                                                    from now on, keep changes for the subscriber 'search'
  ogive db changes fruit --subscriber search --follow
                                                    print what it has not acknowledged, and wait for more
  ogive db changes fruit --subscriber search --ack 0123456789abcdef-42
                                                    acknowledge what was handled up to there
  ogive db changes fruit --subscriber search --unsubscribe
  ogive db changes s3://bucket/fruit --subscriber search --follow --every 5s

Prints a JSON object for each change, as `ogive db apply` reads them: {\"put\": {\"keyspace\": ..., \"key\": ...,
\"value\": ..., \"expires\": ...}}, or with \"remove\", \"remove_range\" or \"drop\". The last one of a batch has the
\"position\" behind it. The records of ingested tables are printed as one batch. The store may be in use by another
process.

Without a subscriber, only changes that are not in tables yet are left, and on an object store those of the last minutes
(each look for more is one listing there). For a subscriber, the store keeps all changes that it has not acknowledged,
up to a limit. Printing does not acknowledge: the program that handles the lines does, by --ack with the position of the
last batch that it has handled, so that no line is lost if it ends before that; after a restart it gets the batches
again that it has not acknowledged. With --ack-printed, lines count as handled as soon as they are written: for a file;
behind a pipe, what its reader has not handled when it ends is lost.";

/// Print the changes of a store in their order, as JSON lines
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbChangesArguments {
    #[command(flatten)]
    store: StoreFolder,

    /// Print the changes behind this position; by default all that are left
    #[arg(long, value_name = "POSITION", conflicts_with = "subscriber")]
    since: Option<ChangePosition>,

    /// Print what this subscriber has not acknowledged
    #[arg(long, value_name = "NAME")]
    subscriber: Option<String>,

    /// Make the subscriber, if there is none of this name, and print its position
    #[arg(long, requires = "subscriber", conflicts_with_all = ["follow", "ack_printed", "ack", "unsubscribe"])]
    subscribe: bool,

    /// Acknowledge all changes up to this position: the store need not keep them for the subscriber any more
    #[arg(long, value_name = "POSITION", requires = "subscriber")]
    #[arg(conflicts_with_all = ["follow", "ack_printed", "unsubscribe"])]
    ack: Option<ChangePosition>,

    /// Acknowledge what is printed, as soon as it is written
    #[arg(long, requires = "subscriber", conflicts_with = "unsubscribe")]
    ack_printed: bool,

    /// Remove the subscriber, and what is kept for it
    #[arg(long, requires = "subscriber", conflicts_with = "follow")]
    unsubscribe: bool,

    /// Wait for further changes
    #[arg(long)]
    follow: bool,

    /// How often to look for further changes
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration, requires = "follow")]
    every: Duration,
}

/// Runs the command.
pub(crate) fn run(arguments: &DbChangesArguments, output: &mut Output) -> Result<Outcome> {
    let interrupt = Interrupt::watch();
    let db = arguments.store.read()?;
    let since = match &arguments.subscriber {
        Some(name) => match arguments.managed(&db, name)? {
            Some(done) => return output.json(&done).map(|()| Outcome::Done),
            None => Some(arguments.acknowledged(&db, name)?),
        },
        None => arguments.since,
    };
    let mut changes = db.changes_since(since)?;
    let mut shown = Shown { store: &arguments.store, keyspaces: HashMap::new() };
    loop {
        let mut newest = None;
        for batch in changes.by_ref() {
            let batch = batch?;
            shown.print(&batch, output)?;
            newest = Some(batch.position);
            if interrupt.is_asked() {
                break;
            }
        }
        output.flush()?;
        if let (Some(name), Some(newest)) = (arguments.subscriber.as_ref().filter(|_| arguments.ack_printed), newest) {
            db.acknowledge(name, &newest)?;
        }
        if !arguments.follow {
            return Ok(Outcome::Done);
        }
        let begun = Instant::now();
        while begun.elapsed() < arguments.every {
            interrupt.check()?;
            thread::sleep(LOOK_EVERY.min(arguments.every));
        }
        interrupt.check()?;
    }
}

impl DbChangesArguments {
    /// Makes, acknowledges for or removes the subscriber, if that is asked for; returns what is told about it.
    fn managed(&self, db: &Db, name: &str) -> Result<Option<Value>> {
        if let Some(position) = &self.ack {
            // A position that the store has not reached would let it forget what is still to come.
            let newest = db.newest_position();
            if position.number() > newest.number() {
                let message = format!("{}: {position} is not reached yet; the newest position is {newest}", self.store);
                return Err(Failure::usage(message, "give the \"position\" of a line that was printed"));
            }
            db.acknowledge(name, position)?;
            return Ok(Some(json!({ "acknowledged": position })));
        }
        if self.unsubscribe {
            return Ok(Some(json!({ "unsubscribed": db.unsubscribe(name)? })));
        }
        Ok(if self.subscribe { Some(json!({ "subscribed": db.subscribe(name)? })) } else { None })
    }

    /// The position up to which a subscriber has acknowledged.
    fn acknowledged(&self, db: &Db, name: &str) -> Result<ChangePosition> {
        let mut known = db.subscribers()?;
        known.remove(name).ok_or_else(|| {
            let store = shell_path(self.store.path());
            let hint = format!("`ogive db changes {store} --subscriber {} --subscribe` makes one", shell_word(name));
            let named: Vec<String> = known.into_keys().collect();
            let others = if named.is_empty() { String::new() } else { format!("; there are: {}", named.join(", ")) };
            Failure::refused(format!("{}: there is no subscriber {name:?}{others}", self.store), hint)
        })
    }
}

/// The keyspaces of a store without types, as their records are printed.
struct Shown<'a> {
    store: &'a StoreFolder,
    keyspaces: HashMap<String, Keys>,
}

impl Shown<'_> {
    /// The types of a keyspace that states none: the keys may have a type that the store tells elsewhere, as it is when
    /// the keyspace is first met.
    fn untyped(&mut self, name: &str) -> Result<(&RecordType, Keys)> {
        static BYTES: LazyLock<RecordType> = LazyLock::new(RecordType::default);
        let keys = match self.keyspaces.get(name) {
            Some(&keys) => keys,
            None => *self.keyspaces.entry(name.to_owned()).or_insert(keys_of(&self.store.read()?, name)?),
        };
        Ok((&BYTES, keys))
    }

    fn print(&mut self, batch: &ChangeBatch, output: &mut Output) -> Result<()> {
        let Some((last, first)) = batch.changes.split_last() else { return Ok(()) };
        first.iter().try_for_each(|change| self.print_change((batch, change), None, output))?;
        self.print_change((batch, last), Some(batch.position), output)
    }

    fn print_change(
        &mut self,
        (batch, change): (&ChangeBatch, &Change),
        at: Option<ChangePosition>,
        output: &mut Output,
    ) -> Result<()> {
        let name = change.keyspace();
        let place = LinePlace { keyspace: name, position: at };
        if matches!(change, Change::DropKeyspace { .. }) {
            self.keyspaces.remove(name);
            return output.line(place.drop());
        }
        let (types, keys) = match batch.types(name).filter(|types| !types.is_bytes()) {
            Some(types) => (&**types, Keys::of_type(types.keys)),
            None => self.untyped(name)?,
        };
        output.line(match change {
            Change::Insert { key, value, expires, .. } => place.put(types, keys, (key, value), *expires),
            Change::Remove { key, .. } => place.remove(keys, key),
            Change::RemoveRange { start, end, .. } => place.remove_range(keys, start, end.as_deref()),
            Change::Ingest { tables, .. } => {
                let mut records = tables.records().peekable();
                while let Some(record) = records.next() {
                    let (key, value) = record?;
                    let position = at.filter(|_| records.peek().is_none());
                    output.line(LinePlace { position, ..place }.put(types, keys, (&key, &value), None))?;
                }
                return Ok(());
            }
            _ => return Ok(()),
        })
    }
}

/// The keys of a keyspace without types; bytes if another one has its name now, or none.
fn keys_of(db: &Db, name: &str) -> Result<Keys> {
    if !db.keyspaces().iter().any(|known| known == name) {
        return Ok(Keys::BYTES);
    }
    let keyspace = db.keyspace(name)?;
    if keyspace.record_type().is_bytes() { keys::of(db, &keyspace, None) } else { Ok(Keys::BYTES) }
}
