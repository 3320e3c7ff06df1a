//! Folders and files that are this process's own: keys, and proof that it lives. A file that others may
//! change proves nothing, and one that they may read keeps no secret.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

/// Makes a folder for this user alone, if it is missing.
pub fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A warning, for a folder that others may write to.
pub fn shared_folder(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    let why = if !is_own(&found) {
        format!("it belongs to user {}", found.uid())
    } else if found.mode() & 0o022 != 0 {
        format!("its mode is {:04o}: chmod 700", found.mode() & 0o7777)
    } else {
        return None;
    };
    Some(format!("other users may write to the state directory {}: {why}", path.display()))
}

/// Whether only this user and root can have written the file.
pub fn is_own(found: &Metadata) -> bool {
    let own = rustix::process::geteuid().as_raw();
    found.uid() == own || found.uid() == 0
}

/// A warning, for a file with a secret that all users may read; an error, for one that other users may
/// have written.
pub fn judge_secret(found: &Metadata) -> Result<Option<String>, String> {
    if !is_own(found) {
        return Err(format!("it belongs to user {}, who may change it", found.uid()));
    }
    if found.mode() & 0o022 != 0 {
        let mode = found.mode() & 0o777;
        return Err(format!("other users may change it (mode {mode:03o}): chmod 600"));
    }
    Ok(readable(found))
}

/// A warning, for a file with a secret that all users may read.
pub fn readable(found: &Metadata) -> Option<String> {
    let mode = found.mode() & 0o777;
    (mode & 0o004 != 0).then(|| format!("all users may read it (mode {mode:03o}): chmod 600"))
}
