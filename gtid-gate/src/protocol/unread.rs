//! What the peer owes of the message that it has begun. Pure.
//!
//! In: the headers of its packets and how much of them was taken. Out: whether its next byte begins a new message.
//! Must never: say that it does while any byte of the message is still to come; it would be read as a command.

use super::wire::MAX_PAYLOAD;

#[derive(Debug, Default)]
pub struct Unread {
    /// Bytes of the packet whose header was taken.
    packet: usize,
    /// That packet is full: another one continues it.
    continued: bool,
    /// The peer was asked for a file, which ends with an empty packet.
    file: bool,
    /// A header made no sense: nobody knows where the next packet begins.
    lost: bool,
}

impl Unread {
    pub fn is_none(&self) -> bool {
        self.packet == 0 && !self.continued && !self.file && !self.lost
    }

    /// Bytes of the current packet that are still to be taken.
    pub fn of_packet(&self) -> usize {
        self.packet
    }

    pub fn header(&mut self, size: usize) {
        self.file &= size != 0 || self.continued;
        self.continued = size == MAX_PAYLOAD;
        self.packet = size;
    }

    pub fn taken(&mut self, count: usize) {
        self.packet = self.packet.saturating_sub(count);
    }

    pub fn expect_file(&mut self) {
        self.file = true;
    }

    pub fn is_file_done(&self) -> bool {
        !self.file
    }

    pub fn lose(&mut self) {
        self.lost = true;
    }

    pub fn is_lost(&self) -> bool {
        self.lost
    }
}
