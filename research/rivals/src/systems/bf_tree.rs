//! Bf-Tree, with its write-ahead log and without it.
//!
//! X. Hao, B. Chandramouli: "Bf-Tree: A Modern Read-Write-Optimized Concurrent Larger-Than-Memory Range Index", PVLDB
//! 17 (11), 2024.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use bf_tree::{BfTree, Config, LeafInsertResult, LeafReadResult, ScanReturnField, WalConfig};
use ogive_research::stores::{KeyValueStore, StoreBatch, StoreSessions, StoreSettings, StoreSystem};

/// With its log: a put returns when the log was handed to the operating system.
pub(crate) const BF_TREE: StoreSystem = StoreSystem {
    name: "bf-tree",
    settings: |settings| described(settings, true),
    reads_directly: false,
    open: |folder, settings| open(folder, settings, true),
};

/// Without a log: what was written since the last snapshot is lost with the process.
pub(crate) const BF_TREE_UNLOGGED: StoreSystem = StoreSystem {
    name: "bf-tree-unlogged",
    settings: |settings| described(settings, false),
    reads_directly: false,
    open: |folder, settings| open(folder, settings, false),
};

/// Its log is written every so often, one thread waiting for that at each put: as short as a wait can be.
const FLUSH_INTERVAL: Duration = Duration::from_micros(1);
/// Each flush writes a whole segment.
const SEGMENT_BYTES: usize = 4 << 10;
/// The largest key and value together; leaves of 4 KiB take little more if keys may be long.
const RECORD_BYTES_MAX: usize = 1536;
/// The longest key of all key forms, that of `hex100`.
const KEY_BYTES_MAX: usize = 100;

struct BfTreeStore {
    tree: BfTree,
    snapshot: PathBuf,
}

/// A power of two, as its buffer must be; at most the memory.
fn buffer_bytes(settings: &StoreSettings) -> usize {
    1 << settings.memory_bytes.max(1 << 20).ilog2()
}

fn described(settings: &StoreSettings, logged: bool) -> String {
    let log = match logged {
        true => "log flushed every microsecond, segments of 4 KiB",
        false => "no log, in the process only",
    };
    format!("Bf-Tree 0.5.7, buffer {} MiB, {log}, a snapshot when it is closed", buffer_bytes(settings) >> 20)
}

fn open(folder: &Path, settings: &StoreSettings, logged: bool) -> Result<Box<dyn StoreSessions>> {
    std::fs::create_dir_all(folder)?;
    let snapshot = folder.join("snapshot.bftree");
    let log = logged.then(|| {
        let mut log = WalConfig::new(folder.join("log"));
        log.flush_interval(FLUSH_INTERVAL).segment_size(SEGMENT_BYTES);
        Arc::new(log)
    });
    let buffer_bytes = buffer_bytes(settings);
    let tree = if snapshot.exists() {
        // It reads the pages where the snapshot is, and the next one must have another name.
        let opened = folder.join("opened.bftree");
        std::fs::rename(&snapshot, &opened)?;
        BfTree::new_from_cpr_snapshot(&opened, true, None, Some(buffer_bytes), log)
    } else {
        let mut config = Config::new(folder.join("data.bftree"), buffer_bytes);
        config.use_snapshot(true).cb_max_record_size(RECORD_BYTES_MAX).cb_max_key_len(KEY_BYTES_MAX);
        if let Some(log) = log {
            config.enable_write_ahead_log(log);
        }
        BfTree::with_config(config, None)
    };
    let tree = tree.map_err(|error| anyhow!("Bf-Tree: {error:?}"))?;
    Ok(Box::new(BfTreeStore { tree, snapshot }))
}

impl Drop for BfTreeStore {
    fn drop(&mut self) {
        // There is no other way to open it again: the log has no replay.
        self.tree.cpr_snapshot(&self.snapshot);
    }
}

impl KeyValueStore for BfTreeStore {
    fn write(&self, batch: &StoreBatch) -> Result<()> {
        for (key, value) in batch.iter() {
            if let LeafInsertResult::InvalidKV(reason) = self.tree.insert(key, value) {
                bail!("Bf-Tree: {reason}");
            }
        }
        Ok(())
    }

    fn get(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        out.resize(RECORD_BYTES_MAX, 0);
        let found = self.tree.read(key, out);
        out.truncate(if let LeafReadResult::Found(length) = found { length as usize } else { 0 });
        match found {
            LeafReadResult::Found(_) => Ok(true),
            LeafReadResult::NotFound | LeafReadResult::Deleted => Ok(false),
            other => bail!("Bf-Tree: {other:?}"),
        }
    }

    fn scan(&self, from: &[u8], entries: usize, out: &mut Vec<u8>) -> Result<usize> {
        out.clear();
        let scan = self.tree.scan_with_count(from, entries, ScanReturnField::KeyAndValue);
        let mut scan = scan.map_err(|error| anyhow!("Bf-Tree: {error:?}"))?;
        let (mut record, mut count) = ([0; RECORD_BYTES_MAX], 0);
        while let Some((key, value)) = scan.next(&mut record) {
            out.extend_from_slice(&record[..key + value]);
            count += 1;
        }
        Ok(count)
    }
}
