//! The printer of records: JSON immediately, text tables when an experiment is complete.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};

use super::record::{Figure, Record};

/// Prints records to a stream.
pub struct Reporter<W: Write> {
    out: W,
    json: bool,
    /// Records of the current experiment, collected for its table.
    rows: Vec<Record>,
}

impl<W: Write> std::fmt::Debug for Reporter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reporter").field("json", &self.json).field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}

impl<W: Write> Reporter<W> {
    /// Prints to `out`: lines of JSON, or tables.
    pub fn new(out: W, json: bool) -> Self {
        Self { out, json, rows: Vec::new() }
    }

    /// Prints a record, or collects it for the table of its experiment.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn report(&mut self, record: Record) -> io::Result<()> {
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
            writeln!(self.out, "{}\n{}\n", first.experiment(), table(&self.rows))?;
            self.rows.clear();
        }
        self.out.flush()
    }
}

/// A row per record and a column per field of any of them; a single record is printed vertically.
fn table(rows: &[Record]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if let [only] = rows {
        for (name, value) in only.fields() {
            table.add_row(vec![name.clone(), value.to_string()]);
        }
        return trimmed(&table);
    }
    let mut columns: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(Record::fields) {
        if !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    table.set_header(columns.clone());
    let mut numeric = vec![false; columns.len()];
    for row in rows {
        let cell = |column: &str| row.fields().iter().find(|(name, _)| name == column).map(|(_, value)| value);
        let cells: Vec<Option<&Figure>> = columns.iter().map(|column| cell(column)).collect();
        for (numeric, value) in numeric.iter_mut().zip(&cells) {
            *numeric |= matches!(value, Some(Figure::Count(_) | Figure::Number(_)));
        }
        table.add_row(cells.iter().map(|value| value.map_or_else(String::new, Figure::to_string)));
    }
    for (index, numeric) in numeric.into_iter().enumerate() {
        if let Some(column) = table.column_mut(index).filter(|_| numeric) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    trimmed(&table)
}

/// The table without trailing blanks.
fn trimmed(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>().join("\n")
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
