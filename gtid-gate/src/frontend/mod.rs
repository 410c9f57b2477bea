//! Where clients come in.

pub mod accept;
pub mod handover;
pub mod listen;
