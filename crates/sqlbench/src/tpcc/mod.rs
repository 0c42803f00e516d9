//! TPC-C, revision 5.11, in SQL: the specification's schema, five transactions of prepared statements, twelve
//! consistency conditions as queries. Inputs, loader's cardinalities and report are those of `scaledb-workloads`.

mod conditions;
mod delivery;
mod load;
mod new_order;
mod order_status;
mod payment;
mod schema;
mod statements;
mod stock_level;
mod terminal;

pub use conditions::check;
pub use load::{create, create_in_cluster, load};
pub use terminal::{CLASSES, Terminal};
