//! The report's file in the state directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::report::{FORMAT, Report};
use crate::private;

/// Name of the file.
const NAME: &str = "observed.json";
/// Locked by the process that writes it.
const LOCK: &str = "observed.lock";
/// Bytes at most; a longer one is not ours.
const LONGEST: u64 = 64 << 20;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be made, read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// Another process writes it.
    #[error("{path}: another proxy observes with this `state_dir`; give each proxy its own")]
    Taken {
        /// The directory.
        path: String,
    },
    /// The file is not what this program writes.
    #[error("{path}: {problem}")]
    Broken {
        /// The file.
        path: String,
        /// What is wrong.
        problem: String,
    },
}

/// The file, which this process alone writes.
#[derive(Debug)]
pub struct ReportFile {
    path: PathBuf,
    _lock: File,
}

impl ReportFile {
    /// Makes the directory if it is missing, and keeps other writers out.
    pub fn open(dir: &Path) -> Result<Self, FileError> {
        private::make_folder(dir).map_err(io_at(dir))?;
        let path = dir.join(LOCK);
        let lock = private().truncate(false).open(&path).map_err(io_at(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: dir.join(NAME), _lock: lock }),
            Err(fs::TryLockError::WouldBlock) => {
                Err(FileError::Taken { path: dir.display().to_string() })
            }
            Err(fs::TryLockError::Error(e)) => Err(io_at(&path)(e)),
        }
    }

    /// The report of an earlier process. A broken file is renamed.
    pub fn load(&self) -> Result<Option<Report>, FileError> {
        let broken = match load(&self.path) {
            Err(e @ FileError::Broken { .. }) => e,
            loaded => return loaded,
        };
        let aside = self.path.with_extension("json.broken");
        fs::rename(&self.path, &aside).map_err(io_at(&aside))?;
        tracing::warn!(error = %broken, renamed_to = %aside.display(), "a broken report was renamed: observing begins with an empty one");
        Ok(None)
    }

    /// Writes the report, all or nothing.
    pub fn save(&self, report: &Report) -> Result<(), FileError> {
        let new = self.path.with_extension("json.new");
        let save = || {
            let bytes = serde_json::to_vec(report)?;
            let mut file = private().truncate(true).open(&new)?;
            file.write_all(&bytes)?;
            file.sync_data()?;
            fs::rename(&new, &self.path)
        };
        save().map_err(io_at(&new))
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

/// Reads the report in a state directory; `None` if nothing was observed there.
pub fn read(dir: &Path) -> Result<Option<Report>, FileError> {
    load(&dir.join(NAME))
}

fn load(path: &Path) -> Result<Option<Report>, FileError> {
    let broken = |problem| FileError::Broken { path: path.display().to_string(), problem };
    let file = match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(io_at(path))?,
    };
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(io_at(path))?;
    if bytes.len() as u64 > LONGEST {
        return Err(broken("is too long for a report".to_owned()));
    }
    let report: Report = serde_json::from_slice(&bytes)
        .map_err(|e| broken(format!("is no report of this program: {e}")))?;
    if report.format != FORMAT {
        return Err(broken(format!(
            "is a report of format {}, this build knows {FORMAT}",
            report.format
        )));
    }
    Ok(Some(report))
}

fn io_at(path: &Path) -> impl Fn(io::Error) -> FileError {
    let path = path.display().to_string();
    move |source| FileError::Io { path: path.clone(), source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A directory that goes with the test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new() -> Self {
            let name = format!("lockstead-observe-{:016x}", rand::random::<u64>());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_report_is_read_as_it_was_written_by_its_owner_only() {
        let dir = Scratch::new();
        assert_eq!(read(&dir.0).expect("read"), None);
        let file = ReportFile::open(&dir.0).expect("open");
        assert!(matches!(ReportFile::open(&dir.0), Err(FileError::Taken { .. })));
        assert_eq!(file.load().expect("load"), None);
        let report = Report { format: FORMAT, since: "then".to_owned(), ..Report::default() };
        file.save(&report).expect("save");
        assert_eq!(read(&dir.0).expect("read"), Some(report));
        for path in [dir.0.clone(), dir.0.join(NAME)] {
            let mode = fs::metadata(&path).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o077, 0, "{}", path.display());
        }
    }

    #[test]
    fn a_broken_report_is_put_aside() {
        let dir = Scratch::new();
        let file = ReportFile::open(&dir.0).expect("open");
        for text in ["", "{\"format\":1", "{\"format\":99}", "[]"] {
            fs::write(dir.0.join(NAME), text).expect("write");
            assert!(matches!(read(&dir.0), Err(FileError::Broken { .. })), "{text}");
            assert_eq!(file.load().expect("load"), None, "{text}");
            assert!(!dir.0.join(NAME).exists());
            let aside = fs::read_to_string(dir.0.join("observed.json.broken")).expect("aside");
            assert_eq!(aside, text);
        }
    }
}
