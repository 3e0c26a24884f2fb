//! Drawn programs of two sessions of SQL and of a program beside them, against a model: rows are inserted, copied and
//! removed, and keyspaces are dropped, made again, and get more fields, under tables that know what was there before.

use crate::{first_seed, with_paths};
use datafusion::prelude::SessionContext;
use ogive::types::{KeyType, RecordType, RowBuilder, Value, ValueType};
use ogive::{Db, DbOptions};
use ogive_testkit::Random;
use std::collections::BTreeMap;

const PROGRAMS: u64 = 6;
const STEPS: u64 = 60;

/// The fields of a row, of which a keyspace has the first ones.
const FIELDS: [&str; 4] = ["f0: text", "f1: i64?", "f2: f64?", "f3: text?"];

/// What the field of a row has, as SQL and as it is shown; each row has one number. Columns that may be null are so in
/// the plan, too: `random` is not evaluated before.
fn field(at: usize, number: u64) -> (String, String) {
    let shown = match at {
        1 => number.to_string(),
        2 => format!("{number}.5"),
        _ => format!("t{number}"),
    };
    let (is_null, kind) = ((number >> at).is_multiple_of(3), ["varchar", "bigint", "double", "varchar"][at]);
    match (at, is_null) {
        (0, _) => (format!("'{shown}'"), shown),
        (_, true) => (format!("case when random() > 2 then cast('{shown}' as {kind}) end"), String::new()),
        (_, false) => (format!("case when random() < 2 then cast('{shown}' as {kind}) end"), shown),
    }
}

/// The rows of a keyspace: their numbers, and how many of the fields each was written with.
type Rows = BTreeMap<i64, (u64, usize)>;

/// A keyspace of the store.
#[derive(Clone, Default)]
struct Keyspace {
    /// The number of its fields; `None` while they are undecided, and 0 if it has other ones.
    fields: Option<usize>,
    rows: Rows,
}

/// A table of a session.
struct Known {
    name: String,
    context: usize,
    keyspace: usize,
    fields: usize,
    rows: Rows,
    is_stale: bool,
}

struct Program {
    draw: Random,
    store: String,
    contexts: [SessionContext; 2],
    keyspaces: [Option<Keyspace>; 2],
    known: Vec<Known>,
    /// What was done, for the message of a failure.
    log: Vec<String>,
}

async fn cells(context: &SessionContext, query: &str) -> Result<Vec<String>, String> {
    let found = async { context.sql(query).await?.collect().await }.await.map_err(|error| error.to_string())?;
    let shown = datafusion::arrow::util::pretty::pretty_format_batches(&found).unwrap().to_string();
    let row = |line: &str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>().join(",");
    Ok(shown.lines().filter(|line| line.starts_with('|')).skip(1).map(row).collect())
}

fn shown(rows: &Rows, fields: usize) -> Vec<String> {
    let row = |(id, (number, written)): (&i64, &(u64, usize))| {
        let cell = |at| if at < *written { field(at, *number).1 } else { String::new() };
        [id.to_string()].into_iter().chain((0..fields).map(cell)).collect::<Vec<_>>().join(",")
    };
    rows.iter().map(row).collect()
}

impl Program {
    fn fail(&self, what: &str) -> ! {
        panic!("{what}\n{}", self.log.join("\n"))
    }

    fn name(keyspace: usize) -> String {
        format!("k{keyspace}")
    }

    /// Changes the store as a program does.
    fn with_db(&mut self, change: impl FnOnce(&Db)) {
        let db = Db::open(&self.store, &DbOptions::default()).unwrap();
        change(&db);
        db.close().unwrap();
    }

