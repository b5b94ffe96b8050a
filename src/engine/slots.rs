//! How many turns run at once, and who is next.
//!
//! The order is a pure queue: turns that return from a wait come before turns that begin, each kind in its own order.
//! A wish ends when it is dropped, a slot is free again when its permit is dropped: neither can be forgotten.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{oneshot, watch};

use crate::session::Priority;

/// The slots of one daemon; cheap to clone.
#[derive(Clone)]
pub(super) struct Slots {
    inner: Arc<Mutex<Inner>>,
    held: Arc<watch::Sender<usize>>,
}

struct Inner {
    queue: Queue,
    waiting: Vec<(u64, oneshot::Sender<Permit>)>,
}

/// The right to work; giving it back is dropping it.
pub(super) struct Permit {
    slots: Slots,
}

/// A place in the queue.
pub(super) struct Wish {
    ticket: u64,
    slots: Slots,
    granted: oneshot::Receiver<Permit>,
}

impl Slots {
    pub(super) fn new(capacity: usize) -> Self {
        let inner = Inner { queue: Queue::new(capacity), waiting: Vec::new() };
        Self { inner: Arc::new(Mutex::new(inner)), held: Arc::new(watch::Sender::new(0)) }
    }

    /// Joins the queue.
    pub(super) fn wish(&self, priority: Priority) -> Wish {
        let (grant, granted) = oneshot::channel();
        let mut inner = self.lock();
        let ticket = inner.queue.join(priority);
        inner.waiting.push((ticket, grant));
        self.grant(inner);
        Wish { ticket, slots: self.clone(), granted }
    }

    /// Changes how many turns may run; those that run go on.
    pub(super) fn resize(&self, capacity: usize) {
        let mut inner = self.lock();
        inner.queue.capacity = capacity;
        self.grant(inner);
    }

    /// No turn begins any more; turns that return still do.
    pub(super) fn drain(&self) {
        self.lock().queue.draining = true;
    }

    pub(super) fn is_draining(&self) -> bool {
        self.lock().queue.draining
    }

    /// How many slots are held, and every change of it.
    pub(super) fn held(&self) -> watch::Receiver<usize> {
        self.held.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn grant(&self, mut inner: MutexGuard<'_, Inner>) {
        let mut granted = Vec::new();
        while let Some(ticket) = inner.queue.next() {
            if let Some(at) = inner.waiting.iter().position(|(waiting, _)| *waiting == ticket) {
                granted.push(inner.waiting.swap_remove(at).1);
            }
        }
        self.held.send_replace(inner.queue.held);
        // A permit that nobody takes is dropped, which takes the lock again.
        drop(inner);
        for grant in granted {
            // The wish may be gone already; the permit then frees the slot.
            grant.send(Permit { slots: self.clone() }).ok();
        }
    }
}

impl Wish {
    /// Waits for the slot. Pends for ever once it was granted.
    pub(super) async fn granted(&mut self) -> Permit {
        match (&mut self.granted).await {
            Ok(permit) => permit,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Wish {
    fn drop(&mut self) {
        let mut inner = self.slots.lock();
        inner.queue.leave(self.ticket);
        inner.waiting.retain(|(ticket, _)| *ticket != self.ticket);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut inner = self.slots.lock();
        inner.queue.held = inner.queue.held.saturating_sub(1);
        self.slots.grant(inner);
    }
}

/// Who waits and who is next. Values in, values out.
#[derive(Debug)]
struct Queue {
    capacity: usize,
    held: usize,
    draining: bool,
    last_ticket: u64,
    returning: VecDeque<u64>,
    beginning: VecDeque<u64>,
}

impl Queue {
    fn new(capacity: usize) -> Self {
        let (returning, beginning) = (VecDeque::new(), VecDeque::new());
        Self { capacity, held: 0, draining: false, last_ticket: 0, returning, beginning }
    }

    fn join(&mut self, priority: Priority) -> u64 {
        self.last_ticket += 1;
        match priority {
            Priority::Returning => self.returning.push_back(self.last_ticket),
            Priority::Beginning => self.beginning.push_back(self.last_ticket),
        }
        self.last_ticket
    }

    fn leave(&mut self, ticket: u64) {
        self.returning.retain(|waiting| *waiting != ticket);
        self.beginning.retain(|waiting| *waiting != ticket);
    }

    /// Takes a slot for the next in line, if there is one for it.
    fn next(&mut self) -> Option<u64> {
        if self.held >= self.capacity {
            return None;
        }
        let next = self.returning.pop_front();
        let next = next.or_else(|| if self.draining { None } else { self.beginning.pop_front() })?;
        self.held += 1;
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use futures_util::poll;

    use super::*;

    #[test]
    fn turns_that_return_come_first_and_each_kind_keeps_its_order() {
        let mut queue = Queue::new(1);
        let (a, b) = (queue.join(Priority::Beginning), queue.join(Priority::Beginning));
        let (c, d) = (queue.join(Priority::Returning), queue.join(Priority::Returning));
        let mut order = Vec::new();
        while let Some(next) = queue.next() {
            order.push(next);
            queue.held -= 1;
        }
        assert_eq!(order, [c, d, a, b]);
    }

    #[test]
    fn a_full_house_grants_nothing_and_a_withdrawn_wish_is_skipped() {
        let mut queue = Queue::new(1);
        let (a, b, c) =
            (queue.join(Priority::Beginning), queue.join(Priority::Beginning), queue.join(Priority::Beginning));
        assert_eq!(queue.next(), Some(a));
        assert_eq!(queue.next(), None);
        queue.leave(b);
        queue.held -= 1;
        assert_eq!(queue.next(), Some(c));
    }

    #[test]
    fn a_drain_lets_only_those_that_return_go_on() {
        let mut queue = Queue::new(2);
        queue.draining = true;
        queue.join(Priority::Beginning);
        let back = queue.join(Priority::Returning);
        assert_eq!((queue.next(), queue.next()), (Some(back), None));
    }

    #[tokio::test]
    async fn a_dropped_permit_goes_to_the_next_wish() {
        let slots = Slots::new(1);
        let first = slots.wish(Priority::Beginning).granted().await;
        let mut second = slots.wish(Priority::Beginning);
        let mut third = slots.wish(Priority::Beginning);
        assert!(matches!(poll!(Box::pin(second.granted())), Poll::Pending));
        drop(second);
        drop(first);
        let _held = third.granted().await;
        assert_eq!(*slots.held().borrow(), 1);
    }

    #[tokio::test]
    async fn a_permit_granted_to_a_wish_that_goes_away_is_not_lost() {
        let slots = Slots::new(1);
        let first = slots.wish(Priority::Beginning).granted().await;
        let second = slots.wish(Priority::Beginning);
        drop(first);
        drop(second);
        assert_eq!(*slots.held().borrow(), 0);
    }
}
