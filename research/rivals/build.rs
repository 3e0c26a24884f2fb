//! Tells where the library of TidesDB is, which no distribution has.

fn main() {
    println!("cargo::rerun-if-env-changed=TIDESDB_LIB_DIR");
    if let Ok(folder) = std::env::var("TIDESDB_LIB_DIR") {
        println!("cargo::rustc-link-search=native={folder}");
        println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
