//! The session's connections to satellites: one each, few, looked through in order.

#![expect(
    clippy::vec_box,
    reason = "they leave and come back with every statement: a pointer moves, not half a KiB"
)]

use crate::backend::Backend;

#[derive(Default)]
pub struct Held {
    backends: Vec<Box<Backend>>,
}

impl Held {
    fn place(&self, id: usize) -> Option<usize> {
        self.backends.iter().position(|b| b.server.id == id)
    }

    pub fn get(&self, id: usize) -> Option<&Backend> {
        self.place(id).map(|at| &*self.backends[at])
    }

    /// The one to this satellite, to be put back if it stays.
    pub fn take(&mut self, id: usize) -> Option<Box<Backend>> {
        self.place(id).map(|at| self.backends.swap_remove(at))
    }

    /// One that was taken, or the first to its satellite.
    pub fn put(&mut self, backend: Box<Backend>) {
        debug_assert!(self.place(backend.server.id).is_none());
        self.backends.push(backend);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Backend> {
        self.backends.iter().map(|b| &**b)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Backend> {
        self.backends.iter_mut().map(|b| &mut **b)
    }

    /// Takes all of which this holds.
    pub fn take_if(&mut self, leaves: impl Fn(&Backend) -> bool) -> Vec<Box<Backend>> {
        self.backends.extract_if(.., |b| leaves(b)).collect()
    }

    pub fn take_all(&mut self) -> Vec<Box<Backend>> {
        std::mem::take(&mut self.backends)
    }
}
