//! What decides where strings, names and comments end: of sql_mode, and which version reads the text.
//!
//! In: what the servers reported, or nothing. Must never: be guessed.

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// A text must read the same in every mode, or be an error.
    #[default]
    Unknown,
    Known {
        ansi_quotes: bool,
        no_backslash_escapes: bool,
        /// Of all servers, as executable comments have it (90704 is 9.7.4); 0 if it is not known or differs.
        version: u32,
    },
}

impl Mode {
    pub const fn unknown() -> Self {
        Self::Unknown
    }

    pub const fn known(ansi_quotes: bool, no_backslash_escapes: bool) -> Self {
        Self::Known {
            ansi_quotes,
            no_backslash_escapes,
            version: 0,
        }
    }

    /// Read by servers of this version.
    pub fn of_version(self, read_by: u32) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Known {
                ansi_quotes,
                no_backslash_escapes,
                ..
            } => Self::Known {
                ansi_quotes,
                no_backslash_escapes,
                version: read_by,
            },
        }
    }

    /// Whether servers with it read texts in other ways than they do by default.
    pub fn reads_differently(self) -> bool {
        match self {
            Self::Unknown => false,
            Self::Known {
                ansi_quotes,
                no_backslash_escapes,
                ..
            } => ansi_quotes || no_backslash_escapes,
        }
    }

    /// `value`: of the variable sql_mode, as a server reports it.
    pub fn reported(value: &str) -> Self {
        let has = |name: &str| value.split(',').any(|m| m.eq_ignore_ascii_case(name));
        Self::known(has("ANSI_QUOTES"), has("NO_BACKSLASH_ESCAPES"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reported_mode_is_known() {
        assert_eq!(Mode::reported(""), Mode::known(false, false));
        let ansi = "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI";
        assert_eq!(Mode::reported(ansi), Mode::known(true, false));
        let both = "ansi_quotes,NO_BACKSLASH_ESCAPES";
        assert_eq!(Mode::reported(both), Mode::known(true, true));
    }
}
