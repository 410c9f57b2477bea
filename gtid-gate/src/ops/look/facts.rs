//! What the entrypoint of a server tells about its container, in a small file beside the server's socket: cores, CPU, memory, disk or
//! tmpfs, since when it serves and why it began anew. And what `make verify` found last, in a file of the same kind.
//!
//! In: paths. Out: the lines `name=value`. Must never: take much from a file, or what is old for what is so now.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

const MOST_BYTES: u64 = 4096;
/// They are written every two seconds.
const FRESH_S: u64 = 10;

pub type Facts = BTreeMap<String, String>;

pub fn read(path: &Path) -> Option<Facts> {
    let mut text = String::new();
    File::open(path)
        .ok()?
        .take(MOST_BYTES)
        .read_to_string(&mut text)
        .ok()?;
    let lines = text.lines().filter_map(|line| line.split_once('='));
    Some(
        lines
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
    )
}

/// Only if they were written just now, as their line `at` says.
pub fn read_fresh(path: &Path) -> Option<Facts> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let facts = read(path)?;
    let at: u64 = facts.get("at")?.parse().ok()?;
    (now.abs_diff(at) <= FRESH_S).then_some(facts)
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
}
