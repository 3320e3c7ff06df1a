//! The state directory: a file for each incarnation, locked by the kernel as long as its process
//! lives. A process that can take the lock of a file knows that the file's process is gone, and need
//! not wait for a lease to run out.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::private;
use crate::types::ProxyId;

/// Why there is no state directory.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The directory cannot be made, read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// Locks there may not be seen by everyone, or not be given back when a process dies.
    #[error("{path} is on a file system (type {kind:#x}) that is not known to be local")]
    NotLocal {
        /// The directory.
        path: String,
        /// The kernel's number for the file system.
        kind: u64,
    },
}

/// File systems whose locks are the kernel's own: ext2 to ext4, xfs, btrfs, tmpfs, overlayfs,
/// zfs, f2fs, bcachefs (statfs(2)).
const LOCAL: [u64; 8] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0x0102_1994,
    0x794c_7630,
    0x2fc1_2fc1,
    0xf2f5_2010,
    0xca45_1a4e,
];

/// Bytes of a file at most; a longer one is not ours.
const LONGEST: u64 = 1024;

/// The directory, and the files of it that this process has locked.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    /// The text that makes a file proof here: this boot of this machine, and the lock schema.
    here: String,
    locked: Vec<(ProxyId, File)>,
}

impl StateDir {
    /// Makes the directory if it is missing. `store` says whose incarnations are meant.
    pub fn open(path: &Path, store: &str) -> Result<Self, StateError> {
        private::make_folder(path).map_err(io_at(path))?;
        let kind = rustix::fs::statfs(path).map_err(|e| io_at(path)(e.into()))?.f_type;
        let kind = u64::try_from(kind).unwrap_or_default() & 0xffff_ffff;
        if !LOCAL.contains(&kind) {
            return Err(StateError::NotLocal { path: path.display().to_string(), kind });
        }
        let boot = "/proc/sys/kernel/random/boot_id";
        let boot = fs::read_to_string(boot).map_err(io_at(Path::new(boot)))?;
        // Containers often have none; the boot is proof enough there.
        let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
        let here = format!("boot {}\nmachine {}\nstore {store}\n", boot.trim(), machine.trim());
        Ok(Self { path: path.to_owned(), here, locked: Vec::new() })
    }

    /// Makes and locks the file of an incarnation of this process. Must come before any
    /// other proxy can know of the incarnation.
    pub fn enter(&mut self, id: ProxyId) -> Result<(), StateError> {
        let path = self.file(id);
        let enter = || {
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create_new(true).mode(0o600).open(&path)?;
            file.lock()?;
            let proof = self.proof(&file)?;
            file.write_all(proof.as_bytes())?;
            Ok(file)
        };
        let file = enter().map_err(io_at(&path))?;
        self.locked.push((id, file));
        Ok(())
    }

    /// Returns the incarnations whose process is certainly gone. Each file of theirs stays, locked by this process,
    /// until [`Self::forget`].
    pub fn reap(&mut self) -> Result<Vec<ProxyId>, StateError> {
        let mut gone = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(io_at(&self.path))? {
            let path = entry.map_err(io_at(&self.path))?.path();
            let Some(id) = id_of(&path) else {
                continue;
            };
            if self.locked.iter().any(|(own, _)| *own == id) {
                continue;
            }
            if let Some(file) = self.take(&path).map_err(io_at(&path))? {
                self.locked.push((id, file));
                gone.push(id);
            }
        }
        Ok(gone)
    }

