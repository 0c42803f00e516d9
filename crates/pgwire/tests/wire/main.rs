//! The protocol as clients see it, over a backend whose language is a few words.

mod auth;
mod backend;
mod copy;
mod drivers;
mod extended;
mod garbage;
mod raw;
mod simple;
mod startup;
