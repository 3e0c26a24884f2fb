//! Handles of the crate `metrics`, the names of all metrics, and the target of all events.
//!
//! A handle is registered when a store, a table, an index or a storage is opened, with the recorder that is installed
//! then. Without a recorder it is empty, and counting costs a branch. Without the feature `metrics` it has no size, and
//! counting costs nothing. The page docs/metrics.md lists the metrics; a test compares them.

/// The target of all events of the crate `tracing`: filters on it hold whatever module reports.
pub(crate) const EVENT_TARGET: &str = "ogive";

/// What a metric measures: a sum that grows, a value that changes, or a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// A metric, named by the conventions of Prometheus.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) kind: MetricKind,
    /// The names of its labels, separated by commas.
    pub(crate) labels: &'static str,
    pub(crate) help: &'static str,
}

macro_rules! metrics {
    ($($constant:ident = $kind:ident $name:literal [$labels:literal] $help:literal,)*) => {
        $(pub(crate) const $constant: Metric =
            Metric { name: $name, kind: MetricKind::$kind, labels: $labels, help: $help };)*

        /// All metrics, in the order of docs/metrics.md.
        #[cfg(test)]
        const ALL: &[Metric] = &[$($constant,)*];
    };
}

metrics! {
    STORE_GETS = Counter "ogive_store_gets_total" ["store"] "Lookups of single keys.",
    STORE_BATCHED_GETS = Counter "ogive_store_batched_gets_total" ["store"] "Keys looked up in batches.",
    STORE_CACHE_HITS = Counter "ogive_store_cache_hits_total" ["store"]
        "Blocks and filter pages found in the cache by number.",
    STORE_CACHE_MISSES = Counter "ogive_store_cache_misses_total" ["store"]
        "Blocks and filter pages not found there.",
    STORE_OPERATIONS = Counter "ogive_store_operations_total" ["store"] "Operations written.",
    STORE_BATCHES = Counter "ogive_store_batches_total" ["store"] "Batches written.",
    STORE_GROUPS = Counter "ogive_store_groups_total" ["store"] "Commits of the log, each of one or more batches.",
    STORE_SYNCS = Counter "ogive_store_syncs_total" ["store"] "Syncs of the log.",
    STORE_USER_BYTES = Counter "ogive_store_user_bytes_total" ["store"] "Bytes of keys and values written.",
    STORE_LOG_BYTES = Counter "ogive_store_log_bytes_total" ["store"] "Bytes written to the log.",
    STORE_VALUE_BYTES = Counter "ogive_store_value_bytes_total" ["store"]
        "Bytes of values written to value files, except by collection.",
    STORE_STALLS = Counter "ogive_store_stalls_total" ["store"] "Writes that waited for flushes or compactions.",
    STORE_STALL_SECONDS = Histogram "ogive_store_stall_duration_seconds" ["store"] "How long each of them waited.",
    STORE_FLUSHES = Counter "ogive_store_flushes_total" ["store"] "Flushes of memtables.",
    STORE_FLUSHED_BYTES = Counter "ogive_store_flushed_bytes_total" ["store"] "Bytes of tables written by flushes.",
    STORE_FLUSH_SECONDS = Histogram "ogive_store_flush_duration_seconds" ["store"] "Duration of a flush.",
    STORE_COMPACTIONS = Counter "ogive_store_compactions_total" ["store"] "Compactions.",
    STORE_COMPACTION_READ_BYTES = Counter "ogive_store_compaction_read_bytes_total" ["store"]
        "Bytes of tables read by compactions.",
    STORE_COMPACTION_WRITTEN_BYTES = Counter "ogive_store_compaction_written_bytes_total" ["store"]
        "Bytes of tables written by compactions.",
    STORE_MOVED_VALUE_BYTES = Counter "ogive_store_moved_value_bytes_total" ["store"]
        "Bytes of values that collection moved to other files.",
    STORE_COMPACTION_SECONDS = Histogram "ogive_store_compaction_duration_seconds" ["store"]
        "Duration of a compaction.",
    STORE_SKIPPED_ENTRIES = Counter "ogive_store_skipped_entries_total" ["store"]
        "Removed entries that iterators skipped, in runs of at least 256.",
    STORE_LEVEL_TABLES = Gauge "ogive_store_level_tables" ["store,level"] "Tables of a level.",
    STORE_LEVEL_BYTES = Gauge "ogive_store_level_bytes" ["store,level"] "Bytes of the tables of a level.",
    STORE_UNFLUSHED_MEMTABLES = Gauge "ogive_store_unflushed_memtables" ["store"]
        "Memtable sets that wait for a flush.",
    STORE_VALUE_FILES = Gauge "ogive_store_value_files" ["store"] "Complete value files.",
    STORE_VALUE_FILE_BYTES = Gauge "ogive_store_value_file_bytes" ["store"] "Bytes of complete value files.",
    STORE_DEAD_VALUE_BYTES = Gauge "ogive_store_dead_value_bytes" ["store"] "Bytes of dead values in them.",
    STORE_SCRUBBED_BYTES = Counter "ogive_store_scrubbed_bytes_total" ["store"] "Bytes read by scrubbing.",
    STORE_SCRUB_PASSES = Counter "ogive_store_scrub_passes_total" ["store"]
        "How often scrubbing has read all files.",
    STORE_DAMAGED_FILES = Gauge "ogive_store_damaged_files" ["store"] "Files that scrubbing has found damaged.",
    STORE_FAILED = Gauge "ogive_store_failed" ["store"]
        "1 while the store is closed to writes after a failure, else 0.",
    TABLE_GETS = Counter "ogive_table_gets_total" [""] "Lookups of single keys in tables opened by themselves.",
    TABLE_CACHE_HITS = Counter "ogive_table_cache_hits_total" [""] "Blocks of such tables found in their caches.",
    TABLE_CACHE_MISSES = Counter "ogive_table_cache_misses_total" [""] "Blocks of such tables not found there.",
    INDEX_GETS = Counter "ogive_index_gets_total" ["index"] "Lookups of single keys.",
    INDEX_CHECKPOINTS = Counter "ogive_index_checkpoints_total" ["index"] "Checkpoints of the log to the page file.",
    INDEX_CHECKPOINT_SECONDS = Histogram "ogive_index_checkpoint_duration_seconds" ["index"]
        "Duration of a checkpoint.",
    STORAGE_READS = Counter "ogive_storage_reads_total" ["storage"]
        "Ranges read from files, or answers of object stores.",
    STORAGE_READ_BYTES = Counter "ogive_storage_read_bytes_total" ["storage"] "Bytes of them.",
    STORAGE_WRITTEN_BYTES = Counter "ogive_storage_written_bytes_total" ["storage"]
        "Bytes written to files or objects.",
    STORAGE_RETRIES = Counter "ogive_storage_retries_total" ["storage"]
        "Requests to object stores that failed and were repeated.",
    OPEN_FILES = Gauge "ogive_open_files" [""] "Files open now.",
    OPEN_FILES_LIMIT = Gauge "ogive_open_files_limit" [""] "Open files beyond which idle ones are closed.",
    REOPENED_FILES = Counter "ogive_reopened_files_total" [""] "Files reopened after they were closed to make room.",
}

