//! The order of the gate's rooms, and that no two files use each other in a circle.
//!
//! In: the sources. Out: each `use` that goes the wrong way, by file and line. Tests inside the files are not looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each uses only those before it, as `lib.rs` says.
const ORDER: &[&str] = &[
    "common",
    "ops/config/values",
    "ops/config/settings",
    "ops/config/broken",
    "ops/config",
    "ops/metrics",
    "gtid",
    "protocol",
    "net",
    "sql",
    "backend",
    "freshness",
    "clients",
    "views",
    "session",
    "frontend",
    "ops",
];

/// A file's path below src, without `.rs`. A room's `mod.rs` is the room itself: it uses all its files, so none of them may use it.
type File = String;
/// The files that a file uses, and the first line that does.
type Used = BTreeMap<File, usize>;

#[test]
fn each_room_uses_only_rooms_before_it() {
    let wrong: Vec<String> = uses()
        .iter()
        .flat_map(|(file, used)| used.iter().map(move |u| (file, u)))
        .filter(|(file, used)| rank(used.0) > rank(file))
        .map(|(file, (used, line))| format!("src/{file}.rs:{line} uses {used}"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut left = uses();
    loop {
        let known: BTreeSet<File> = left.keys().cloned().collect();
        left.values_mut()
            .for_each(|used| used.retain(|u, _| known.contains(u)));
        let before = left.len();
        let used_here: BTreeSet<File> = left.values().flat_map(Used::keys).cloned().collect();
        left.retain(|file, used| !used.is_empty() && used_here.contains(file));
        if left.len() == before {
            break;
        }
    }
    let each = |(file, used): (&File, &Used)| -> Vec<String> {
        let shown = |(used, line)| format!("src/{file}.rs:{line} uses {used}");
        used.iter().map(shown).collect()
    };
    let left: Vec<String> = left.iter().flat_map(each).collect();
    assert!(left.is_empty(), "in circles: {left:#?}");
}

fn rank(file: &str) -> usize {
    let of_file = ORDER.iter().position(|room| *room == file);
    let room = file.split('/').next().unwrap_or_default();
    let of_room = || ORDER.iter().position(|r| *r == room);
    of_file
        .or_else(of_room)
        .unwrap_or_else(|| panic!("src/{file}.rs is in no room"))
}

fn uses() -> BTreeMap<File, Used> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&source, &mut files);
    let name = |path: &Path| {
        let name = path.strip_prefix(&source).unwrap().with_extension("");
        let name = name.to_str().unwrap().to_owned();
        name.strip_suffix("/mod")
            .map_or(name.clone(), str::to_owned)
    };
    let names: BTreeSet<File> = files.iter().map(|path| name(path)).collect();
    let no_room = ["lib", "main", "test_support", "test_support/client"];
    let is_code =
        |n: &str| !no_room.contains(&n) && !n.ends_with("tests") && !n.contains("/tests/");
    files
        .iter()
        .map(|path| (name(path), path))
        .filter(|(name, _)| is_code(name))
        .map(|(name, path)| {
            let text = fs::read_to_string(path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            let used = paths(code, &name)
                .into_iter()
                .filter_map(|(p, line)| Some((target(&p, &names)?, line)));
            let shown = names.iter().filter(|n| parent(n) == name);
            let shown = shown.map(|n| (n.clone(), 1));
            let mut all = Used::new();
            for (used, line) in used.chain(shown).filter(|(used, _)| *used != name) {
                let first = all.entry(used).or_insert(line);
                *first = line.min(*first);
            }
            (name, all)
        })
        .collect()
}

/// The room, or the file that a file belongs to; nothing for a room.
fn parent(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}

/// All paths that begin with `crate::` or `super::`, as paths below src (`backend/pool/Pool`), each with its line.
fn paths(code: &str, file: &str) -> Vec<(String, usize)> {
    let without_comments = |line| match str::trim_start(line).starts_with("//") {
        true => "",
        false => line,
    };
    let code: Vec<&str> = code.lines().map(without_comments).collect();
    let code = code.join("\n");
    let starts = |word: &'static str| code.match_indices(word).map(move |(at, _)| at + word.len());
    let from = |prefix: &'static str, base| {
        let code = &code;
        starts(prefix).flat_map(move |at| {
            let line = code[..at].matches('\n').count() + 1;
            expand(&code[at..], base)
                .into_iter()
                .map(move |p| (p, line))
        })
    };
    from("crate::", "")
        .chain(from("super::", parent(file)))
        .collect()
}

/// `a::{b, c::d}` after `prefix`.
fn expand(tree: &str, prefix: &str) -> Vec<String> {
    if let Some(inside) = tree.strip_prefix('{') {
        let each = branches(inside);
        return each.iter().flat_map(|b| expand(b.trim(), prefix)).collect();
    }
    let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
    let word: String = tree.chars().take_while(is_word).collect();
    let here = match prefix {
        "" => word.clone(),
        _ => format!("{prefix}/{word}"),
    };
    match tree[word.len()..].strip_prefix("::") {
        Some(more) => expand(more, &here),
        None => vec![here],
    }
}

/// What stands between commas, up to the brace that ends it.
fn branches(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            ',' if depth == 0 => {
                found.push(&text[start..at]);
                start = at + 1;
            }
            '}' if depth == 0 => {
                found.push(&text[start..at]);
                return found;
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    found
}

/// The longest beginning of the path that is a file.
fn target(path: &str, names: &BTreeSet<File>) -> Option<File> {
    let ends = path
        .match_indices('/')
        .map(|(at, _)| at)
        .chain([path.len()]);
    ends.map(|end| &path[..end])
        .rfind(|p| names.contains(*p))
        .map(str::to_owned)
}
