//! The printer of records: JSON immediately, text tables when an experiment is complete.

use std::io::{self, Write};

use super::layout::table;
use super::record::Record;

/// Width of tables if there is no terminal.
const WIDTH: usize = 120;

/// Prints records to a stream.
pub struct Reporter<W: Write> {
    out: W,
    json: bool,
    /// Columns of the screen that a table may take.
    width: usize,
    /// Records of the current experiment, collected for its table.
    rows: Vec<Record>,
    /// All records, if they are kept.
    kept: Option<Vec<Record>>,
    /// Number of records, and of those that tell of a failure.
    counts: (u64, u64),
}

impl<W: Write> std::fmt::Debug for Reporter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reporter").field("json", &self.json).field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}

impl<W: Write> Reporter<W> {
    /// Prints to `out`: lines of JSON, or tables.
    pub fn new(out: W, json: bool) -> Self {
        Self { out, json, width: WIDTH, rows: Vec::new(), kept: None, counts: (0, 0) }
    }

    /// Sets the width of tables, in columns of the screen.
    #[must_use]
    pub fn width(self, width: Option<usize>) -> Self {
        Self { width: width.unwrap_or(WIDTH), ..self }
    }

    /// Keeps all records, for a page.
    #[must_use]
    pub fn keep(self, keep: bool) -> Self {
        Self { kept: keep.then(Vec::new), ..self }
    }

    /// The records that were kept.
    pub fn kept(&self) -> &[Record] {
        self.kept.as_deref().unwrap_or_default()
    }

    /// Number of records so far, and of those that tell of a failure.
    pub fn counts(&self) -> (u64, u64) {
        self.counts
    }

    /// Prints a record, or collects it for the table of its experiment.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn report(&mut self, record: Record) -> io::Result<()> {
        self.counts = (self.counts.0 + 1, self.counts.1 + u64::from(record.is_error()));
        if let Some(kept) = &mut self.kept {
            kept.push(record.clone());
        }
        if self.json {
            serde_json::to_writer(&mut self.out, &record)?;
            self.out.write_all(b"\n")?;
            return self.out.flush();
        }
        if self.rows.first().is_some_and(|row| row.experiment() != record.experiment()) {
            self.flush()?;
        }
        self.rows.push(record);
        Ok(())
    }

    /// Prints the table of the collected records.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn flush(&mut self) -> io::Result<()> {
        if let Some(first) = self.rows.first() {
            writeln!(self.out, "{}\n{}\n", first.experiment(), table(&self.rows, self.width))?;
            self.rows.clear();
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(json: bool, records: Vec<Record>) -> io::Result<String> {
        let mut out = Vec::new();
        let mut reporter = Reporter::new(&mut out, json);
        for record in records {
            reporter.report(record)?;
        }
        reporter.flush()?;
        String::from_utf8(out).map_err(io::Error::other)
    }

    fn records() -> Vec<Record> {
        vec![
            Record::new("machine").figure("cpu", "fast"),
            Record::new("a/b").keys("uniform").figure("index_bytes", 1_200),
            Record::new("a/b").keys("lognormal").figure("index_bytes", 7).figure("build_s", 0.25),
        ]
    }

    #[test]
    fn json_is_one_object_a_line() -> io::Result<()> {
        let printed = printed(true, records())?;
        let objects: Vec<serde_json::Value> = printed.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        assert_eq!(objects.len(), 3);
        assert_eq!((&objects[2]["index_bytes"], &objects[2]["keys"]), (&7.into(), &"lognormal".into()));
        Ok(())
    }

    #[test]
    fn people_get_one_aligned_table_an_experiment() -> io::Result<()> {
        let expected = "machine\n cpu  fast\n\n\
                        a/b\n keys       index_bytes  build_s\n uniform          1,200\n \
                        lognormal            7   0.2500\n\n";
        assert_eq!(printed(false, records())?, expected);
        Ok(())
    }
}
