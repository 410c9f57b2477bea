//! MySQL's LIKE, as SHOW has it: `%`, `_`, a backslash before either; letters in any case.
//!
//! Must never: take longer than the square of the text, however long the pattern is.

pub struct Pattern {
    /// No two `Some` side by side.
    parts: Vec<Part>,
    /// No shorter text matches.
    least: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// In lower case.
    Letter(char),
    Any,
    Some,
}

impl Pattern {
    pub fn new(text: &str) -> Self {
        let mut letters = text.to_lowercase().chars().collect::<Vec<_>>().into_iter();
        let mut parts = Vec::new();
        while let Some(letter) = letters.next() {
            parts.push(match letter {
                '%' if parts.last() == Some(&Part::Some) => continue,
                '%' => Part::Some,
                '_' => Part::Any,
                '\\' => Part::Letter(letters.next().unwrap_or('\\')),
                letter => Part::Letter(letter),
            });
        }
        let least = parts.iter().filter(|part| **part != Part::Some).count();
        Self { parts, least }
    }

    /// Which beginnings of the pattern match the text so far, letter after letter.
    pub fn matches(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        if self.least > text.chars().count() {
            return false;
        }
        let mut reached = vec![false; self.parts.len() + 1];
        reached[0] = true;
        self.skip_some(&mut reached);
        for letter in text.chars() {
            let mut next = vec![false; reached.len()];
            for (at, part) in self.parts.iter().enumerate().filter(|(at, _)| reached[*at]) {
                match part {
                    Part::Some => next[at] = true,
                    Part::Any => next[at + 1] = true,
                    Part::Letter(wanted) => next[at + 1] |= *wanted == letter,
                }
            }
            self.skip_some(&mut next);
            reached = next;
        }
        reached[self.parts.len()]
    }

    /// `%` also matches nothing.
    fn skip_some(&self, reached: &mut [bool]) {
        for (at, part) in self.parts.iter().enumerate() {
            reached[at + 1] |= reached[at] && *part == Part::Some;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wildcards_match_as_in_mysql() {
        for (pattern, text, expected) in [
            ("multimed_reads%", "Multimed_reads_total", true),
            ("%READS%", "Multimed_reads_total", true),
            ("Multimed\\_waits", "Multimed_waits", true),
            ("Multimed\\_waits", "MultimedXwaits", false),
            ("_aits", "waits", true),
            ("_aits", "aits", false),
            ("%", "", true),
            ("", "", true),
            ("", "a", false),
            ("a%b%c", "aXbYbZc", true),
            ("a%b%c", "aXcYb", false),
            ("100\\%", "100%", true),
            ("%%a%%", "bab", true),
            ("%_%_%", "a", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(text), expected, "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn a_text_matches_itself_and_any_beginning_of_it(text in "[a-zA-Z0-9]{0,20}", cut in 0usize..20) {
            prop_assert!(Pattern::new(&text).matches(&text));
            let cut = cut.min(text.len());
            let beginning = format!("{}%", &text[..cut]);
            prop_assert!(Pattern::new(&beginning).matches(&text));
        }
    }
}
