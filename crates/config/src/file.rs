//! Reads a file, within bounds.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::problem::Problem;
use crate::source::Source;
use crate::tree::Mark;

/// What is wrong with a file as a whole: what could be read, the place, and why.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) source: Source,
    pub(crate) mark: Mark,
    pub(crate) problem: Problem,
}

impl Unread {
    fn start(name: &str, problem: Problem) -> Box<Self> {
        Box::new(Self { source: Source::new(name, ""), mark: Mark::START, problem })
    }
}

/// The file at `path`, of at most `limit` bytes of UTF-8. A longer one comes cut, and is refused where it is parsed.
pub(crate) fn read(path: &Path, limit: usize) -> Result<Source, Box<Unread>> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    if let Err(error) = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)) {
        return Err(Unread::start(&name, Problem::Read(error)));
    }
    if bytes.len() > limit {
        return Err(Unread::start(&name, Problem::FileTooLarge { limit }));
    }
    String::from_utf8(bytes).map(|text| Source::new(&name, &text)).map_err(|error| {
        let before = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let mark = Mark::after(Source::new(&name, &String::from_utf8_lossy(before)).text());
        let source = Source::new(&name, &String::from_utf8_lossy(error.as_bytes()));
        Box::new(Unread { source, mark, problem: Problem::NotUtf8 })
    })
}
