//! SQL sessions in one process, on both engines: one program, so that what is generic is compiled once.

#[macro_use]
mod common;

mod anomalies;
mod appends;
mod basics;
mod changes;
mod columns;
mod databases;
mod do_blocks;
mod domains;
mod durable;
mod elements;
mod enums;
mod exclusions;
mod explain;
mod expressions;
mod extensions;
mod generated;
mod hostile;
mod isolation;
mod kept_functions;
mod library;
mod locks;
mod long_reads;
mod matviews;
mod merge;
mod messages;
mod notifications;
mod partial;
mod polymorphic;
mod random;
mod rls;
mod roles;
mod routines;
mod row_bounds;
mod row_filter;
mod schemas;
mod serial;
mod slt;
mod spill;
mod statistics;
mod temporary;
mod truncate;
mod updatable_views;
mod windows;
