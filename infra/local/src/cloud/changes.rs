//! Waiting for something to happen, instead of asking again and again.

use super::Shared;
use crate::news::Follower;

/// Follows what happens in a cloud. Nothing that happens between two [`next`](Changes::next) is missed.
#[derive(Debug)]
pub(crate) struct Changes {
    news: Follower,
    moves: Follower,
}

impl Changes {
    /// Follows from now on.
    pub(crate) fn new(shared: &Shared) -> Changes {
        Changes { news: shared.news.follow(), moves: shared.clock.moves() }
    }

    /// Returns when something happened since the last call: a message, a schedule or a stream record was written, something
    /// became due, the clock was moved, the faults changed.
    pub(crate) async fn next(&mut self, shared: &Shared) {
        let due = shared.next_due();
        let becomes_due = async {
            match due {
                Some(at) => shared.clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.news.next() => {}
            () = self.moves.next() => {}
            () = becomes_due => {}
        }
        shared.settle();
    }
}
