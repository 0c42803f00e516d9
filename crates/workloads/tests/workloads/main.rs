//! The workloads on the reference engine.

#![allow(clippy::inconsistent_digit_grouping, reason = "amounts are in cents: 10_00 is 10.00")]

mod booking;
mod common;
mod driver;
mod smallbank;
mod tpcc;
mod ycsb;
