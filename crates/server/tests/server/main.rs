//! The server around sessions that do nothing but wait: times, limits, cancel requests, its end; and around a database.

mod database;
mod databases;
mod ends;
mod garbage;
mod limits;
mod naps;
mod roles;
mod watch;
