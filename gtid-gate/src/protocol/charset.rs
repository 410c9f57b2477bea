//! In which character sets the gate can read a statement.
//!
//! In: the client's character set, by its name or by a collation's number. Out: the statement's text, if its bytes mean what
//! they mean in UTF-8. Must never: read as ASCII what has letters where ASCII has quotes.

/// What the gate needs to know of character_set_client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    /// Bytes below 0x80 are ASCII: a statement without others can be read.
    Ascii,
    /// swe7 has letters where ASCII has brackets, backslash and backtick.
    Unreadable,
}

impl Encoding {
    /// By the character set's name as it may stand in SET, or by a number, which MySQL takes for a collation's.
    pub fn of(charset: &str) -> Self {
        let name = charset.trim_matches(['\'', '"']).to_ascii_lowercase();
        match name.as_str() {
            "utf8mb4" | "utf8mb3" | "utf8" => Self::Utf8,
            "swe7" => Self::Unreadable,
            number if number.starts_with(|c: char| !c.is_ascii_alphabetic()) => number
                .parse()
                .map_or(Self::Unreadable, |id: u16| Self::of_collation(id)),
            _ => Self::Ascii,
        }
    }

    /// By a collation's number, as the handshake names it.
    pub fn of_collation(collation: impl Into<u16>) -> Self {
        match collation.into() {
            33 | 45 | 46 | 76 | 83 | 192..=215 | 223..=247 | 255..=323 => Self::Utf8,
            10 | 82 => Self::Unreadable,
            _ => Self::Ascii,
        }
    }

    /// Whether the collation is of ucs2, utf16, utf16le or utf32, in which no client may send statements.
    pub fn is_refused(collation: u16) -> bool {
        matches!(collation, 35 | 54..=56 | 60..=62 | 90 | 101..=124 | 128..=151 | 159..=183)
    }

    /// Whether such names mean the same in UTF-8.
    pub fn agrees_on(self, name: &[u8]) -> bool {
        match self {
            Self::Utf8 => true,
            Self::Ascii => name.is_ascii(),
            Self::Unreadable => name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_'),
        }
    }

    pub fn text(self, sql: &[u8]) -> Option<&str> {
        let readable = match self {
            Self::Utf8 => true,
            Self::Ascii => sql.is_ascii(),
            Self::Unreadable => false,
        };
        std::str::from_utf8(sql).ok().filter(|_| readable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_set_is_known_by_name_and_by_number() {
        for (charset, expected) in [
            ("'UTF8MB4'", Encoding::Utf8),
            ("utf8mb3", Encoding::Utf8),
            ("45", Encoding::Utf8),
            ("gbk", Encoding::Ascii),
            ("8", Encoding::Ascii),
            ("'swe7'", Encoding::Unreadable),
            ("10", Encoding::Unreadable),
            ("300", Encoding::Utf8),
        ] {
            assert_eq!(Encoding::of(charset), expected, "{charset}");
        }
    }
}
