//! The server around sessions that do nothing but wait: times, limits, cancel requests, its end.

mod ends;
mod garbage;
mod limits;
mod naps;
mod watch;