    /// The file, if its process is gone and it was of this boot, machine and store, and is no copy.
    fn take(&self, path: &Path) -> io::Result<Option<File>> {
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        // A file of another user proves nothing.
        if !private::is_own(&file.metadata()?) {
            return Ok(None);
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(e)) => return Err(e),
        }
        let mut text = String::new();
        let read = (&file).take(LONGEST).read_to_string(&mut text);
        Ok((read.is_ok() && text == self.proof(&file)?).then_some(file))
    }

    /// The text that makes a file proof. The text names the file itself: a copy is locked by no process.
    fn proof(&self, file: &File) -> io::Result<String> {
        let is = file.metadata()?;
        Ok(format!("{}file {} {}\n", self.here, is.dev(), is.ino()))
    }

    /// Removes the files of incarnations that `over` says need no more proof.
    pub fn forget(&mut self, over: impl Fn(ProxyId) -> bool) {
        for (id, _) in self.locked.extract_if(.., |(id, _)| over(*id)) {
            // A file that cannot be removed is reaped by the next process.
            let _ = fs::remove_file(self.path.join(name(id)));
        }
    }

    fn file(&self, id: ProxyId) -> PathBuf {
        self.path.join(name(id))
    }
}

fn name(id: ProxyId) -> String {
    format!("{id}.lock")
}

fn id_of(path: &Path) -> Option<ProxyId> {
    let id = path.file_name()?.to_str()?.strip_suffix(".lock")?;
    let number = u64::from_str_radix(id, 16).ok()?;
    (id.len() == 16 && number != 0).then_some(ProxyId(number))
}

fn io_at(path: &Path) -> impl Fn(io::Error) -> StateError {
    let path = path.display().to_string();
    move |source| StateError::Io { path: path.clone(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory that goes with the test.
    struct TempFolder(PathBuf);

    impl TempFolder {
        fn new() -> Self {
            let name = format!("lockstead-state-{:016x}", rand::random::<u64>());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for TempFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_file_of_a_live_process_is_left_alone() {
        let dir = TempFolder::new();
        let mut old = StateDir::open(&dir.0, "a").expect("open");
        old.enter(ProxyId(7)).expect("enter");
        // Locks are of the opened file, so a second opener stands for a second process.
        let mut new = StateDir::open(&dir.0, "a").expect("open");
        new.enter(ProxyId(8)).expect("enter");
        assert_eq!(new.reap().expect("reap"), []);
        drop(old);
        assert_eq!(new.reap().expect("reap"), [ProxyId(7)]);
        assert_eq!(new.reap().expect("reap"), [], "told once");
        new.forget(|id| id == ProxyId(7));
        assert!(!dir.0.join("0000000000000007.lock").exists());
        assert!(dir.0.join("0000000000000008.lock").exists());
    }

    #[test]
    fn a_copy_is_no_proof_that_a_process_is_gone() {
        let (dir, copies) = (TempFolder::new(), TempFolder::new());
        let mut live = StateDir::open(&dir.0, "a").expect("open");
        live.enter(ProxyId(7)).expect("enter");
        let mut new = StateDir::open(&copies.0, "a").expect("open");
        let name = name(ProxyId(7));
        fs::copy(dir.0.join(&name), copies.0.join(&name)).expect("copied");
        assert_eq!(new.reap().expect("reap"), []);
        drop(live);
        // Moved, it is the file that it was.
        fs::rename(dir.0.join(&name), copies.0.join(&name)).expect("moved");
        assert_eq!(new.reap().expect("reap"), [ProxyId(7)]);
    }

    #[test]
    fn files_of_another_boot_or_store_are_no_proof() {
        let dir = TempFolder::new();
        let mut old = StateDir::open(&dir.0, "a").expect("open");
        old.enter(ProxyId(7)).expect("enter");
        old.here = old.here.replace("boot ", "boot x");
        old.enter(ProxyId(8)).expect("enter");
        drop(old);
        fs::write(dir.0.join("0000000000000009.lock"), "").expect("write");
        fs::write(dir.0.join("notes.lock"), "").expect("write");
        let mut other = StateDir::open(&dir.0, "b").expect("open");
        assert_eq!(other.reap().expect("reap"), []);
        let mut new = StateDir::open(&dir.0, "a").expect("open");
        assert_eq!(new.reap().expect("reap"), [ProxyId(7)]);
    }
}
