//! Why a statement is more than a plain read: every reason, as a set.

/// The lower the bit, the stronger the reason.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Reasons(u16);

impl Reasons {
    pub const NONE: Self = Self(0);
    /// Sets a user variable.
    pub const ASSIGNS: Self = Self(1);
    /// GET_LOCK: the session keeps a lock.
    pub const KEEPS_LOCK: Self = Self(1 << 1);
    /// FOR UPDATE and its kin.
    pub const LOCKING: Self = Self(1 << 2);
    pub const INTO: Self = Self(1 << 3);
    pub const DATA_CHANGE: Self = Self(1 << 4);
    /// Calls what may be a stored function.
    pub const FUNCTION: Self = Self(1 << 5);
    pub const SERVER_TABLE: Self = Self(1 << 6);
    pub const SYSTEM_VARIABLE: Self = Self(1 << 7);
    pub const USER_VARIABLE: Self = Self(1 << 8);
    /// Calls a function of MySQL that is about the session or the server.
    pub const SESSION_FUNCTION: Self = Self(1 << 9);
    /// Asks about the statement before.
    pub const ABOUT_LAST: Self = Self(1 << 10);
    pub const OTHER: Self = Self(1 << 11);
    /// Of a statement that nobody has read.
    pub const ALL: Self = Self((1 << 12) - 1);

    pub fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    pub fn add(&mut self, more: Self) {
        self.0 |= more.0;
    }

    /// The lower, the stronger.
    pub fn rank(self) -> u32 {
        self.0.trailing_zeros()
    }
}
