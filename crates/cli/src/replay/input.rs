//! What is replayed: stdin or files, gzipped or not.

use std::fs::File;
use std::io::{self, Cursor, IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use indicatif::{ProgressBar, ProgressStyle};

use super::format::{Format, detect};
use super::lines::LONGEST;
use crate::failure::Failure;

/// Bytes of an input, uncompressed.
pub(super) type Source = Box<dyn Read + Send>;

/// Lines among which the first that shows its format is looked for.
const LOOKED_AT: usize = 100;

/// An input that can be read, and what to call it.
pub(super) struct Input {
    pub(super) name: String,
    pub(super) source: Source,
}

/// Opens `path`; `-` is stdin.
pub(super) fn open(path: &Path, bar: Option<&ProgressBar>) -> Result<Input, Failure> {
    if is_stdin(path) {
        let source = plain(io::stdin()).map_err(Failure::Read)?;
        return Ok(Input { name: "stdin".to_owned(), source });
    }
    let failed = |source| Failure::Input { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let source = match bar {
        Some(bar) => plain(bar.wrap_read(file)),
        None => plain(file),
    };
    Ok(Input { name: path.display().to_string(), source: source.map_err(failed)? })
}

pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The bytes as they are meant: those of gzip are known by how they begin.
fn plain(mut source: impl Read + Send + 'static) -> io::Result<Source> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let mut head = Vec::new();
    source.by_ref().take(2).read_to_end(&mut head)?;
    let zipped = head == GZIP;
    let whole = Cursor::new(head).chain(source);
    Ok(if zipped {
        Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(1 << 16, whole)))
    } else {
        Box::new(whole)
    })
}

/// Finds the format by the first lines, which are given back with the rest. `None` of an input without lines.
pub(super) fn format(mut input: Input) -> Result<(Option<Format>, Input), Failure> {
    let (mut head, mut from, mut looked_at, mut ended) = (Vec::new(), 0_usize, 0_usize, false);
    let found = loop {
        let rest = head.get(from..).unwrap_or_default();
        let (line, next) = match memchr::memchr(b'\n', rest) {
            Some(end) => (rest.get(..end).unwrap_or_default(), from.saturating_add(end).saturating_add(1)),
            None if ended && rest.is_empty() => break None,
            None if ended => (rest, head.len()),
            None if rest.len() <= LONGEST => {
                ended = read_more(&mut input.source, &mut head).map_err(Failure::Read)?;
                continue;
            }
            None => break None,
        };
        if !line.trim_ascii().is_empty() {
            looked_at = looked_at.saturating_add(1);
            if let Some(format) = detect(line) {
                break Some(format);
            }
            if looked_at == LOOKED_AT {
                break None;
            }
        }
        from = next;
    };
    if found.is_none() && (looked_at > 0 || head.len() > LONGEST) {
        return Err(Failure::NoFormat { input: input.name.into() });
    }
    Ok((found, Input { name: input.name, source: Box::new(Cursor::new(head).chain(input.source)) }))
}

/// Appends what there is. Whether that was the end.
fn read_more(source: &mut Source, head: &mut Vec<u8>) -> io::Result<bool> {
    const STEP: usize = 1 << 16;
    let before = head.len();
    head.resize(before.saturating_add(STEP), 0);
    let read = loop {
        match source.read(head.get_mut(before..).unwrap_or_default()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other,
        }
    };
    head.truncate(before.saturating_add(*read.as_ref().unwrap_or(&0)));
    Ok(read? == 0)
}

/// A bar on stderr for files of known size, if somebody looks at it.
pub(super) fn progress(inputs: &[PathBuf]) -> Option<ProgressBar> {
    if !io::stderr().is_terminal() {
        return None;
    }
    let size = |path: &PathBuf| {
        let about = std::fs::metadata(path).ok()?;
        (!is_stdin(path) && about.is_file()).then_some(about.len())
    };
    let total = inputs.iter().map(size).try_fold(0_u64, |sum, size| Some(sum.saturating_add(size?)))?;
    let style = ProgressStyle::with_template("{percent:>3}% [{bar:40}] {bytes} of {total_bytes}, {eta} left");
    Some(ProgressBar::new(total).with_style(style.ok()?.progress_chars("=> ")))
}
