//! x
mod topology;
