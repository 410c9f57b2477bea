//! The file that keeps the list of servers over a restart of the gate.
//!
//! In: states. Out: a file that is always a whole state, the last one that was written. Must never: leave half a state, or
//! write over a file that could not be understood.

use crate::ops::fleet_state::FleetState;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub struct StateFile {
    /// None: nothing is to be kept.
    path: Option<PathBuf>,
    /// Why nothing may be written.
    blocked: Option<String>,
}

impl StateFile {
    pub fn new(path: Option<PathBuf>) -> Self {
        Self {
            path,
            blocked: None,
        }
    }

    /// None: there is no file.
    pub fn read(&self) -> Result<Option<FleetState>, String> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        match fs::read_to_string(path) {
            Ok(text) => FleetState::parse(&text).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The file is of no use, for this reason: it goes aside, for a person to look at.
    pub fn set_aside(&mut self, reason: &str) {
        let Some(path) = &self.path else { return };
        let (file, aside) = (path.display(), beside(path, ".broken"));
        let kept = aside.display();
        match fs::rename(path, &aside) {
            Ok(()) => {
                tracing::error!(%file, %reason, kept_as = %kept, "state is of no use: the settings alone hold");
            }
            Err(error) => {
                tracing::error!(%file, %reason, %error, "state is of no use, and in the way: the settings alone hold");
                self.blocked = Some(format!("{file} is in the way: {error}"));
            }
        }
    }

    /// Returns when the state is on the disk; or why it is not.
    pub fn write(&self, state: &FleetState) -> Result<(), String> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let blocked = self.blocked.clone().map_or(Ok(()), Err);
        let written = blocked.and_then(|()| {
            let replaced = replace(path, &state.text());
            replaced.map_err(|error| format!("{}: {error}", path.display()))
        });
        if let Err(error) = &written {
            tracing::error!(%error, "the list of servers and limits can not be kept");
        }
        written
    }
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = beside(path, ".new");
    let mut file = File::create(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("gtid-gate-state-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        folder
    }

    fn state() -> FleetState {
        FleetState::declared(&["a:1".parse().unwrap()])
    }

    fn names(folder: &Path) -> Vec<String> {
        let each = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = each
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_was_written_last_is_read_and_nothing_else_is_left() {
        let folder = place("written");
        let file = StateFile::new(Some(folder.join("state")));
        assert_eq!(file.read(), Ok(None));
        file.write(&FleetState::declared(&[])).unwrap();
        file.write(&state()).unwrap();
        assert_eq!(file.read(), Ok(Some(state())));
        assert_eq!(names(&folder), ["state"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_write_that_was_cut_short_leaves_the_state_before() {
        let folder = place("cut");
        let file = StateFile::new(Some(folder.join("state")));
        file.write(&state()).unwrap();
        fs::create_dir(folder.join("state.new")).unwrap();
        let refused = file.write(&FleetState::declared(&[])).unwrap_err();
        assert!(refused.contains("state"), "{refused}");
        assert_eq!(file.read(), Ok(Some(state())));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_broken_file_goes_aside_as_it_is() {
        let folder = place("broken");
        let mut file = StateFile::new(Some(folder.join("state")));
        fs::write(folder.join("state"), "half a st").unwrap();
        assert!(file.read().is_err());
        file.set_aside("half");
        file.write(&state()).unwrap();
        assert_eq!(names(&folder), ["state", "state.broken"]);
        let aside = fs::read_to_string(folder.join("state.broken"));
        assert_eq!(aside.unwrap(), "half a st");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_broken_file_that_can_not_go_aside_is_not_written_over() {
        let folder = place("stuck");
        let mut file = StateFile::new(Some(folder.join("state")));
        fs::write(folder.join("state"), "half a st").unwrap();
        fs::create_dir_all(folder.join("state.broken/full")).unwrap();
        file.set_aside("half");
        assert!(file.write(&state()).unwrap_err().contains("in the way"));
        let text = fs::read_to_string(folder.join("state"));
        assert_eq!(text.unwrap(), "half a st");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn without_a_path_nothing_is_kept() {
        let file = StateFile::new(None);
        assert_eq!(file.write(&state()), Ok(()));
        assert_eq!(file.read(), Ok(None));
    }
}
