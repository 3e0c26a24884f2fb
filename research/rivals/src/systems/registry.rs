//! The systems beside Ogive that were compiled in.

use ogive_research::stores::StoreSystem;

/// All of them.
pub(crate) fn others() -> Vec<&'static StoreSystem> {
    vec![
        #[cfg(feature = "rocksdb")]
        &super::rocksdb::ROCKSDB,
        #[cfg(feature = "rocksdb")]
        &super::rocksdb::ROCKSDB_MMAP,
        #[cfg(feature = "leveldb")]
        &super::leveldb::LEVELDB,
        #[cfg(feature = "lmdb")]
        &super::lmdb::LMDB,
        #[cfg(feature = "redb")]
        &super::redb::REDB,
        #[cfg(feature = "fjall")]
        &super::fjall::FJALL,
        #[cfg(feature = "fjall")]
        &super::fjall::FJALL_IN_PROCESS,
        #[cfg(feature = "bf-tree")]
        &super::bf_tree::BF_TREE,
        #[cfg(feature = "bf-tree")]
        &super::bf_tree::BF_TREE_UNLOGGED,
        #[cfg(feature = "tidesdb")]
        &super::tidesdb::TIDESDB,
        #[cfg(feature = "sqlite")]
        &super::sqlite::SQLITE,
    ]
}
