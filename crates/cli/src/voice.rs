//! Advice on errors in the words of the command: its verbs and options.

use crate::values::size::exact_size;
use ogive::{Advice, Call, Setting, Voice};
#[cfg(feature = "parquet")]
use ogive_terminal::shell_word;

/// The words of the command.
pub(crate) struct Command;

impl Voice for Command {
    fn setting(&self, setting: Setting) -> Option<&'static str> {
        Some(match setting {
            Setting::TableMemory | Setting::StoreMemory | Setting::JoinMemory => "--memory",
            Setting::OpenFiles => "the limit of open files (`ulimit -n`, --open-files)",
            Setting::BlockBytes => "--block-size",
            Setting::ClockAhead => "--clock-ahead, if the clock is right",
            _ => return None,
        })
    }

    fn call(&self, call: Call) -> Option<&'static str> {
        Some(match call {
            Call::Verify => "`ogive verify` says what is damaged; `ogive repair` saves what is not",
            Call::RepairStore => {
                "restore the files from a copy, or let `ogive repair` go on with what is left of the store"
            }
            Call::RepairIndex => {
                "put back the page file and all of its log, or let `ogive repair --in-place` go on without it"
            }
            Call::OpenTable => "use `ogive get`, `ogive scan` and the other commands on tables",
            Call::OpenIndex => "use `ogive get`, `ogive scan` or `ogive index` on the index",
            Call::OpenStore => "name its folder instead",
            Call::RestoreBackup => "restore it with `ogive db restore`",
            Call::ListBackups => "`ogive db backups` lists those it has",
            Call::OpenAgain | Call::BeginAgain => "run the command again",
            Call::OpenRecovered => "see that its storage has space and is sound, and run the command again",
            Call::ArchiveLogs => "`ogive db backup STORE BACKUPS --archive-logs=NAME` begins one",
            Call::Subscribe => "`ogive db changes STORE --subscriber NAME --subscribe` makes one",
            Call::OpenForWriting => "use a command that opens it for writing",
            Call::CreateStore => "check the path; `ogive db put` and `ogive db import` create a store",
            Call::Resume => "fix the cause, then run the command again",
            Call::TakeBack => "a store has one writer at a time; run the command again to take it back",
            Call::Refresh => {
                "run the command again; if that does not help, an object of the store is missing: `ogive verify` \
                 names it"
            }
            Call::WaitForOther => "wait for it to finish",
            Call::WaitForLock => "wait for it to finish, as with --wait 10s",
            Call::CloseOther => "name it once",
            Call::DropSnapshots => "wait for the readers that keep it to finish",
            Call::Sort => "sort the input first",
            Call::Insert => "leave out --sorted, or create a new index",
            Call::AllowDuplicates => "create the index with --duplicates, or remove the repeated record",
            Call::ReadStream => {
                "raise --memory, or write this value alone to standard output with `ogive get KEY --raw`"
            }
            Call::AppendWhole => "give the value as a whole",
            Call::RemoveRecords => "remove its entries with `ogive db delete`",
            Call::Build => "build the index again",
            Call::OwnTypes => "use its own types",
            _ => return self.other_call(call),
        })
    }

    fn bytes(&self, bytes: u64) -> String {
        exact_size(bytes)
    }

    fn advise(&self, advice: &Advice) -> Option<String> {
        Some(match advice {
            Advice::Raise { option: Setting::JoinMemory, to: Some(to) } => format!("try --memory {}", exact_size(*to)),
            Advice::Raise { option: Setting::TableMemory | Setting::StoreMemory, to: Some(to) } => {
                format!("use --memory {}", exact_size(*to))
            }
            Advice::Raise { option, to: Some(to) } => format!("raise {} to {to} or more", self.setting(*option)?),
            Advice::Raise { option, to: None } => format!("raise {}", self.setting(*option)?),
            Advice::Look(_) => "check the path".to_owned(),
            Advice::Again => "run the command again".to_owned(),
            Advice::Use(call) => self.call(*call)?.to_owned(),
            _ => return None,
        })
    }
}

