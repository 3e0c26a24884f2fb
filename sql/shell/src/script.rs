//! Statements from arguments, files and the standard input, which run one after the other until one fails.

use crate::arguments::Input;
use crate::failure::{Failure, Result};
use crate::interrupts::Interrupts;
use crate::picture::Picture;
use crate::query;
use crate::session::Session;
use crate::shell::{Settings, left_out, note, summary};
use crate::statements::{Piece, split};
use std::io::{self, Read};

/// Option that shows all rows.
const REMEDY: &str = "--max-rows all";

/// A text of statements, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The file; `None` for an argument, which its user sees.
    name: Option<String>,
    text: String,
}

impl Source {
    /// The standard input.
    ///
    /// # Errors
    /// One that cannot be read, or is no text.
    pub(crate) fn of_stdin() -> Result<Self> {
        let name = "standard input".to_owned();
        match io::read_to_string(io::stdin().lock()) {
            Ok(text) => Ok(Self { name: Some(name), text }),
            Err(source) => Err(Failure::File { action: "read", path: name, source }),
        }
    }

    /// The place of a statement, for errors.
    fn place(&self, piece: &Piece<'_>, is_only: bool) -> Option<String> {
        match &self.name {
            Some(name) => Some(format!("{name}:{}", piece.line)),
            None if is_only => None,
            None => {
                let beginning: String =
                    piece.text.chars().take(40).map(|letter| if letter == '\n' { ' ' } else { letter }).collect();
                Some(format!("in \"{}\"", beginning.trim_end()))
            }
        }
    }
}

/// The statements of the command line, those of `-c` first.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn sources(commands: &[String], inputs: &[Input]) -> Result<Vec<Source>> {
    let mut sources: Vec<Source> = commands.iter().map(|text| Source { name: None, text: text.clone() }).collect();
    for input in inputs {
        match input {
            Input::Table { .. } => {}
            Input::Statements(text) => sources.push(Source { name: None, text: text.clone() }),
            Input::Script(path) => {
                let path_text = path.display().to_string();
                let text = std::fs::File::open(path).and_then(|mut file| {
                    let mut text = String::new();
                    file.read_to_string(&mut text).map(|_| text)
                });
                match text {
                    Ok(text) => sources.push(Source { name: Some(path_text), text }),
                    Err(source) => return Err(Failure::File { action: "read", path: path_text, source }),
                }
            }
        }
    }
    Ok(sources)
}

/// Runs all statements.
///
/// # Errors
/// The first failure, with its place; later statements are not run.
pub(crate) async fn run(
    session: &Session,
    sources: &[Source],
    settings: &Settings,
    interrupts: &mut Interrupts,
) -> Result<()> {
    for source in sources {
        let (_, dialect) = session.dialect();
        let pieces: Vec<Piece<'_>> = split(&source.text, dialect.as_ref()).all().collect();
        for piece in &pieces {
            let is_only = sources.len() == 1 && pieces.len() == 1;
            statement(session, piece, settings, interrupts)
                .await
                .map_err(|failure| failure.at(source.place(piece, is_only)))?;
        }
    }
    Ok(())
}

async fn statement(
    session: &Session,
    piece: &Piece<'_>,
    settings: &Settings,
    interrupts: &mut Interrupts,
) -> Result<()> {
    let Some(done) = query::run(session, piece, settings.format, settings.limit, interrupts).await? else {
        return Ok(());
    };
    if settings.has_timing {
        note(&summary(&done, true, REMEDY));
    } else if let Some(left_out) = left_out(done.left_out, REMEDY) {
        note(&left_out);
    }
    match &settings.picture {
        Some(page) if done.has_rows => Picture::new(piece.text, &done).write(page),
        _ => Ok(()),
    }
}
