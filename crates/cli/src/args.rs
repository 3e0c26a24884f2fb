//! The command line. Every flag is defined once, here or in the file of its sub-command.

use crate::commands::place::PlaceArguments;
use crate::commands::{
    build, completions, count, db, demo, explain, export, get, index, info, join, man, nth, profile, rank, repair,
    report, scan, sql, stats, subcommands, tune, verify,
};
use crate::disk_cache::CacheArgument;
use crate::failure::Result;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::urls::StorageOption;
use clap::Parser;
use std::sync::LazyLock;

const ABOUT: &str = "Build, query and join tables, indexes and stores on disk, with indexes learned from the keys";

const EXAMPLES: &str = "\
Examples:
  ogive demo                                  index generated data, beside a B-tree
  ogive build words.txt -o words.ogive        build a table from lines of text
  ogive get words.ogive apple --explain       look up a key and show every read
  ogive db put fruit.db apple red             write to a store
  ogive tune keys.u64 --for s3                compare index designs for an object store

Exit codes: 0 on success, 1 on an error or an absent key, 2 on a usage error, 130 after an interrupt.";

/// The version, and the features of the command and of the library: `+` for those that are built in.
static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let own = [
        ("object-store", cfg!(feature = "object-store")),
        ("parquet", cfg!(feature = "parquet")),
        ("zstd", cfg!(feature = "zstd")),
    ];
    let mark = |(name, is_built_in)| format!("{}{name}", if is_built_in { '+' } else { '-' });
    let features: Vec<String> = own.into_iter().chain(ogive::FEATURES).map(mark).collect();
    format!("{}\nfeatures: {}", env!("CARGO_PKG_VERSION"), features.join(" "))
});

/// The parsed command line.
#[derive(Debug, Parser)]
#[command(name = "ogive", version, long_version = LONG_VERSION.as_str(), about = ABOUT, after_help = EXAMPLES)]
#[command(max_term_width = 100, subcommand_required = true, arg_required_else_help = false)]
pub(crate) struct Arguments {
    /// Print results to standard output as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Option of the object stores behind URLs, such as region=eu-west-1; or in the URL: s3://bucket/a?region=eu-west-1
    #[arg(long = "storage-option", global = true, value_name = "KEY=VALUE", help_heading = "Object stores")]
    pub(crate) storage_options: Vec<StorageOption>,

    /// Keep what is read by URL in this local folder, for later commands [default size: 1GiB]
    #[arg(long, global = true, value_name = "DIR[:SIZE]", help_heading = "Object stores")]
    pub(crate) cache: Option<CacheArgument>,

    #[command(subcommand)]
    command: Command,
}

subcommands! {
    /// The sub-commands, in the order in which a new user needs them.
    Command {
        Demo(demo::DemoArguments) => demo::run,
        Profile(profile::ProfileArguments) => profile::run,
        Build(build::BuildArguments) => build::run,
        Info(info::InfoArguments) => info::run,
        Get(get::GetArguments) => get::run,
        Scan(scan::ScanArguments) => scan::run,
        Count(count::CountArguments) => count::run,
        Rank(rank::RankArguments) => rank::run,
        Nth(nth::NthArguments) => nth::run,
        /// Show what a table, an index or a store is made of: records, levels, sizes
        #[command(after_help = stats::EXAMPLES)]
        Stats(PlaceArguments) => stats::run,
        Explain(explain::ExplainArguments) => explain::run,
        Report(report::ReportArguments) => report::run,
        Export(export::ExportArguments) => export::run,
        Tune(tune::TuneArguments) => tune::run,
        Verify(verify::VerifyArguments) => verify::run,
        Repair(repair::RepairArguments) => repair::run,
        Join(Box<join::JoinArguments>) => join::run,
        Sql(sql::SqlArguments) => sql::run,
        /// Create and change indexes: ordered maps in a file, updated in place
        #[command(subcommand, after_help = index::EXAMPLES, arg_required_else_help = false)]
        Index(index::IndexCommand) => index::IndexCommand::run,
        /// Write and maintain stores: crash-safe, for keys and values of any length
        #[command(subcommand, after_help = db::EXAMPLES, arg_required_else_help = false)]
        Db(db::DbCommand) => db::DbCommand::run,
        Completions(completions::CompletionsArguments) => print_completions,
        Man(man::ManArguments) => write_pages,
    }
}

fn print_completions(arguments: &completions::CompletionsArguments, output: &mut Output) -> Result<Outcome> {
    completions::run(arguments, crate::program::command(), output)
}

fn write_pages(arguments: &man::ManArguments, output: &mut Output) -> Result<Outcome> {
    man::run(arguments, crate::program::command(), output)
}

impl Arguments {
    /// Runs the sub-command.
    pub(crate) fn run(&self, output: &mut Output) -> Result<Outcome> {
        self.command.run(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_do_not_contradict_each_other() {
        crate::program::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples() {
        for command in crate::program::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains(&format!("ogive {}", command.get_name())), "{}", command.get_name());
        }
    }

    /// The words of a command line, some of them in quotes.
    fn words(line: &str) -> Vec<String> {
        let parts = line.split('\'').enumerate();
        let spaced = parts.map(|(index, part)| if index % 2 == 1 { part.replace(' ', "\0") } else { part.to_owned() });
        let joined: String = spaced.collect();
        joined.split_whitespace().map(|word| word.replace('\0', " ")).collect()
    }

    /// The command lines in the examples of a command and of its sub-commands.
    fn examples(command: &clap::Command, found: &mut Vec<Vec<String>>) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in help.lines().filter_map(|line| line.strip_prefix("  ")) {
            let typed = line.split("  ").next().unwrap_or_default().split(" && ").last().unwrap_or_default();
            let typed = typed.split([';', '|', '>']).next().unwrap_or_default();
            let words = words(typed);
            if words.first().is_some_and(|word| word == "ogive") {
                found.push(words);
            }
        }
        command.get_subcommands().for_each(|command| examples(command, found));
    }

    #[test]
    fn every_example_is_a_command_line_that_is_understood() {
        let mut found = Vec::new();
        examples(&crate::program::command(), &mut found);
        assert!(found.len() > 80, "{}", found.len());
        for words in found {
            let parsed = Arguments::try_parse_from(&words);
            assert!(parsed.is_ok(), "{words:?}: {}", parsed.unwrap_err());
        }
    }

    #[test]
    fn examples_that_fill_something_with_rows_say_which_column_has_the_values() {
        let mut found = Vec::new();
        examples(&crate::program::command(), &mut found);
        let fills = |words: &&Vec<String>| words.iter().any(|word| word == "import" || word == "load");
        for words in found.iter().filter(fills).filter(|words| words.iter().any(|word| word.ends_with(".csv"))) {
            assert!(words.iter().any(|word| word == "--value"), "{words:?} would fill it with empty values");
        }
    }
}