impl Command {
    fn other_call(&self, call: Call) -> Option<&'static str> {
        Some(match call {
            Call::RegisterPapers | Call::RegisterMethod => "use the command `ogive-research`",
            Call::RegisterKind => "use a command that was built with that structure or method",
            Call::RegisterObjectStores => "use a command that was built with the feature object-store",
            Call::ChooseMethod => "use another method, or auto",
            Call::Spill | Call::SortElsewhere => "raise --memory, or write to a local file",
            Call::MeasureProfile => "`ogive profile PATH -o FILE` makes one",
            Call::CheckCredentials => {
                "check the credentials (environment or --storage-option), what they may do, and the clock"
            }
            Call::GiveCredentials => "give credentials, in the environment or by --storage-option",
            Call::AllowMoreTime => {
                "check the network and the endpoint, or allow more time (--storage-option deadline=SECONDS)"
            }
            Call::AskAgain => "try again, and if it goes on, check the endpoint, and proxies and caches before it",
            Call::UpdateIndex => {
                "update the index (`ogive build DATA --external --update -o INDEX`), or restore the file"
            }
            Call::ListFiles => "list the files of one version, and give them (--files LIST)",
            Call::IgnoreTableLog => {
                "export the table to plain Parquet files with an engine that reads it, or take the files as they are \
                 (--ignore-table-log)"
            }
            Call::NameKey => "name the column or the columns of the key (--key COLUMN)",
            Call::AcceptCopies => {
                "if it was only copied, `ogive verify --accept` compares its keys and takes its time; if not, update \
                 the index (`ogive build DATA --external --update -o INDEX`), or restore the file"
            }
            Call::Report => "please report it with this message, the options, and the keys if you can",
            _ => return None,
        })
    }
}

#[cfg(feature = "parquet")]
impl ogive_parquet::ParquetVoice for Command {
    fn advise_on_parquet(&self, remedy: &ogive_parquet::Remedy) -> Option<String> {
        use ogive_parquet::Remedy;
        Some(match remedy {
            Remedy::Take(advice) => return self.advise(advice),
            Remedy::Microseconds { column, column_type } => format!(
                "read the column in microseconds: leave out --type {}, and build an index of an earlier version again",
                shell_word(&format!("{column}={column_type}"))
            ),
            Remedy::Nanoseconds { column, column_type } => {
                let given = format!("{column}={column_type}");
                format!("if all its years are 1677 to 2262, read the column with --type {}", shell_word(&given))
            }
            Remedy::PartitionType { column, types } => {
                let flags: Vec<String> = types
                    .iter()
                    .map(|name| format!("--partition {}", shell_word(&format!("{column}={name}"))))
                    .collect();
                format!("state its type with {}", flags.join(" or "))
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use ogive::{Error, words_of_others};

    /// Advice that no command can give cause for: what only a program does.
    const OF_PROGRAMS: [Call; 3] = [Call::CreateVersioned, Call::RebuildIndexes, Call::SetLearning];

    fn check(failure: &Failure) {
        let text = format!("{failure}; {}", failure.hint().unwrap_or_default());
        let foreign = words_of_others("command", &text);
        assert!(foreign.is_empty(), "{text}: {foreign:?}");
    }

    #[test]
    fn every_kind_and_every_advice_is_told_in_the_words_of_the_command() {
        for error in ogive::error_samples() {
            let is_told = match error.advice() {
                Some(Advice::Use(call)) if OF_PROGRAMS.contains(call) => true,
                Some(advice) => Command.advise(advice).is_some(),
                None => true,
            };
            assert!(is_told, "{error}");
            check(&Failure::Engine(error));
        }
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn every_error_of_parquet_is_told_in_the_words_of_the_command() {
        ogive_parquet::error_samples().into_iter().for_each(|error| check(&error.into()));
    }

    #[test]
    fn exit_codes_follow_from_causes() {
        let code = |error: Error| Failure::Engine(error).exit_code();
        assert_eq!([code(Error::input("no")), code(Error::interrupted())], [2, crate::failure::INTERRUPTED]);
        assert_eq!([code(Error::closed("s")), code(Error::damaged("f", 1, "no"))], [1, 1]);
    }
}
