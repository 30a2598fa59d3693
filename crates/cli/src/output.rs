//! Where a command writes what it made.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use crate::failure::Failure;

/// Writes to the file, or to stdout.
pub(crate) fn write(file: Option<&Path>, text: &str) -> Result<(), Failure> {
    match file {
        Some(path) => fs::write(path, text).map_err(|source| Failure::Page { path: path.to_owned(), source }),
        None => {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Write)
        }
    }
}
