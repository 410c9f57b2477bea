//! What the entrypoint of a server tells about its container, in a small file beside the directory of the server's socket: cores, CPU, memory, disk or
//! tmpfs, since when it serves and why it began anew, or why it can't. And what `make verify` found last, in a file of the same kind.
//!
//! In: paths. Out: the lines `name=value`. Must never: take much from a file, or what is old for what is so now.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MOST_BYTES: u64 = 4096;
/// They are written every second while somebody looks.
const FRESH: Duration = Duration::from_secs(5);

pub type Facts = BTreeMap<String, String>;

/// Tells the entrypoints, by a file that is newer than their facts, that somebody looks. Where it can't be written, they tell nothing.
pub fn want(sockets: &Path) {
    let _ = std::fs::write(sockets.join("watched"), "\n");
}

/// Of the server with this socket, beside the socket's directory, where only its entrypoint writes: `master.facts` for `master/mysqld.sock`.
pub fn of_server(socket: &Path) -> Option<PathBuf> {
    let mut name = socket.parent()?.as_os_str().to_owned();
    name.push(".facts");
    Some(name.into())
}

pub fn read(path: &Path) -> Option<Facts> {
    let text = read_at_most(path, MOST_BYTES)?;
    let lines = text.lines().filter_map(|line| line.split_once('='));
    Some(
        lines
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
    )
}

/// The text of a file, or of its beginning.
pub fn read_at_most(path: &Path, bytes: u64) -> Option<String> {
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(bytes).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Only if they were written just now.
pub fn read_fresh(path: &Path) -> Option<Facts> {
    read_recent(path, FRESH)
}

/// Only if they are no older than that, as their line `at` says.
pub fn read_recent(path: &Path, age: Duration) -> Option<Facts> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let facts = read(path)?;
    let at: u64 = facts.get("at")?.parse().ok()?;
    (now.abs_diff(at) <= age.as_secs()).then_some(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_long_ago_or_is_not_there_says_nothing() {
        let path = std::env::temp_dir().join(format!("gtid-gate-facts-{}", std::process::id()));
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        std::fs::write(&path, format!("at={now}\nwhy=a=b\nodd\n")).unwrap();
        let facts = read_fresh(&path).unwrap();
        assert_eq!((facts["why"].as_str(), facts.len()), ("a=b", 2));
        std::fs::write(&path, format!("at={}\n", now - 60)).unwrap();
        assert!(read_fresh(&path).is_none() && read(&path).is_some());
        std::fs::remove_file(&path).unwrap();
        assert!(read(&path).is_none());
    }

    #[test]
    fn who_looks_touches_a_file_each_time_and_where_there_is_no_place_for_it_nothing_happens() {
        let sockets =
            std::env::temp_dir().join(format!("gtid-gate-watched-{}", std::process::id()));
        want(&sockets);
        std::fs::create_dir(&sockets).unwrap();
        let touched = || std::fs::metadata(sockets.join("watched"))?.modified();
        want(&sockets);
        let first = touched().unwrap();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while touched().unwrap() == first {
            assert!(std::time::Instant::now() < end, "it stays as it is");
            want(&sockets);
        }
        std::fs::remove_dir_all(&sockets).unwrap();
    }
}
