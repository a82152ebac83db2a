//! What AWS does between its services, over SDK clients: requests, stream records, messages and schedules become events of the
//! functions (DESIGN §9).

pub mod bridge;
pub mod gateway;
pub mod queues;
pub mod schedules;
pub mod stream;

use std::time::Duration;

use crate::cloud::Changes;

/// Tells a driver when to look again.
pub trait Signal: Send + 'static {
    /// Returns when there may be something new since the last call.
    fn next(&mut self) -> impl Future<Output = ()> + Send;
}

impl Signal for Changes {
    fn next(&mut self) -> impl Future<Output = ()> + Send {
        Changes::next(self)
    }
}

/// Looks again after so long: of a cloud that does not say when something happens in it.
#[derive(Clone, Copy, Debug)]
pub struct Every(pub Duration);

impl Signal for Every {
    fn next(&mut self) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(self.0)
    }
}
