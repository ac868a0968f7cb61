//! The links of a worker to others.

use std::io;
use std::path::Path;
use std::rc::Rc;

use super::Worker;
use elah_links::{Bounds, Links, Port};

impl Worker {
    /// Listens for calls of other workers on `path`, and on a port if there is one; returns the key of the links.
    pub fn open_links(&self, path: &Path, bounds: Bounds, port: Option<Port>) -> io::Result<usize> {
        let _runtime = self.runtime.enter();
        let (links, work) = Links::open(path, bounds, port, self.shared.local_waker.clone())?;
        self.tasks.spawn_local(work);
        let mut all = self.links.borrow_mut();
        all.push(Some(Rc::new(links)));
        Ok(all.len() - 1)
    }

    /// Links that are open.
    pub fn links(&self, key: usize) -> Option<Rc<Links>> {
        self.links.borrow().get(key)?.as_ref().map(Rc::clone)
    }

    pub fn close_links(&self, key: usize) {
        let links = self.links.borrow_mut().get_mut(key).and_then(Option::take);
        drop(links);
    }
}
