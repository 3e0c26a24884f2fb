//! Advice on an error, as data: options and calls have names here that each interface maps to its own.

use std::path::PathBuf;

/// What to do about an error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// Raise a limit.
    Raise {
        /// The option that sets the limit.
        option: Setting,
        /// A value that suffices, as far as it is known.
        to: Option<u64>,
    },
    /// Look at what is there: whether it is the right path, and what else is in its place.
    Look(PathBuf),
    /// Do the same again.
    Again,
    /// Use something else than what has failed.
    Use(Call),
}

/// Declares an enum with the list of its variants.
macro_rules! listed {
    ($(#[$of_type:meta])* $type:ident { $($(#[$of_variant:meta])* $variant:ident,)* }) => {
        $(#[$of_type])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $type { $($(#[$of_variant])* $variant,)* }

        impl $type {
            /// All of them.
            #[doc(hidden)]
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];
        }
    };
}

listed! {
    /// An option that an [`Advice`] is about.
    Setting {
        /// The memory of a table.
        TableMemory,
        /// The memory of a store.
        StoreMemory,
        /// The memory of a join.
        JoinMemory,
        /// The number of files that may be open.
        OpenFiles,
        /// The size of a block.
        BlockBytes,
        /// How far the clock may be ahead of the time of a store.
        ClockAhead,
    }
}

listed! {
    /// A call, or another way to go on, that an [`Advice`] is about.
    Call {
        /// Verify a file, and repair or restore it.
        Verify,
        /// Repair a store.
        RepairStore,
        /// Restore an index and its log, or repair it without the log.
        RepairIndex,
        /// Open a file as a table.
        OpenTable,
        /// Open a file as an index.
        OpenIndex,
        /// Open the folder of a file as a store.
        OpenStore,
        /// Restore a backup.
        RestoreBackup,
        /// List the backups that there are.
        ListBackups,
        /// Open the same again.
        OpenAgain,
        /// Open it again after its storage was repaired.
        OpenRecovered,
        /// Open it for writing.
        OpenForWriting,
        /// Create the store.
        CreateStore,
        /// Resume writing after a failure.
        Resume,
        /// Take a store back from another writer.
        TakeBack,
        /// Refresh a reader.
        Refresh,
        /// Begin another transaction.
        BeginAgain,
        /// Make a backup that begins an archive of changes.
        ArchiveLogs,
        /// Make a subscriber to the changes of a store.
        Subscribe,
        /// Wait until another process has closed it.
        WaitForOther,
        /// As that, or let the call wait.
        WaitForLock,
        /// Close the other handle of this process.
        CloseOther,
        /// Drop old snapshots, which keep a log long.
        DropSnapshots,
        /// Sort the input.
        Sort,
        /// Insert into an index that has entries.
        Insert,
        /// Create the index with duplicates.
        AllowDuplicates,
        /// Read a long value as a stream.
        ReadStream,
        /// Append a value that cannot be streamed as a whole.
        AppendWhole,
        /// Create a table of versions.
        CreateVersioned,
        /// Remove the records of a keyspace that cannot be dropped.
        RemoveRecords,
        /// Rebuild the indexes of a keyspace.
        RebuildIndexes,
        /// Build the index of data again.
        Build,
        /// Open it with its own types.
        OwnTypes,
        /// Register the structures, methods and policies of papers.
        RegisterPapers,
        /// Register the structure of an index.
        RegisterKind,
        /// Register a join method.
        RegisterMethod,
        /// Register object stores.
        RegisterObjectStores,
        /// Choose the join method automatically.
        ChooseMethod,
        /// Give a join a storage for what exceeds its memory.
        Spill,
        /// Sort on a file system.
        SortElsewhere,
        /// Give a store a learning policy.
        SetLearning,
        /// Measure a storage profile.
        MeasureProfile,
        /// Check the credentials for an object store.
        CheckCredentials,
        /// Give credentials for an object store.
        GiveCredentials,
        /// Check the network, or allow an object store more time.
        AllowMoreTime,
        /// Ask an object store again, and check the way to it.
        AskAgain,
        /// Update an index beside Parquet files.
        UpdateIndex,
        /// List the Parquet files.
        ListFiles,
        /// Take Parquet files in spite of the log of their table.
        IgnoreTableLog,
        /// Name the columns of a key.
        NameKey,
        /// Accept Parquet files that were copied.
        AcceptCopies,
        /// Report a bug.
        Report,
    }
}

/// The words of an interface for what to do.
pub trait Voice {
    /// What an option is called; `None` if there is none.
    fn setting(&self, setting: Setting) -> Option<&'static str>;

    /// What to do instead, beginning with a verb; `None` if nothing can be done.
    fn call(&self, call: Call) -> Option<&'static str>;

    /// A size in bytes, with its unit.
    fn bytes(&self, bytes: u64) -> String {
        format!("{bytes} bytes")
    }

    /// The whole advice, beginning with a verb; `None` if nothing can be done.
    fn advise(&self, advice: &Advice) -> Option<String> {
        match advice {
            Advice::Raise { option, to: Some(to) } => {
                self.setting(*option).map(|option| format!("raise {option} to {to} or more"))
            }
            Advice::Raise { option, to: None } => self.setting(*option).map(|option| format!("raise {option}")),
            Advice::Look(_) => Some("check the path".to_owned()),
            Advice::Again => Some("try again".to_owned()),
            Advice::Use(call) => self.call(*call).map(str::to_owned),
        }
    }
}
