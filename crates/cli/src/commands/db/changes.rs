//! `ogive db changes`: prints the committed changes of a store, in their order, as JSON lines.

use super::keys::{self, Keys};
use super::store::StoreFolder;
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::values::records::RecordFields;
use crate::values::size::duration;
use ogive::lsm::Db;
use ogive::types::{KeyType, RecordType, TimeUnit, Value};
use ogive::{Change, ChangeBatch, ChangePosition};
use serde_json::json;
use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Time between two looks whether an interrupt has arrived.
const LOOK_EVERY: Duration = Duration::from_millis(50);

const EXAMPLES: &str = "\
Examples:
  ogive db changes fruit                            print the changes that are left
  ogive db changes fruit --subscriber search --follow
                                                    print each change once, and wait for more
  ogive db changes fruit --since 0123456789abcdef-42
  ogive db changes s3://bucket/fruit --subscriber search --follow --every 5s

Prints a JSON object for each change: {\"keyspace\": ..., \"put\": {...}}, or with \"remove\", \"remove_range\" or
\"drop\". The last one of a batch has the \"position\" behind it, for --since. The records of ingested tables are
printed as one batch. The store may be in use by another process.

Without a subscriber, only changes that are not in tables yet are left, and on an object store those of the last minutes
(each look for more is one listing there). From a subscriber's first call on, the store
keeps the changes that it has not printed; remove it with --unsubscribe when it is not needed any more. A batch that was
printed shortly before the process was killed may be printed again.";

/// Print the changes of a store in their order, as JSON lines
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DbChangesArguments {
    #[command(flatten)]
    store: StoreFolder,

    /// Print the changes behind this position; by default all that are left
    #[arg(long, value_name = "POSITION", conflicts_with = "subscriber")]
    since: Option<ChangePosition>,

    /// Go on as this subscriber, which is made if there is none: print what it has not printed yet
    #[arg(long, value_name = "NAME")]
    subscriber: Option<String>,

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
    if let Some(name) = arguments.subscriber.as_ref().filter(|_| arguments.unsubscribe) {
        output.json(&json!({ "unsubscribed": db.unsubscribe(name)? }))?;
        return Ok(Outcome::Done);
    }
    let since = match &arguments.subscriber {
        Some(name) => Some(db.subscribe(name)?),
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
        if let (Some(name), Some(newest)) = (&arguments.subscriber, newest) {
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

/// The keyspaces of a store, as their records are printed.
struct Shown<'a> {
    store: &'a StoreFolder,
    keyspaces: HashMap<String, (RecordFields, Keys)>,
}

impl Shown<'_> {
    /// The types of a keyspace, in the store as it is when it is first met.
    fn keyspace(&mut self, name: &str) -> Result<&(RecordFields, Keys)> {
        if !self.keyspaces.contains_key(name) {
            let shown = found(&self.store.read()?, name)?;
            self.keyspaces.insert(name.to_owned(), shown);
        }
        Ok(&self.keyspaces[name])
    }

    fn print(&mut self, batch: &ChangeBatch, output: &mut Output) -> Result<()> {
        let Some((last, first)) = batch.changes.split_last() else { return Ok(()) };
        first.iter().try_for_each(|change| self.print_change(change, None, output))?;
        self.print_change(last, Some(batch.position), output)
    }

    fn print_change(&mut self, change: &Change, at: Option<ChangePosition>, output: &mut Output) -> Result<()> {
        let (keyspace, what, shown) = match change {
            Change::Insert { keyspace, key, value, expires } => {
                let (fields, _) = self.keyspace(keyspace)?;
                let shown = fields.json(key, Some(value));
                let shown = match expires {
                    Some(expires) => with_expiry(&shown, *expires)?,
                    None => shown,
                };
                (keyspace, "put", shown)
            }
            Change::Remove { keyspace, key } => {
                let (fields, _) = self.keyspace(keyspace)?;
                (keyspace, "remove", fields.json(key, None))
            }
            Change::RemoveRange { keyspace, start, end } => {
                let (_, keys) = self.keyspace(keyspace)?;
                let end = end.as_ref().map(|end| keys.to_json(end));
                (keyspace, "remove_range", json!({ "from": keys.to_json(start), "to": end }).to_string())
            }
            Change::Ingest { keyspace, tables } => {
                let (fields, _) = self.keyspace(keyspace)?;
                let mut records = tables.records().peekable();
                while let Some(record) = records.next() {
                    let (key, value) = record?;
                    let position = at.filter(|_| records.peek().is_none());
                    print(keyspace, "put", fields.json(&key, Some(&value)), position, output)?;
                }
                return Ok(());
            }
            Change::DropKeyspace { keyspace } => {
                self.keyspaces.remove(&**keyspace);
                (keyspace, "drop", "true".to_owned())
            }
            _ => return Ok(()),
        };
        print(keyspace, what, shown, at, output)
    }
}

/// The types of a keyspace; those of bytes if it is not there any more.
fn found(db: &Db, name: &str) -> Result<(RecordFields, Keys)> {
    if !db.keyspaces().iter().any(|known| known == name) {
        return Ok((RecordFields::new(&RecordType::default()), Keys::BYTES));
    }
    let keyspace = db.keyspace(name)?;
    let keys = keys::of(db, &keyspace, None)?;
    let types = RecordType { keys: keys.key_type(), ..RecordType::clone(&keyspace.record_type()) };
    Ok((RecordFields::new(&types), keys))
}

/// Prints a change, which is JSON.
/// A record with the time at which it expires, in UTC, as the next field of the line.
fn with_expiry(shown: &str, expires: SystemTime) -> Result<String> {
    let since = expires.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let milliseconds = KeyType::Timestamp(TimeUnit::Millisecond);
    let time = milliseconds.encode(&Value::Signed(since.as_millis() as i128))?;
    Ok(format!("{shown},\"expires\":{}", json!(milliseconds.display(&time))))
}

fn print(keyspace: &str, what: &str, shown: String, at: Option<ChangePosition>, output: &mut Output) -> Result<()> {
    let position = at.map_or_else(String::new, |at| format!(",\"position\":\"{at}\""));
    output.line(format_args!("{{\"keyspace\":{},\"{what}\":{shown}{position}}}", json!(keyspace)))
}
