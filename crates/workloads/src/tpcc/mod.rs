//! TPC-C, revision 5.11: nine tables, five transactions, twelve consistency conditions.

pub mod by_name;
pub mod consistency;
pub mod delivery;
pub mod input;
pub mod keys;
pub mod load;
pub mod mix;
pub mod new_order;
pub mod order_status;
pub mod payment;
pub mod random;
pub mod scale;
pub mod schema;
pub mod stock_level;

pub use consistency::{Condition, check};
pub use input::{Input, Inputs};
pub use load::load;
pub use mix::{Class, Mix, Terminal, Tpcc};
pub use scale::Scale;
pub use schema::Tables;
