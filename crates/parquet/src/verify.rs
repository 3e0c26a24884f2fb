//! Verification: every row of the data files against the index.

use crate::build::row_hash;
use crate::bytes_io::Encoder;
use crate::data::of_data_file;
use crate::error::{ParquetIndexError, Result};
use crate::file::footer::{find_groups, read_footer};
use crate::index::{Inner, ParquetIndex, row_number};

/// Most findings that are listed.
const FINDINGS_MAX: usize = 100;

/// What a verification found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Data files that were read.
    pub files: u64,
    /// Rows whose keys were compared.
    pub rows: u64,
    /// What is wrong, each with the file that it is about; at most 100.
    pub findings: Vec<String>,
    /// Whether the index itself is damaged: an update cannot go on from it, and it is to be built again.
    pub is_index_damaged: bool,
}

impl VerifyReport {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds a finding about the index itself.
    fn add_damage(&mut self, finding: String) {
        self.is_index_damaged = true;
        self.add(finding);
    }

    fn add(&mut self, finding: String) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        }
    }
}

impl ParquetIndex {
    /// Checks every byte of the index; and that each data file is unchanged by its length, time and footer, that pages
    /// are where the index says, that every row has the key that was indexed, and that the index leads to it.
    /// `progress` receives the rows compared so far and in total.
    ///
    /// Values of other columns have no copy in the index; pages whose writer added a checksum are checked as they are
    /// read.
    ///
    /// # Errors
    /// Storage errors. What is wrong with the index or the data are findings.
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<VerifyReport> {
        let inner = &*self.inner;
        let mut report = VerifyReport::default();
        let table = inner.table.verify(&mut |_, _| ())?;
        for finding in &table.findings {
            report.add_damage(format!(
                "{}: at byte {}: {}",
                inner.table.path().display(),
                finding.offset,
                finding.detail
            ));
        }
        for file in 0..inner.data.catalog.files.len() {
            match inner.verify_file(file, &mut report, progress, self.rows()) {
                // What the storage answered says nothing of the data.
                Err(ParquetIndexError::Engine(
                    error @ ogive::Error { cause: ogive::Cause::Io(_) | ogive::Cause::WrongAnswer, .. },
                )) => return Err(error.into()),
                Err(error) => report.add(error.message()),
                Ok(()) => {}
            }
            report.files += 1;
        }
        if inner.runs.is_none() {
            inner.verify_records(&mut report)?;
        }
        Ok(report)
    }
}

impl Inner {
    fn verify_file(
        &self,
        number: usize,
        report: &mut VerifyReport,
        progress: &mut dyn FnMut(u64, u64),
        total: u64,
    ) -> Result<()> {
        let file = self.data.file(number)?;
        let stated = &self.data.catalog.files[number];
        let footer = read_footer(&file).map_err(of_data_file)?;
        let changed = |detail: &str| {
            let (path, detail) = (file.path().to_owned(), detail.to_owned());
            ParquetIndexError::Changed { path, detail, may_be_copy: false }
        };
        if footer.checksum != stated.footer_checksum {
            return Err(changed("its footer is another one"));
        }
        let found = find_groups(&file, &footer, &self.data.catalog.schemas[stated.schema])?;
        let groups = self.data.catalog.groups.iter().enumerate().filter(|(_, group)| group.file == number);
        let groups: Vec<usize> = groups.map(|(group, _)| group).collect();
        if groups.len() != found.len() {
            return Err(changed("it has another number of row groups"));
        }
        for (&group, found) in groups.iter().zip(&found) {
            let stated = &self.data.catalog.groups[group];
            let mut pages = Encoder::default();
            found.pages.encode(found.rows, &mut pages);
            if found.rows != stated.rows || pages.0 != stated.pages {
                return Err(changed("its pages are in other places"));
            }
            self.verify_rows(group, report)?;
            report.rows += stated.rows;
            progress(report.rows, total);
        }
        Ok(())
    }

    /// Compares the keys of a row group with their hash, and where the index locates them with where they are.
    fn verify_rows(&self, group: usize, report: &mut VerifyReport) -> Result<()> {
        let path = self.data.path_of(self.data.catalog.groups[group].file);
        let cuts = self.data.pages(group)?.cuts();
        let place = self.runs.as_ref().and_then(|runs| runs.iter().find_map(|run| run.place_of(group).zip(Some(run))));
        let (mut hash, mut interval, mut missed) = (0_u64, 0, None);
        let mut before: Vec<u8> = Vec::new();
        self.data.each_key(group, &mut |row, key| {
            hash = hash.wrapping_add(row_hash(row, &key));
            if let Some((first_interval, run)) = place {
                interval += u64::from(cuts.get(interval as usize + 1).is_some_and(|&cut| cut <= row));
                let at = first_interval + interval;
                let is_found =
                    run.search.first(&key) <= at && at <= run.search.last(&key) && (row == 0 || before <= key);
                if !is_found && missed.is_none() {
                    missed = Some(row);
                }
                before = key;
            }
            Ok(())
        })?;
        if hash != self.data.catalog.groups[group].key_hash {
            report.add(format!("{}: keys of row group {group} have changed since they were indexed", path.display()));
        } else if let Some(row) = missed {
            report.add_damage(format!("{}: the index does not lead to row {row} of row group {group}", path.display()));
        }
        Ok(())
    }

    /// Compares the records of the index with the hashes of the keys of row groups.
    fn verify_records(&self, report: &mut VerifyReport) -> Result<()> {
        let mut hashes = vec![0_u64; self.data.catalog.groups.len()];
        for record in self.table.iter() {
            let (key, value) = match record {
                Ok(record) => record,
                // Damage of a block is among the findings already.
                Err(ogive::Error { cause: ogive::Cause::Damaged, .. }) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let row = row_number(&value);
            let group = self.first_rows.partition_point(|&first| first <= row).saturating_sub(1);
            match hashes.get_mut(group) {
                Some(hash) => *hash = hash.wrapping_add(row_hash(row - self.first_rows[group], &key)),
                None => report.add_damage(format!("{}: there is no row {row}", self.table.path().display())),
            }
        }
        for (number, (group, hash)) in self.data.catalog.groups.iter().zip(hashes).enumerate() {
            if group.key_hash != hash {
                let path = self.table.path().display();
                report.add_damage(format!("{path}: its records of row group {number} are not those that were written"));
            }
        }
        Ok(())
    }
}