/// The labels of a handle: names and values.
pub(crate) type Labels<'a> = &'a [(&'static str, &'a str)];

#[cfg(feature = "metrics")]
fn key(metric: &Metric, labels: Labels<'_>) -> ::metrics::Key {
    let labels = labels.iter().map(|(name, value)| ::metrics::Label::new(*name, (*value).to_owned()));
    ::metrics::Key::from_parts(metric.name, labels.collect::<Vec<_>>())
}

#[cfg(feature = "metrics")]
const METADATA: ::metrics::Metadata<'static> = ::metrics::Metadata::new("ogive", ::metrics::Level::INFO, None);

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident $describe:ident $register:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub(crate) struct $name {
            #[cfg(feature = "metrics")]
            handle: ::metrics::$name,
        }

        impl $name {
            /// Registers a metric with the installed recorder.
            pub(crate) fn register(metric: Metric, labels: Labels<'_>) -> Self {
                debug_assert_eq!(metric.kind, MetricKind::$name);
                debug_assert!(labels.iter().map(|(name, _)| *name).eq(names(metric.labels)), "{}", metric.name);
                #[cfg(feature = "metrics")]
                return Self {
                    handle: ::metrics::with_recorder(|recorder| {
                        recorder.$describe(metric.name.into(), None, metric.help.into());
                        recorder.$register(&key(&metric, labels), &METADATA)
                    }),
                };
                #[cfg(not(feature = "metrics"))]
                {
                    let _ = metric.help;
                    Self {}
                }
            }
        }

        impl Default for $name {
            /// A handle that counts nowhere.
            fn default() -> Self {
                Self {
                    #[cfg(feature = "metrics")]
                    handle: ::metrics::$name::noop(),
                }
            }
        }
    };
}

handle! {
    /// A sum that grows.
    Counter describe_counter register_counter
}
handle! {
    /// A value that changes.
    Gauge describe_gauge register_gauge
}
handle! {
    /// A distribution.
    Histogram describe_histogram register_histogram
}

/// The label names of a metric.
fn names(labels: &'static str) -> impl Iterator<Item = &'static str> {
    labels.split(',').filter(|name| !name.is_empty())
}

impl Counter {
    #[inline]
    pub(crate) fn add(&self, amount: u64) {
        #[cfg(feature = "metrics")]
        self.handle.increment(amount);
        #[cfg(not(feature = "metrics"))]
        let _ = amount;
    }
}

impl Gauge {
    pub(crate) fn set(&self, value: f64) {
        #[cfg(feature = "metrics")]
        self.handle.set(value);
        #[cfg(not(feature = "metrics"))]
        let _ = value;
    }

    /// Adds to the value; less than 0 subtracts.
    pub(crate) fn change(&self, by: f64) {
        #[cfg(feature = "metrics")]
        self.handle.increment(by);
        #[cfg(not(feature = "metrics"))]
        let _ = by;
    }
}

impl Histogram {
    pub(crate) fn record(&self, value: f64) {
        #[cfg(feature = "metrics")]
        self.handle.record(value);
        #[cfg(not(feature = "metrics"))]
        let _ = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_on_metrics_lists_them_all() {
        let page = include_str!("../../../docs/metrics.md");
        let listed: Vec<&str> = page.lines().filter(|line| line.starts_with("| `ogive_")).collect();
        let expected: Vec<String> = ALL
            .iter()
            .map(|metric| {
                let kind = format!("{:?}", metric.kind).to_lowercase();
                let labels: Vec<String> = names(metric.labels).map(|name| format!("`{name}`")).collect();
                let help = metric.help.trim_end_matches('.');
                format!("| `{}` | {kind} | {} | {help} |", metric.name, labels.join(", ")).replace("|  |", "| |")
            })
            .collect();
        assert_eq!(listed, expected, "docs/metrics.md differs; its table should be:\n{}", expected.join("\n"));
    }

    #[test]
    fn names_follow_the_conventions_of_prometheus() {
        for Metric { name, kind, .. } in ALL {
            assert!(name.starts_with("ogive_") && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
            assert_eq!(name.ends_with("_total"), *kind == MetricKind::Counter, "{name}");
            assert_eq!(name.ends_with("_seconds"), *kind == MetricKind::Histogram, "{name}");
        }
    }
}
