//! A listening Unix socket and its file.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};

use crate::listener::BACKLOG;

/// The file of a socket that is listened on; removed when dropped, unless another has taken its place.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
    /// While this is open, no other file gets the same number.
    _pin: Option<File>,
}

impl SocketFile {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|found| found == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens at `path`, which gets the permissions `mode` before anybody can connect. A socket that nobody listens on any more is
/// removed before; anything else there is an error.
pub(crate) fn listen(path: &Path, mode: u32) -> io::Result<(UnixListener, SocketFile)> {
    make_way(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::unix(path)?)?;
    // Until it listens, connections are refused.
    let file = SocketFile { path: path.to_owned(), identity: identity(path)?, _pin: pin(path) };
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    socket.listen(BACKLOG)?;
    Ok((UnixListener::from(std::os::fd::OwnedFd::from(socket)), file))
}

/// Refers to a file of any kind without opening it for anything (`O_PATH` of Linux).
fn pin(path: &Path) -> Option<File> {
    const O_PATH: i32 = 0o10_000_000;
    let linux = cfg!(target_os = "linux");
    linux.then(|| OpenOptions::new().read(true).custom_flags(O_PATH).open(path).ok()).flatten()
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

fn make_way(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file that is no socket"));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "somebody listens there")),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(result: io::Result<(UnixListener, SocketFile)>) -> io::ErrorKind {
        result.expect_err("it must be refused").kind()
    }

    #[test]
    fn a_socket_is_made_guarded_replaced_and_removed() {
        let folder = std::env::temp_dir().join(format!("cupo-socket-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("s");
        let (listener, file) = listen(&path, 0o600).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(UnixStream::connect(&path).is_ok());
        assert_eq!(kind(listen(&path, 0o600)), io::ErrorKind::AddrInUse);
        drop(listener);
        // Nobody listens: the next takes its place, and the first leaves it there.
        let (second, second_file) = listen(&path, 0o666).unwrap();
        drop(file);
        assert!(UnixStream::connect(&path).is_ok());
        drop((second, second_file));
        assert!(!path.exists());
        fs::write(&path, "a letter").unwrap();
        assert_eq!(kind(listen(&path, 0o600)), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "a letter");
        fs::remove_dir_all(&folder).unwrap();
    }
}
