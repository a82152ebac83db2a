//! Telling that something happened to whoever follows, always in the order in which they began to wait: a watch channel picks that
//! order by chance, and a simulated run could not be repeated.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// Something that happens now and then. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct News(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    happened: AtomicU64,
    followers: Notify,
}

/// Follows it from the moment it was made: nothing that happens between two [`next`](Follower::next) is missed.
#[derive(Debug)]
pub(crate) struct Follower {
    news: News,
    seen: u64,
}

impl News {
    /// It happened.
    pub(crate) fn announce(&self) {
        self.0.happened.fetch_add(1, Ordering::SeqCst);
        self.0.followers.notify_waiters();
    }

    /// Follows from now on.
    pub(crate) fn follow(&self) -> Follower {
        Follower { news: self.clone(), seen: self.0.happened.load(Ordering::SeqCst) }
    }
}

impl Follower {
    /// Returns when it happened since the last call.
    pub(crate) async fn next(&mut self) {
        loop {
            let notified = self.news.0.followers.notified();
            tokio::pin!(notified);
            // Registered before the count is read: what happens in between is not missed.
            notified.as_mut().enable();
            let happened = self.news.0.happened.load(Ordering::SeqCst);
            if happened != self.seen {
                self.seen = happened;
                return;
            }
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_happened_before_waiting_is_not_missed_and_followers_wake_in_order() {
        let news = News::default();
        let mut follower = news.follow();
        news.announce();
        follower.next().await;
        let (sender, mut woken) = tokio::sync::mpsc::unbounded_channel();
        for number in 0..5 {
            let (mut follower, sender) = (news.follow(), sender.clone());
            tokio::spawn(async move {
                follower.next().await;
                let _ = sender.send(number);
            });
        }
        tokio::task::yield_now().await;
        news.announce();
        for number in 0..5 {
            assert_eq!(woken.recv().await, Some(number));
        }
    }
}
