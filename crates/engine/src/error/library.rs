//! Advice on errors in the words of the library: its methods and options.

use super::{Call, Setting, Voice};

/// The words of this library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Library;

impl Voice for Library {
    fn setting(&self, setting: Setting) -> Option<&'static str> {
        Some(match setting {
            Setting::TableMemory => "`TableOptions::memory_bytes`",
            Setting::StoreMemory => "`DbOptions::memory_bytes`",
            Setting::JoinMemory => "`JoinOptions::memory_bytes`",
            Setting::OpenFiles => "the limit of open files (`DbOptions::open_files`, or `ulimit -n`)",
            Setting::BlockBytes => "the block size (`TableWriteOptions::block_bytes`), or leave out its `value_width`",
            Setting::ClockAhead => "`DbExpiryOptions::clock_ahead_max`, if the clock is right",
        })
    }

    fn call(&self, call: Call) -> Option<&'static str> {
        Some(match call {
            Call::Verify => "verify it (`verify`, `verify_store`), and repair it or restore it from a copy",
            Call::RepairStore => "restore its files from a copy, or repair the store (`repair_store`)",
            Call::RepairIndex => "put back the page file and all of its log, or repair the index (`repair_index`)",
            Call::OpenTable => "open it with `Table::open`",
            Call::OpenIndex => "open the index with `Index::open`",
            Call::OpenStore => "open its folder with `Db::open`",
            Call::RestoreBackup => "restore it with `Backups::restore`",
            Call::ListBackups => "list those it has with `Backups::list`",
            Call::OpenAgain => "open it again",
            Call::OpenRecovered => "close it, see that its storage has space and is sound, and open it again",
            Call::OpenForWriting => "open it for writing",
            Call::CreateStore => "check the path, or set `create` to create a store",
            Call::Resume => "fix the cause, then call `resume`, or open the store again",
            Call::TakeBack => "a store has one writer at a time; open it again to take it back",
            Call::Refresh => {
                "refresh the reader, or open the store again (or write with a longer `DbObjectOptions::grace_s`)"
            }
            Call::BeginAgain => "drop it and begin another",
            Call::ArchiveLogs => "give `BackupOptions::archive_logs` to it",
            Call::Subscribe => "make one with `Db::subscribe`, and read all records",
            Call::WaitForOther => "wait for it to finish",
            Call::WaitForLock => "wait for it to finish, as `DbOptions::wait_for_lock` and `Backups::wait_for_lock` do",
            Call::CloseOther => "close that one first",
            Call::DropSnapshots => "drop old snapshots, or raise `PageOptions::log_limit_bytes`",
            Call::Sort => "sort the input, or use the sorting writer",
            Call::Insert => "insert into it, or create a new index",
            Call::AllowDuplicates => "create the index with duplicates, or remove the repeated record",
            Call::ReadStream => "read it as a stream with `value_reader`, or raise `memory_bytes`",
            Call::AppendWhole => "use `append`",
            Call::CreateVersioned => "create it with `versioned`",
            Call::RemoveRecords => "remove its records with `remove_range(..)`",
            Call::RebuildIndexes => "call `rebuild`",
            Call::Build => "build the index again",
            Call::OwnTypes => "open it with its own types",
            _ => return self.other_call(call),
        })
    }
}

impl Library {
    fn other_call(self, call: Call) -> Option<&'static str> {
        Some(match call {
            Call::RegisterPapers => "use the command `ogive-research`",
            Call::RegisterKind => {
                "register the crate of its structure (`IndexKind::register`) where the program starts"
            }
            Call::RegisterMethod => "use the command `ogive-research`, which has the methods of papers",
            Call::RegisterObjectStores => {
                "call `ogive_object_store::register()`, or build the command `ogive` with its feature `object-store`"
            }
            Call::ChooseMethod => "use another method, or `JoinMethod::Auto`",
            Call::Spill => "set `JoinOptions::spill`, or raise `JoinOptions::memory_bytes`",
            Call::SortElsewhere => {
                "raise the memory limit, or sort on a file system (`SortingWriter::create_with_scratch`)"
            }
            Call::SetLearning => "open it with one (`DbOptions::learning`)",
            Call::MeasureProfile => "measure one with `io::MeasuredProfile::measure`",
            Call::CheckCredentials => "check the credentials (environment or options), what they may do, and the clock",
            Call::GiveCredentials => "give credentials, in the environment or the options",
            Call::AllowMoreTime => {
                "check the network and the endpoint, or allow more time (`ObjectOptions::deadline_s`)"
            }
            Call::AskAgain => "try again, and if it goes on, check the endpoint, and proxies and caches before it",
            Call::UpdateIndex => "update the index (`ParquetIndex::update`), or restore the file",
            Call::ListFiles => "list the files of one version, and give them instead of the folder",
            Call::IgnoreTableLog => {
                "export the table to plain Parquet files with an engine that reads it, or take the files as they are \
                 (`ignore_table_log`)"
            }
            Call::NameKey => "name the column or the columns of the key",
            Call::AcceptCopies => {
                "if it was only copied, `ParquetIndex::accept` compares its keys and takes its time; if not, update \
                 the index (`ParquetIndex::update`), or restore the file"
            }
            Call::Report => "please report it with this message, the options, and the keys if you can",
            _ => return None,
        })
    }
}
