//! What AWS does between its services, over SDK clients: requests, stream records, messages and schedules become events of the
//! functions (DESIGN §9).

pub mod gateway;
pub mod queues;
pub mod schedules;
pub mod stream;