    fn by_program(&mut self, at: usize) {
        let (name, step, id, number) = (Self::name(at), self.draw.below(8), self.key(), self.draw.below(1_000_000));
        self.log.push(format!("program: step {step} of {name}, {id}, {number}"));
        let mut found = self.keyspaces[at].clone();
        self.with_db(|db| match (step, &mut found) {
            (0, Some(_)) => {
                assert!(db.drop_keyspace(&name).unwrap());
                found = None;
            }
            (1 | 2, Some(Keyspace { fields: Some(fields @ 1..4), .. })) => {
                *fields += 1;
                let keyspace = db.keyspace(&name).unwrap();
                let values: ValueType = format!("{{{}}}", FIELDS[..*fields].join(", ")).parse().unwrap();
                let types = RecordType { values, ..keyspace.record_type().as_ref().clone() };
                keyspace.declare(&types).unwrap();
            }
            (3, Some(Keyspace { rows, .. })) => {
                rows.clear();
                db.keyspace(&name).unwrap().remove_range::<&[u8]>(..).unwrap();
            }
            (4, Some(keyspace)) if keyspace.rows.is_empty() => {
                keyspace.fields = Some(0);
                let types = RecordType::new(KeyType::I64, "{f0: i64}".parse::<ValueType>().unwrap());
                db.keyspace(&name).unwrap().declare(&types).unwrap();
            }
            (4, None) => {
                db.keyspace(&name).unwrap();
                found = Some(Keyspace::default());
            }
            (5 | 6, Some(Keyspace { fields: Some(fields @ 1..), rows })) => {
                let keyspace = db.keyspace(&name).unwrap();
                let ValueType::Row(row_type) = &keyspace.record_type().values else { unreachable!() };
                let mut row = RowBuilder::new(row_type.clone());
                for at in 0..*fields {
                    let (_, cell) = field(at, number);
                    row.push(&match (at, cell.as_str()) {
                        (_, "") => Value::Null,
                        (1, cell) => Value::Signed(cell.parse().unwrap()),
                        (2, cell) => Value::Float(cell.parse().unwrap()),
                        (_, cell) => Value::Text(cell.to_owned()),
                    })
                    .unwrap();
                }
                let mut value = Vec::new();
                row.finish(&mut value).unwrap();
                keyspace.insert(KeyType::I64.parse(&id.to_string()).unwrap(), value).unwrap();
                rows.insert(id, (number, *fields));
            }
            (7, Some(Keyspace { rows, .. })) => {
                rows.remove(&id);
                db.keyspace(&name).unwrap().remove(KeyType::I64.parse(&id.to_string()).unwrap()).unwrap();
            }
            _ => {}
        });
        self.keyspaces[at] = found;
    }

    fn key(&mut self) -> i64 {
        self.draw.below(12) as i64 - 6
    }

    /// Copies a row with some of the fields, in any order.
    async fn copy(&mut self, at: usize) {
        let (id, number, fields) = (self.key(), self.draw.below(1_000_000), self.draw.below(4) as usize + 1);
        let mut columns: Vec<String> = (0..fields).map(|at| format!("{} as f{at}", field(at, number).0)).collect();
        let place = self.draw.below(columns.len() as u64 + 1) as usize;
        columns.insert(place, format!("cast({id} as bigint) as id"));
        let key = if self.draw.below(2) == 0 || place > 0 { ", key 'id'" } else { "" };
        let statement = format!(
            "copy (select {}) to '{}' stored as ogive options (keyspace '{}'{key})",
            columns.join(", "),
            self.store,
            Self::name(at)
        );
        self.log.push(statement.clone());
        let context = self.draw.below(2) as usize;
        let done = cells(&self.contexts[context], &statement).await;
        let keyspace = self.keyspaces[at].get_or_insert_default();
        let known = *keyspace.fields.get_or_insert(fields);
        match (fields <= known, done) {
            (true, Ok(_)) => _ = keyspace.rows.insert(id, (number, fields)),
            (false, Err(error)) if error.contains("takes no such rows") || error.contains("the key of") => {}
            (_, done) => self.fail(&format!("{done:?}")),
        }
    }

    /// Makes a table of what is there.
    async fn create(&mut self, at: usize) {
        let (context, name) = (self.draw.below(2) as usize, format!("t{}", self.log.len()));
        let statement =
            format!("create external table {name} stored as ogive location '{}#{}'", self.store, Self::name(at));
        self.log.push(statement.clone());
        let done = cells(&self.contexts[context], &statement).await;
        match (&self.keyspaces[at], done) {
            (Some(Keyspace { fields: Some(0), .. }), Ok(_)) => {}
            (Some(Keyspace { fields: Some(fields), rows }), Ok(_)) => {
                let (fields, rows) = (*fields, rows.clone());
                self.known.push(Known { name, context, keyspace: at, fields, rows, is_stale: false });
            }
            (Some(Keyspace { fields: None, .. }), Err(error)) if error.contains("no columns yet") => {}
            (None, Err(error)) if error.contains("has no keyspace") || error.contains("is no store") => {}
            (_, done) => self.fail(&format!("{done:?}")),
        }
    }

