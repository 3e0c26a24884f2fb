//! The checks of the workspace `import`, which compiles the libraries of other stores.

use crate::Failure;
use crate::process::Step;
use std::path::{Path, PathBuf};

/// Variable with the folder of the library of RocksDB, which its crate would else compile.
const ROCKSDB_VARIABLE: &str = "ROCKSDB_LIB_DIR";
/// Folders where systems have libraries.
const LIBRARY_FOLDERS: [&str; 5] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/local/lib", "/usr/lib"];

/// Lints and tests the workspace; without the library of RocksDB, says that this part is left out.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let given = std::env::var_os(ROCKSDB_VARIABLE).map(PathBuf::from);
    let found = LIBRARY_FOLDERS.iter().map(PathBuf::from).find(|folder| folder.join("librocksdb.so").exists());
    let Some(folder) = given.or(found) else {
        println!(
            "left out: imports from RocksDB need its library, as in `apt-get install librocksdb-dev libclang-dev`"
        );
        return Step::new("tests of import/", "cargo test --manifest-path import/Cargo.toml").linted().run(root);
    };
    Step::new("tests of import/", "cargo test --manifest-path import/Cargo.toml --all-features")
        .linted()
        .with(ROCKSDB_VARIABLE, &folder.display().to_string())
        .run(root)
}
