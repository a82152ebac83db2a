//! Wake-ups, the fallback scan and time: cases of real shops (CASES.md) at the HTTP surface.

mod deadlines;
mod local_routes;
mod never;
mod precision;
mod scanning;
mod scanning_on;
mod schedules;
mod wakes;