    async fn insert(&mut self, at: usize) {
        let (id, number) = (self.key(), self.draw.below(1_000_000));
        let Known { name, context, keyspace, fields, .. } = &self.known[at];
        let given = self.draw.below(*fields as u64) as usize + 1;
        let names: Vec<String> = (0..given).map(|at| format!("f{at}")).collect();
        let cells_of: Vec<String> = (0..given).map(|at| field(at, number).0).collect();
        let statement = format!("insert into {name} ({}, id) select {}, {id}", names.join(", "), cells_of.join(", "));
        self.log.push(statement.clone());
        let done = cells(&self.contexts[*context], &statement).await;
        let (keyspace, fields) = (*keyspace, *fields);
        let takes = match &mut self.keyspaces[keyspace] {
            None => Err("was dropped"),
            Some(Keyspace { fields: Some(found), .. }) if *found < fields => Err("open it with its own types"),
            Some(found) => {
                found.fields.get_or_insert(fields);
                Ok(found.rows.insert(id, (number, given)))
            }
        };
        match (takes, done) {
            (Ok(_), Ok(_)) => self.known[at].is_stale = true,
            (Err(expected), Err(error)) if error.contains(expected) => {}
            (_, done) => self.fail(&format!("{done:?}")),
        }
    }

    /// Reads a table, which has the rows of its creation, or those that were there after its last insertion.
    async fn read(&mut self, at: usize) {
        let Known { name, context, keyspace, fields, is_stale, .. } = &self.known[at];
        let columns: Vec<String> = (0..*fields).map(|at| format!("f{at}")).collect();
        let query = format!("select id, {} from {name} order by id", columns.join(", "));
        self.log.push(query.clone());
        let done = cells(&self.contexts[*context], &query).await;
        if *is_stale {
            let is_readable = match &self.keyspaces[*keyspace] {
                Some(Keyspace { fields: Some(0), .. }) | None => false,
                Some(_) => true,
            };
            if !is_readable {
                if done.is_ok() {
                    self.fail(&format!("{done:?}"));
                }
                return;
            }
            let rows = self.keyspaces[*keyspace].as_ref().map(|keyspace| keyspace.rows.clone());
            self.known[at].rows = rows.unwrap_or_default();
            self.known[at].is_stale = false;
        }
        let Known { rows, fields, .. } = &self.known[at];
        if done.as_ref() != Ok(&shown(rows, *fields)) {
            self.fail(&format!("{done:?}, not {:?}", shown(rows, *fields)));
        }
    }

    /// Reads a keyspace by its path.
    async fn read_path(&mut self, at: usize) {
        let Some(Keyspace { fields: Some(fields @ 1..), rows }) = &self.keyspaces[at] else { return };
        let columns: Vec<String> = (0..*fields).map(|at| format!("f{at}")).collect();
        let query = format!("select id, {} from '{}#{}' order by id", columns.join(", "), self.store, Self::name(at));
        let done = cells(&self.contexts[0], &query).await;
        if done.as_ref() != Ok(&shown(rows, *fields)) {
            self.fail(&format!("{query}: {done:?}, not {:?}", shown(rows, *fields)));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_and_their_keyspaces_agree_whatever_becomes_of_them() {
    for seed in first_seed()..first_seed() + PROGRAMS {
        let folder = tempfile::tempdir().unwrap();
        let mut program = Program {
            draw: Random::new(seed),
            store: folder.path().join("shop").display().to_string(),
            contexts: [with_paths(1), with_paths(2)],
            keyspaces: [None, None],
            known: Vec::new(),
            log: vec![format!("seed {seed}")],
        };
        program.with_db(|_| {});
        for _ in 0..STEPS {
            let at = program.draw.below(2) as usize;
            let tables = program.known.len() as u64;
            match program.draw.below(10) {
                0 | 1 => program.copy(at).await,
                2 => program.create(at).await,
                3 | 4 if tables > 0 => {
                    let table = program.draw.below(tables) as usize;
                    program.insert(table).await;
                }
                5 | 6 if tables > 0 => {
                    let table = program.draw.below(tables) as usize;
                    program.read(table).await;
                }
                7 => program.read_path(at).await,
                _ => program.by_program(at),
            }
        }
    }
}
