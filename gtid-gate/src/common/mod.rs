//! What every room may use and what knows none of them.

pub mod classes;
pub mod consistency;
mod locks;
pub mod memory;
pub mod secret;
pub mod signals;
pub mod why;

pub use locks::lock;
