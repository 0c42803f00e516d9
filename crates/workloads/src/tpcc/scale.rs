//! How large the database is.

use serde::{Deserialize, Serialize};

/// Districts of a warehouse (clause 4.3.3.1).
pub const DISTRICTS: u8 = 10;
/// The most lines of an order.
pub const MAX_LINES: usize = 15;

/// Cardinalities. [`Scale::full`] is the specification's; tests scale items and customers down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scale {
    /// Warehouses; all tables but `item` grow with them.
    pub warehouses: u16,
    /// Rows of `item`, and of `stock` per warehouse: 100,000.
    pub items: u32,
    /// Customers of a district, and orders that it begins with: 3,000.
    pub customers: u16,
}

impl Scale {
    /// As specified.
    pub fn full(warehouses: u16) -> Self {
        Self { warehouses, items: 100_000, customers: 3_000 }
    }

    /// Small enough for tests.
    pub fn tiny(warehouses: u16) -> Self {
        Self { warehouses, items: 200, customers: 40 }
    }

    /// Orders of a district that are delivered when the run begins: 2,100. The others are in `new_order`.
    pub fn delivered(self) -> i32 {
        i32::from(self.customers) * 7 / 10
    }

    /// Last names in use: those of the first 1,000 customers of a district.
    pub fn last_names(self) -> u32 {
        u32::from(self.customers).min(1_000)
    }

    /// The numbers of all warehouses.
    pub fn warehouse_ids(self) -> impl Iterator<Item = i16> {
        1..=self.warehouses as i16
    }
}
