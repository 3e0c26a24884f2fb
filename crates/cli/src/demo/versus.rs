//! The demonstration without files: generated events in a table with a tuned index and in one with a B-tree.

use super::events::{Events, EventsInput, key};
use super::lookups::LookUps;
use super::next::{print_commands, program};
use super::show::print_how;
use super::tables::{DemoTable, FIXED_BLOCK_BYTES, LOOK_UPS, Made, make};
use crate::failure::Result;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::reading::reads;
use crate::report::layers_in_words;
use crate::values::key::shown;
use crate::values::size::{grouped, human_bytes, human_us};
use crate::values::table_text::plain_table;
use ogive::io::Profile;
use ogive::table::TableWriteOptions;
use ogive_terminal::shell_word;
use serde_json::{Value, json};
use std::path::Path;

/// Records shown by a scan.
const SHOWN: usize = 5;

/// The same events in two tables.
#[derive(Debug)]
pub(crate) struct Versus {
    count: u64,
    tuned: DemoTable,
    btree: DemoTable,
}

impl Versus {
    /// Builds both tables of `count` events in `folder`, replacing those of an earlier run, and runs lookups.
    ///
    /// # Errors
    /// Errors of the engine; a file of that name that is not a table is refused.
    pub(crate) fn make(count: u64, folder: &Path, interrupt: &Interrupt) -> Result<Self> {
        let tuned = TableWriteOptions::default();
        let btree = TableWriteOptions::default().design("btree".parse()?).block_bytes(FIXED_BLOCK_BYTES);
        let make = |name: &str, options| {
            let made = Made { name: name.to_owned(), profile: Profile::named("nvme")?, options, folder, interrupt };
            make(&made, &mut EventsInput::new(count), |present| {
                let stride = (count / LOOK_UPS as u64).max(1);
                // All differences exceed a nanosecond.
                let times = Events::new(count).skip(stride as usize / 2).step_by(stride as usize);
                times.map(move |time_ns| key(time_ns + i64::from(!present)).to_vec())
            })
        };
        Ok(Self { count, tuned: make("events-tuned.ogive", tuned)?, btree: make("events-btree.ogive", btree)? })
    }

    fn tables(&self) -> [(&'static str, &DemoTable); 2] {
        [("tuned by Ogive", &self.tuned), ("B-tree", &self.btree)]
    }

    /// The key in the middle, which is there.
    fn middle(&self) -> Option<Vec<u8>> {
        Events::new(self.count).nth((self.count / 2) as usize).map(|time_ns| key(time_ns).to_vec())
    }

    /// The whole demonstration as text.
    pub(crate) fn print(&self, output: &mut Output) -> Result<()> {
        let count = grouped(self.count);
        output.line(format_args!(
            "{count} generated events: a time in nanoseconds leads to a number; bursts with gaps."
        ))?;
        output.line("The same events in two tables, which differ in their index:\n")?;
        self.print_sizes(output)?;
        for (_, made) in self.tables() {
            output.line(format_args!("  layers of {}, root first: {}", made.name, layers_in_words(&made.report)))?;
        }
        print_how(self.tables().into_iter().map(|(_, made)| made), output)?;
        self.print_lookups(output)?;
        let Some(middle) = self.middle() else { return Ok(()) };
        for (_, made) in self.tables() {
            print_get(made, &middle, output)?;
        }
        self.print_scan(&middle, output)?;
        self.print_next(&middle, output)
    }

    fn print_sizes(&self, output: &mut Output) -> Result<()> {
        let rows = self.tables().map(|(what, made)| {
            let report = &made.report;
            let sizes = [report.data_bytes, report.block_size_bytes, report.index_bytes].map(human_bytes);
            let per_key = report.index_bytes as f64 * 8.0 / self.count as f64;
            [what.to_owned()].into_iter().chain(sizes).chain([format!("{per_key:.4}")]).collect()
        });
        output.line(plain_table(&["index", "data", "in blocks of", "size of the index", "bits/key"], rows))
    }

    fn print_lookups(&self, output: &mut Output) -> Result<()> {
        let s3 = Profile::named("s3")?;
        let rows = self.tables().map(|(what, made)| {
            let LookUps { keys, median_us, .. } = made.present;
            vec![
                what.to_owned(),
                grouped(keys),
                format!("{:.3}", made.present.requests_each()),
                grouped(made.present.bytes_each().round() as u64),
                human_us(median_us),
                human_us(made.report.modelled_us(&s3)),
            ]
        });
        let headings = ["index", "keys", "reads/lookup", "bytes/lookup", "measured median", "modelled on s3"];
        output.line(plain_table(&headings, rows))
    }

    fn print_scan(&self, from: &[u8], output: &mut Output) -> Result<()> {
        let made = &self.tuned;
        let key_type = made.table.key_type();
        let text = shown(key_type, from);
        output.line(format_args!("\n$ ogive scan {} --from {} --limit {SHOWN}", made.name, shell_word(&text)))?;
        for record in made.table.range(from.to_vec()..).take(SHOWN) {
            let (key, value) = record?;
            output.line(format_args!("{}\t{}", shown(key_type, &key), number(&value)))?;
        }
        Ok(())
    }

    fn print_next(&self, middle: &[u8], output: &mut Output) -> Result<()> {
        let program = program();
        let [tuned, btree] = self.tables().map(|(_, made)| shell_word(&made.path.to_string_lossy()).into_owned());
        let key = shown(self.tuned.table.key_type(), middle);
        let key = shell_word(&key);
        let commands = [
            format!("{program} info {tuned}"),
            format!("{program} get {tuned} {key} --explain"),
            format!("{program} scan {tuned} --from {key} --limit 10"),
            format!("{program} explain {tuned}"),
            format!("{program} explain {btree}"),
            format!("{program} verify {tuned}"),
        ];
        print_commands(&program, &commands, output)
    }

    /// The whole demonstration as an object.
    pub(crate) fn to_json(&self) -> Value {
        let tables = self.tables().map(|(_, made)| made.to_json());
        json!({ "events": self.count, "tables": tables })
    }
}

/// A lookup with its reads.
fn print_get(made: &DemoTable, key: &[u8], output: &mut Output) -> Result<()> {
    let text = shown(made.table.key_type(), key);
    let (value, trace) = made.get(key)?;
    output.line(format_args!("\n$ ogive get {} {} --explain", made.name, shell_word(&text)))?;
    output.line(value.map_or_else(|| format!("{text}: not found"), |value| number(&value)))?;
    reads::lines(&trace.reads).into_iter().try_for_each(|line| output.line(line))
}

/// The number of an event.
fn number(value: &[u8]) -> String {
    value
        .try_into()
        .map_or_else(|_| ogive_text::escaped(value).into_owned(), |bytes| u64::from_be_bytes(bytes).to_string())
}
