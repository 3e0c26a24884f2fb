//! Sub-commands with their arguments and the functions that run them.

/// Defines the sub-commands of a command, each with its arguments and the function that runs it.
macro_rules! subcommands {
    ($(#[$of_enum:meta])* $name:ident { $($(#[$of_command:meta])* $command:ident($arguments:ty) => $run:expr,)* }) => {
        $(#[$of_enum])*
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum $name { $($(#[$of_command])* $command($arguments),)* }

        impl $name {
            /// Runs the sub-command.
            pub(crate) fn run(
                &self,
                output: &mut $crate::output::Output,
            ) -> $crate::failure::Result<$crate::outcome::Outcome> {
                match self { $(Self::$command(arguments) => $run(arguments, output),)* }
            }
        }
    };
}
pub(crate) use subcommands;
