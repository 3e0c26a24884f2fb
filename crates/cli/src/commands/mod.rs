//! Sub-commands, one file each: arguments, work, and output.

/// Defines the sub-commands of a command, each with its arguments and the function that runs it.
macro_rules! subcommands {
    ($(#[$of_enum:meta])* $name:ident { $($(#[$of_command:meta])* $command:ident($arguments:ty) => $run:expr,)* }) => {
        $(#[$of_enum])*
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum $name { $($(#[$of_command])* $command($arguments),)* }

        impl $name {
            /// Runs the sub-command.
            pub(crate) fn run(&self, output: &mut $crate::output::Output) -> $crate::failure::Result<$crate::args::Outcome> {
                match self { $(Self::$command(arguments) => $run(arguments, output),)* }
            }
        }
    };
}
pub(crate) use subcommands;

pub(crate) mod build;
pub(crate) mod count;
pub(crate) mod db;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod get;
pub(crate) mod index;
pub(crate) mod join;
pub(crate) mod nth;
pub(crate) mod ordered_map;
pub(crate) mod profile;
pub(crate) mod query;
pub(crate) mod rank;
pub(crate) mod scan;
pub(crate) mod tune;
pub(crate) mod verbs;
pub(crate) mod verify;
