//! The workloads on the reference engine.

mod common;
mod driver;
mod smallbank;
mod tpcc;
mod ycsb;
