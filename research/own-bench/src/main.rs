//! The command `ogive-research` with the index, the key set and the store of this crate.

use std::process::ExitCode;

use ogive_research::BenchCommand;
use ogive_research::command_line::Program;
use own_bench::index::SAMPLED_ARRAY;
use own_bench::keys::Triangles;
use own_bench::store::LOG_STORE;

fn main() -> ExitCode {
    let program = Program {
        name: "own-bench",
        version: env!("CARGO_PKG_VERSION"),
        about: "Run the experiments of ogive-research with an index, a key set and a store of one's own",
    };
    BenchCommand::new(program).index_kind(SAMPLED_ARRAY).key_set(&Triangles).store(&LOG_STORE).main()
}
