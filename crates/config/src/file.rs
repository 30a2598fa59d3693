//! Reads a file, within bounds.

use std::fs::{self, File};
use std::io::{self, Read as _};
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
    let bytes = match bytes(path, limit) {
        Ok(bytes) if bytes.len() > limit => {
            return Err(Unread::start(&name, Problem::FileTooLarge { limit }));
        }
        Ok(bytes) => bytes,
        Err(error) => return Err(Unread::start(&name, Problem::Read(error))),
    };
    String::from_utf8(bytes).map(|text| Source::new(&name, &text)).map_err(|error| {
        let before = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let mark = Mark::after(Source::new(&name, &String::from_utf8_lossy(before)).text());
        let source = Source::new(&name, &String::from_utf8_lossy(error.as_bytes()));
        Box::new(Unread { source, mark, problem: Problem::NotUtf8 })
    })
}

/// The bytes of a regular file of at most `limit`. A pipe or a device is not waited for. Blocks on file I/O.
///
/// # Errors
/// Why it cannot be read: as [`io::ErrorKind::FileTooLarge`] that it is longer.
pub fn read_file(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let bytes = bytes(path, limit)?;
    if bytes.len() > limit {
        let message = format!("it is longer than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// The same, of a longer file one byte more than `limit`.
fn bytes(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let kind = fs::metadata(path)?;
    // Opening a pipe waits for whoever writes to it, and a device may never end. A folder is told as such when it is read.
    if !kind.is_file() && !kind.is_dir() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::ErrorKind;
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    use super::read_file;

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let folder = std::env::temp_dir().join(format!("cupo-file-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let pipe = folder.join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let socket = folder.join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        for path in [Path::new("/dev/zero"), &pipe, &socket] {
            assert_eq!(read_file(path, 9).unwrap_err().kind(), ErrorKind::InvalidInput, "{path:?}");
            assert!(crate::load(path).unwrap_err().to_string().contains("not a regular file"));
            let text = format!("callers: {}\nrules: [{{ name: a, key: ip, limit: 1/s }}]", path.display());
            let errors = crate::parse("cupo.yaml", &text).unwrap_err().to_string();
            assert!(errors.contains("cupo.yaml:1:10") && errors.contains("not a regular file"), "{errors}");
        }
        assert_eq!(read_file(&folder, 9).unwrap_err().kind(), ErrorKind::IsADirectory);
        let file = folder.join("file");
        std::fs::write(&file, "123456789").unwrap();
        assert_eq!(read_file(&file, 9).unwrap(), b"123456789");
        assert_eq!(read_file(&file, 8).unwrap_err().kind(), ErrorKind::FileTooLarge);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
