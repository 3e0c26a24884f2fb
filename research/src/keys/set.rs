//! The key set, generated or read from a file.

use std::path::{Path, PathBuf};

use super::catalog::{Generator, generators};
use super::sosd::SosdReader;
use super::source::KeyStream;
use super::spec::{Fields, Plan, parse_fields};
use super::text::{self, Lines};
use crate::error::{Error, Result};
use ogive_terminal::did_you_mean;

/// What a file of text is not, and how one would be named that is.
const INTEGERS: &str = "integer keys (of 8 bytes, in a file that ends in .u64 or _uint64)";
/// Number of keys of a generated set whose specification gives none.
const DEFAULT_COUNT: u64 = 10_000_000;

/// A set of sorted keys: integers made by name or read from a SOSD file, or the lines of a text file.
#[derive(Debug, Clone)]
pub struct KeySet {
    name: String,
    len: u64,
    origin: Origin,
}

#[derive(Debug, Clone)]
enum Origin {
    Generated(Generator, Plan),
    Sosd(PathBuf),
    Text(PathBuf),
}

/// Opens the key set that `spec` names: a generated one, or a file.
///
/// A name of [`generators`], alone or before a colon, is a generated set. Anything else is a path: a file that ends
/// in `.u64` or `_uint64` is in SOSD format, any other a text file with one key a line.
///
/// # Errors
/// [`Error::Spec`] for a name with wrong fields, [`Error::Io`], [`Error::SosdHeader`] and [`Error::SosdLength`] for
/// files.
pub fn open(spec: &str) -> Result<KeySet> {
    open_with(spec, DEFAULT_COUNT, None)
}

/// As [`open`], with the number of keys and the seed that a generated set has if its specification gives none.
///
/// # Errors
/// As for [`open`].
pub fn open_with(spec: &str, default_count: u64, default_seed: Option<u64>) -> Result<KeySet> {
    let head = spec.split(':').next().unwrap_or(spec);
    match generators().into_iter().find(|generator| generator.name == head) {
        Some(generator) => {
            let fields = parse_fields(spec)?;
            let fields = Fields { seed: fields.seed.or(default_seed), ..fields };
            let plan = generator.plan(spec, fields, default_count)?;
            // Made once for its errors: what the generator refuses is refused here.
            generator.make(&plan)?;
            Ok(KeySet { name: plan.name.clone(), len: plan.count, origin: Origin::Generated(generator, plan) })
        }
        None => open_file(spec),
    }
}

fn open_file(spec: &str) -> Result<KeySet> {
    let path = PathBuf::from(spec);
    if !path.exists() {
        let head = spec.split(':').next().unwrap_or(spec);
        let suggestion = did_you_mean(head, generators().iter().map(|generator| generator.name));
        let suggestion = suggestion.map_or_else(String::new, |suggestion| format!("{suggestion} "));
        let list = "`ogive-research list` names the generated key sets";
        return Err(Error::spec(spec, format!("neither a file nor a generated key set; {suggestion}{list}")));
    }
    let name = path.file_name().map_or_else(|| spec.into(), |name| name.to_string_lossy().into_owned());
    if name.ends_with(".u32") || name.ends_with("_uint32") {
        return Err(Error::spec(spec, "keys of 4 bytes are not read; give a file of 8-byte keys (.u64 or _uint64)"));
    }
    if name.ends_with(".u64") || name.ends_with("_uint64") {
        let len = SosdReader::open(&path)?.len();
        return Ok(KeySet { name, len, origin: Origin::Sosd(path) });
    }
    let len = text::count_lines(&path)?;
    Ok(KeySet { name, len, origin: Origin::Text(path) })
}

impl KeySet {
    /// The name to report: the full specification of a generated set, or a file's name without its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of keys, repeats included.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The generated set of the same name, seed and options with another number of keys.
    ///
    /// # Errors
    /// [`Error::KeyKind`] for a file, whose keys are what they are; [`Error::TooManyKeys`] where the generator cannot
    /// make as many.
    pub fn resized(&self, count: u64) -> Result<Self> {
        let Origin::Generated(generator, former) = &self.origin else {
            return Err(Error::KeyKind { name: self.name.clone(), holds: "a file's keys", needs: "a generated set" });
        };
        let own = former.options.iter().filter(|(option, value)| !generator.options.contains(&(**option, **value)));
        let options = own.map(|(option, value)| ((*option).to_string(), *value)).collect();
        let fields = Fields { count: Some(count), seed: Some(former.seed), options };
        let plan = generator.plan(&self.name, fields, count)?;
        generator.make(&plan)?;
        Ok(Self { name: plan.name.clone(), len: plan.count, origin: Origin::Generated(*generator, plan) })
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the keys are strings: then [`KeySet::lines`] hands them out, and [`KeySet::stream`] refuses.
    pub fn is_text(&self) -> bool {
        matches!(self.origin, Origin::Text(_))
    }

    /// The file behind the set, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match &self.origin {
            Origin::Generated(..) => None,
            Origin::Sosd(path) | Origin::Text(path) => Some(path),
        }
    }

    /// The keys in ascending order, from the first. Every call starts anew.
    ///
    /// # Errors
    /// [`Error::KeyKind`] for a set of strings, [`Error::Io`] for a file that has gone. The stream itself yields
    /// [`Error::Unsorted`] where a file's order breaks.
    pub fn stream(&self) -> Result<KeyStream> {
        match &self.origin {
            Origin::Generated(generator, plan) => Ok(KeyStream::new(generator.make(plan)?)),
            Origin::Sosd(path) => Ok(KeyStream::new(Box::new(SosdReader::open(path)?))),
            Origin::Text(_) => Err(Error::KeyKind { name: self.name.clone(), holds: "lines of text", needs: INTEGERS }),
        }
    }

    /// All keys at once: 8 bytes of memory for each.
    ///
    /// # Errors
    /// As for [`KeySet::stream`]; [`Error::TooManyKeys`] if they do not fit memory.
    pub fn load(&self) -> Result<Vec<u64>> {
        let mut keys = Vec::new();
        if !usize::try_from(self.len).is_ok_and(|len| keys.try_reserve_exact(len).is_ok()) {
            let detail = format!("its {} keys do not fit memory; pass a smaller -n", self.len);
            return Err(Error::TooManyKeys { spec: self.name.clone(), detail });
        }
        let mut stream = self.stream()?;
        loop {
            let block = stream.next_block()?;
            if block.is_empty() {
                return Ok(keys);
            }
            keys.extend_from_slice(block);
        }
    }

    /// The strings of a text file in ascending order, without their line ends.
    ///
    /// # Errors
    /// [`Error::KeyKind`] for a set of integers, [`Error::Io`] for a file that has gone.
    pub fn lines(&self) -> Result<Lines> {
        match &self.origin {
            Origin::Text(path) => Lines::open(path),
            _ => Err(Error::KeyKind { name: self.name.clone(), holds: "integers", needs: "lines of text" }),
        }
    }
}
