//! Stops a build for a free-threaded Python, early and with the reason.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if pyo3_build_config::get().is_free_threaded() {
        println!(
            "cargo::error=free-threaded Python (3.13t and newer) is not supported yet: it lacks the stable ABI of \
             CPython, which the package uses; install it into a Python with the interpreter's lock, such as python3.13"
        );
    }
}
