//! Advice on errors in terms of SQL: statements, the names of files in them, and options of the session.

use ogive::{Call, Setting, Voice};
use ogive_parquet::{ParquetVoice, Remedy};

/// The words of SQL.
pub(crate) struct Statement;

impl Voice for Statement {
    fn setting(&self, setting: Setting) -> Option<&'static str> {
        Some(match setting {
            Setting::TableMemory | Setting::StoreMemory | Setting::JoinMemory => "the memory of the session",
            Setting::OpenFiles => "the limit of open files (`ulimit -n`)",
            _ => return None,
        })
    }

    fn call(&self, call: Call) -> Option<&'static str> {
        Some(match call {
            Call::Verify => "restore it from a copy, or repair it",
            Call::RepairStore => "restore its files from a copy, or repair the store",
            Call::RepairIndex => "put back the page file and all of its log, or repair the index",
            Call::OpenTable | Call::OpenIndex => "name it as a table: 'PATH'",
            Call::OpenStore => "name its folder and a keyspace: 'FOLDER#KEYSPACE'",
            Call::RestoreBackup => "restore the backup first",
            Call::OpenAgain | Call::Refresh => "run the statement again",
            Call::OpenRecovered => "see that its storage has space and is sound, and run the statement again",
            Call::OpenForWriting => "name a store that may be written",
            Call::CreateStore => "check the path",
            Call::Resume => "fix the cause, then run the statement again",
            Call::TakeBack => "a store has one writer at a time; run the statement again to take it back",
            Call::BeginAgain => "run the statement again",
            Call::WaitForOther | Call::WaitForLock => "wait for it to finish",
            Call::CloseOther => "wait for the other statement to finish",
            Call::DropSnapshots => "wait for older queries to finish",
            Call::Sort => "sort the rows: ORDER BY",
            Call::ReadStream => "raise the memory of the session, or leave the column out",
            Call::Build | Call::UpdateIndex => "build the index again, or restore the file",
            Call::OwnTypes => "give it rows of its own types",
            Call::RegisterPapers | Call::RegisterMethod => "use the command `ogive-research`",
            Call::RegisterKind => "use a program that was built with that structure or method",
            Call::RegisterObjectStores => "use a program that was built with object stores",
            Call::CheckCredentials => "check the credentials, what they may do, and the clock",
            Call::GiveCredentials => "give credentials in the environment",
            Call::AllowMoreTime => "check the network and the endpoint",
            Call::AskAgain => "try again, and if it goes on, check the endpoint, and proxies and caches before it",
            Call::ListFiles => "index the files of one version",
            Call::IgnoreTableLog => "export the table to plain Parquet files with an engine that reads it",
            Call::AcceptCopies => "verify the index and accept the copy, build the index again, or restore the file",
            Call::Report => "please report it with this message, the statement, and the rows if you can",
            _ => return None,
        })
    }
}

impl ParquetVoice for Statement {
    fn advise_on_parquet(&self, remedy: &Remedy) -> Option<String> {
        match remedy {
            Remedy::Take(advice) => self.advise(advice),
            _ => Some("build the index again, with the type of the column stated".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ogive::words_of_others;

    #[test]
    fn every_kind_and_every_advice_is_told_in_the_words_of_sql() {
        let engine = ogive::error_samples().into_iter().map(|error| error.told_in(&Statement));
        let parquet = ogive_parquet::error_samples().into_iter().map(|error| error.told_in(&Statement));
        for text in engine.chain(parquet) {
            let foreign = words_of_others("sql", &text);
            assert!(foreign.is_empty(), "{text}: {foreign:?}");
        }
    }
}
