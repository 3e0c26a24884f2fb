//! Advice on errors of the engine in the words of this program.

use ogive::{Call, Setting, Voice};
use ogive_terminal::human_bytes;

/// The words of this program.
pub(crate) struct Program;

impl Voice for Program {
    fn setting(&self, setting: Setting) -> Option<&'static str> {
        matches!(setting, Setting::StoreMemory | Setting::TableMemory).then_some("--memory")
    }

    fn call(&self, call: Call) -> Option<&'static str> {
        Some(match call {
            Call::Verify => "`ogive verify` says what is damaged; `ogive repair` saves what is not",
            Call::RepairStore => "restore the files of the store from a copy, or let `ogive repair` save what is left",
            Call::WaitForOther => "wait for it to finish, as with --wait 10s",
            Call::RegisterObjectStores => "import into a folder, and copy the store with `ogive db backup`",
            Call::OpenTable | Call::OpenIndex => "give the folder of a store",
            Call::CreateStore => "check the path",
            Call::ReadStream => "raise --memory",
            Call::RemoveRecords => "use --replace, or another name with --rename OLD=NEW",
            Call::OwnTypes => "use another keyspace with --rename OLD=NEW, or --replace",
            Call::Resume | Call::OpenAgain | Call::OpenRecovered => "fix the cause, and run the program again",
            _ => return None,
        })
    }

    fn bytes(&self, bytes: u64) -> String {
        human_bytes(bytes)
    }
}
