//! Advice on errors in the words of the package: its functions and arguments.

use ogive::{Call, Setting, Voice};
use ogive_parquet::{ParquetVoice, Remedy};

/// The words of the package.
pub(crate) struct Package;

impl Voice for Package {
    fn setting(&self, setting: Setting) -> Option<&'static str> {
        Some(match setting {
            Setting::TableMemory | Setting::StoreMemory | Setting::JoinMemory => "memory=",
            Setting::OpenFiles => "the limit of open files (`ulimit -n`)",
            Setting::BlockBytes => "block_size=",
            Setting::ClockAhead => "clock_ahead=, if the clock is right",
            _ => return None,
        })
    }

    fn call(&self, call: Call) -> Option<&'static str> {
        Some(match call {
            Call::Verify => "restore it from a copy, or repair it with the command `ogive repair`",
            Call::RepairStore => "restore its files from a copy, or repair the store with the command `ogive repair`",
            Call::RepairIndex => {
                "put back the page file and all of its log, or repair the index with the command `ogive repair`"
            }
            Call::OpenTable => "open it with ogive.Table, or ogive.ParquetIndex",
            Call::OpenIndex => "open the index with ogive.Index",
            Call::OpenStore => "open its folder with ogive.open",
            Call::RestoreBackup => "restore it with the command `ogive db restore`",
            Call::ListBackups => "list those it has with the command `ogive db backups`",
            Call::OpenAgain => "open it again",
            Call::OpenRecovered => "close it, see that its storage has space and is sound, and open it again",
            Call::OpenForWriting => "open it without read_only=True to write",
            Call::CreateStore => "check the path; a store is created unless create=False or read_only=True is given",
            Call::Resume => "fix the cause, then open the store again",
            Call::TakeBack => "a store has one writer at a time; open it again to take it back",
            Call::Refresh => "refresh the reader, or open the store again",
            Call::BeginAgain => "leave it and begin another",
            Call::ArchiveLogs => "give backup() the name of the subscriber, with archive=NAME",
            Call::Subscribe => "make one with subscribe(NAME), and read all records",
            Call::WaitForOther => "close it there, or open it with read_only=True",
            Call::WaitForLock => "wait until it is closed there, with wait=10.0, or open it with read_only=True",
            Call::CloseOther => "close that one first",
            Call::DropSnapshots => "close old snapshots",
            Call::Sort => "sort the input",
            Call::Insert => "insert into it, or create a new index",
            Call::AllowDuplicates => "create the index with duplicates, or remove the repeated record",
            Call::ReadStream => "open it again with more memory: memory=",
            Call::AppendWhole => "give the value as a whole",
            Call::RemoveRecords => "remove its records with clear()",
            Call::Build => "build the index again",
            Call::OwnTypes => "open it with its own types",
            _ => return self.other_call(call),
        })
    }
}

impl Package {
    fn other_call(&self, call: Call) -> Option<&'static str> {
        Some(match call {
            Call::RegisterPapers => "use the command `ogive-research`",
            Call::RegisterKind => "choose one that this package has",
            Call::RegisterMethod => {
                "give method=\"auto\", or use the command `ogive-research`, which has the methods of papers"
            }
            Call::RegisterObjectStores => "use a package that was built with object stores",
            Call::ChooseMethod => "use another method, or method=\"auto\"",
            Call::Spill | Call::SortElsewhere => "raise memory=, or write to a local file",
            Call::SetLearning => "use the command `ogive-research`",
            Call::MeasureProfile => "ogive.profile(PATH).save(FILE) makes one",
            Call::CheckCredentials => "check the credentials (in the environment), what they may do, and the clock",
            Call::GiveCredentials => "give credentials, in the environment",
            Call::AllowMoreTime => "check the network and the endpoint",
            Call::AskAgain => "try again, and if it goes on, check the endpoint, and proxies and caches before it",
            Call::UpdateIndex => "update the index (ogive.index_parquet(..., update=True)), or restore the file",
            Call::ListFiles => "list the files of one version, and give them (files=[...])",
            Call::IgnoreTableLog => {
                "export the table to plain Parquet files with an engine that reads it, or take the files as they are \
                 (ignore_table_log=True)"
            }
            Call::NameKey => "name the column or the columns of the key: key=",
            Call::AcceptCopies => {
                "if it was only copied, verify(accept=True) compares its keys and takes its time; if not, update the \
                 index (ogive.index_parquet(..., update=True)), or restore the file"
            }
            Call::Report => "please report it with this message, the options, and the keys if you can",
            _ => return None,
        })
    }
}

impl ParquetVoice for Package {
    fn advise_on_parquet(&self, remedy: &Remedy) -> Option<String> {
        Some(match remedy {
            Remedy::Take(advice) => return self.advise(advice),
            Remedy::Microseconds { column, .. } => format!(
                "read the column in microseconds: leave {column:?} out of nanoseconds=, and build an index of an \
                 earlier version again"
            ),
            Remedy::Nanoseconds { column, .. } => {
                format!("if all its years are 1677 to 2262, name the column in nanoseconds=: [{column:?}]")
            }
            Remedy::PartitionType { column, types } => {
                let given: Vec<String> = types.iter().map(|name| format!("{{{column:?}: {name:?}}}")).collect();
                format!("state its type with partitions={}", given.join(" or "))
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::{Advice, words_of_others};

    /// Advice that nothing in Python can give cause for: what only another program does.
    const OF_PROGRAMS: [Call; 2] = [Call::CreateVersioned, Call::RebuildIndexes];

    fn check(text: &str) {
        // Some advice is to use the command.
        let foreign = words_of_others("python", &text.replace("command `ogive", ""));
        assert!(foreign.is_empty(), "{text}: {foreign:?}");
    }

    #[test]
    fn every_kind_and_every_advice_is_told_in_the_words_of_the_package() {
        for error in ogive::error_samples() {
            let is_told = match error.advice() {
                Some(Advice::Use(call)) if OF_PROGRAMS.contains(call) => true,
                Some(advice) => Package.advise(advice).is_some(),
                None => true,
            };
            assert!(is_told, "{error}");
            check(&error.told_in(&Package));
        }
        ogive_parquet::error_samples().iter().for_each(|error| check(&error.told_in(&Package)));
    }
}
