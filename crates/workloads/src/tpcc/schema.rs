//! The nine tables (clause 1.3), and what each transaction reads and writes of them.
//!
//! *Types.* Amounts are exact, in cents: `numeric(12,2)` is an `Int8`, `numeric(6,2)` and `numeric(5,2)` an
//! `Int4`. Taxes and discounts are in 1/10000. Short text is `Fixed`, padded with zero bytes, so that rows
//! have no variable part and are updated in place. Numbers below 256 that stand in keys take one byte
//! (`Fixed(1)`): the key of an order line is 8 bytes.
//!
//! *Conflict groups.* Payment and New-Order touch the same warehouse, district and customer, but not the
//! same columns; what the two write lies in groups of its own:
//!
//! | table | group 0 | group 1 | group 2 |
//! |---|---|---|---|
//! | warehouse | name, address, tax (never written) | `w_ytd` (Payment) | |
//! | district | name, address, tax (never written) | `d_ytd` (Payment) | `d_next_o_id` (New-Order) |
//! | customer | who it is (never written) | balances, counts, `c_data` (Payment, Delivery) | |

use super::scale::Scale;
pub use crate::table::WorkloadTable as TpccTable;
use scaledb_base::Result;
use scaledb_engine::{Access, Engine, IndexDef, TableDef};
use scaledb_row::ColumnType::{Fixed, Int2, Int4, Int8, Timestamp};
use scaledb_row::{Column, KeyPart, Schema};

/// How each table and index is kept.
///
/// All that is read by key has a hash index. `order_line` and `new_order` are scanned only. `orders` is
/// probed by Delivery alone (0.4 times per transaction of the mix). `history` has no key and is never
/// read by a transaction: the engine numbers its rows, so its entries arrive in order and merge at the
/// tail of the tree; a hash index would be dead weight, and without a tree the checks could not scan it.
pub mod access {
    use super::Access;
    /// `warehouse`.
    pub const WAREHOUSE: Access = Access::Hashed;
    /// `district`.
    pub const DISTRICT: Access = Access::Hashed;
    /// `customer`.
    pub const CUSTOMER: Access = Access::Hashed;
    /// `customer_by_name`.
    pub const CUSTOMER_BY_NAME: Access = Access::Ordered;
    /// `history`.
    pub const HISTORY: Access = Access::Ordered;
    /// `new_order`.
    pub const NEW_ORDER: Access = Access::Ordered;
    /// `orders`.
    pub const ORDERS: Access = Access::Hashed;
    /// `orders_by_customer`.
    pub const ORDERS_BY_CUSTOMER: Access = Access::Ordered;
    /// `order_line`.
    pub const ORDER_LINE: Access = Access::Ordered;
    /// `item`.
    pub const ITEM: Access = Access::Hashed;
    /// `stock`.
    pub const STOCK: Access = Access::Hashed;
}

/// The columns of a table: a constant with the number of each, and their definitions.
macro_rules! columns {
    ($($name:ident: $type:expr $(=> group $group:literal)? $(, $nullable:ident)?;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Number { $($name),* }
        $(
            #[doc = concat!("The number of column `", stringify!($name), "`.")]
            pub const $name: usize = Number::$name as usize;
        )*
        pub(super) fn columns() -> Vec<Column> {
            vec![$(Column::new(&stringify!($name).to_lowercase(), $type)$(.group($group))?$(.$nullable())?),*]
        }
    };
}

/// Columns of `warehouse`.
pub mod warehouse {
    use super::*;
    columns! {
        W_ID: Int2;
        W_TAX: Int4;
        W_NAME: Fixed(10);
        W_STREET_1: Fixed(20);
        W_STREET_2: Fixed(20);
        W_CITY: Fixed(20);
        W_STATE: Fixed(2);
        W_ZIP: Fixed(9);
        W_YTD: Int8 => group 1;
    }
}

/// Columns of `district`.
pub mod district {
    use super::*;
    columns! {
        D_W_ID: Int2;
        D_ID: Fixed(1);
        D_TAX: Int4;
        D_NAME: Fixed(10);
        D_STREET_1: Fixed(20);
        D_STREET_2: Fixed(20);
        D_CITY: Fixed(20);
        D_STATE: Fixed(2);
        D_ZIP: Fixed(9);
        D_YTD: Int8 => group 1;
        D_NEXT_O_ID: Int4 => group 2;
    }
}

/// Columns of `customer`. What New-Order reads comes first.
pub mod customer {
    use super::*;
    columns! {
        C_LAST: Fixed(16);
        C_DISCOUNT: Int4;
        C_CREDIT: Fixed(2);
        C_FIRST: Fixed(16);
        C_SINCE: Timestamp;
        C_CREDIT_LIM: Int8;
        C_PHONE: Fixed(16);
        C_STREET_1: Fixed(20);
        C_STREET_2: Fixed(20);
        C_CITY: Fixed(20);
        C_STATE: Fixed(2);
        C_ZIP: Fixed(9);
        C_MIDDLE: Fixed(2);
        C_ID: Int2;
        C_W_ID: Int2;
        C_D_ID: Fixed(1);
        C_BALANCE: Int8 => group 1;
        C_YTD_PAYMENT: Int8 => group 1;
        C_PAYMENT_CNT: Int4 => group 1;
        C_DELIVERY_CNT: Int4 => group 1;
        C_DATA: Fixed(500) => group 1;
    }
}

/// Columns of `history`.
pub mod history {
    use super::*;
    columns! {
        H_C_ID: Int2;
        H_C_D_ID: Fixed(1);
        H_C_W_ID: Int2;
        H_D_ID: Fixed(1);
        H_W_ID: Int2;
        H_DATE: Timestamp;
        H_AMOUNT: Int4;
        H_DATA: Fixed(24);
    }
}

/// Columns of `new_order`.
pub mod new_order {
    use super::*;
    columns! {
        NO_O_ID: Int4;
        NO_W_ID: Int2;
        NO_D_ID: Fixed(1);
    }
}

/// Columns of `orders`.
pub mod orders {
    use super::*;
    columns! {
        O_ID: Int4;
        O_D_ID: Fixed(1);
        O_W_ID: Int2;
        O_C_ID: Int2;
        O_ENTRY_D: Timestamp;
        O_CARRIER_ID: Int2, nullable;
        O_OL_CNT: Int2;
        O_ALL_LOCAL: Int2;
    }
}

/// Columns of `order_line`.
pub mod order_line {
    use super::*;
    columns! {
        OL_DELIVERY_D: Timestamp, nullable;
        OL_DIST_INFO: Fixed(24);
        OL_I_ID: Int4;
        OL_AMOUNT: Int4;
        OL_O_ID: Int4;
        OL_SUPPLY_W_ID: Int2;
        OL_QUANTITY: Int2;
        OL_W_ID: Int2;
        OL_D_ID: Fixed(1);
        OL_NUMBER: Fixed(1);
    }
}

/// Columns of `item`.
pub mod item {
    use super::*;
    columns! {
        I_NAME: Fixed(24);
        I_PRICE: Int4;
        I_IM_ID: Int4;
        I_ID: Int4;
        I_DATA: Fixed(50);
    }
}

/// Columns of `stock`. The four that New-Order writes are 8 bytes wide so that the layout puts them at
/// the head of the row, beside the record's header.
pub mod stock {
    use super::*;
    columns! {
        S_QUANTITY: Int8;
        S_YTD: Int8;
        S_ORDER_CNT: Int8;
        S_REMOTE_CNT: Int8;
        S_DIST_01: Fixed(24);
        S_DIST_02: Fixed(24);
        S_DIST_03: Fixed(24);
        S_DIST_04: Fixed(24);
        S_DIST_05: Fixed(24);
        S_DIST_06: Fixed(24);
        S_DIST_07: Fixed(24);
        S_DIST_08: Fixed(24);
        S_DIST_09: Fixed(24);
        S_DIST_10: Fixed(24);
        S_DATA: Fixed(50);
        S_I_ID: Int4;
        S_W_ID: Int2;
    }
}

/// All tables and indexes, and what is known about their sizes.
#[derive(Clone, Debug)]
pub struct Tables {
    /// How large the database is.
    pub scale: Scale,
    /// `warehouse`.
    pub warehouse: TpccTable,
    /// `district`.
    pub district: TpccTable,
    /// `customer`.
    pub customer: TpccTable,
    /// The index of customers on (w, d, last, first).
    pub customer_by_name: TpccTable,
    /// `history`.
    pub history: TpccTable,
    /// `new_order`.
    pub new_order: TpccTable,
    /// `orders`.
    pub orders: TpccTable,
    /// The index of orders on (w, d, c), which the primary key continues with the order's number.
    pub orders_by_customer: TpccTable,
    /// `order_line`.
    pub order_line: TpccTable,
    /// `item`.
    pub item: TpccTable,
    /// `stock`.
    pub stock: TpccTable,
}

impl Tables {
    /// Creates the tables, or takes those that are there: of a database that was opened again. With `synchronous`,
    /// commits update all range indexes themselves.
    ///
    /// # Errors
    /// Those of [`Engine::create_table`].
    pub fn create<E: Engine>(engine: &E, scale: Scale, synchronous: bool) -> Result<Self> {
        let table = |name: &str,
                     columns: Vec<Column>,
                     key: &[usize],
                     access: Access,
                     index: Option<IndexDef>|
         -> Result<TpccTable> {
            if let Some(info) = engine.table(name) {
                return Ok(TpccTable { id: info.id, info });
            }
            let key: Vec<_> = key.iter().map(|&column| KeyPart::asc(column)).collect();
            let mut def = TableDef::new(name, Schema::new(columns, &key)?)
                .options(crate::table_options(access, synchronous));
            def.indexes.extend(index);
            let info = engine.create_table(def)?;
            Ok(TpccTable { id: info.id, info })
        };
        let index = |name: &str, key: &[usize], access: Access| {
            let key = key.iter().map(|&column| KeyPart::asc(column)).collect();
            Some(IndexDef { options: crate::table_options(access, synchronous), ..IndexDef::new(name, key) })
        };
        let index_of =
            |table: &TpccTable| TpccTable { id: table.info.indexes[0].id, info: table.info.clone() };
        let customer = {
            use customer::*;
            let by_name =
                index("customer_by_name", &[C_W_ID, C_D_ID, C_LAST, C_FIRST], access::CUSTOMER_BY_NAME);
            table("customer", columns(), &[C_W_ID, C_D_ID, C_ID], access::CUSTOMER, by_name)?
        };
        let orders = {
            use orders::*;
            let by_customer =
                index("orders_by_customer", &[O_W_ID, O_D_ID, O_C_ID], access::ORDERS_BY_CUSTOMER);
            table("orders", columns(), &[O_W_ID, O_D_ID, O_ID], access::ORDERS, by_customer)?
        };
        Ok(Self {
            scale,
            warehouse: {
                use warehouse::*;
                table("warehouse", columns(), &[W_ID], access::WAREHOUSE, None)?
            },
            district: {
                use district::*;
                table("district", columns(), &[D_W_ID, D_ID], access::DISTRICT, None)?
            },
            customer_by_name: index_of(&customer),
            customer,
            history: table("history", history::columns(), &[], access::HISTORY, None)?,
            new_order: {
                use new_order::*;
                table("new_order", columns(), &[NO_W_ID, NO_D_ID, NO_O_ID], access::NEW_ORDER, None)?
            },
            orders_by_customer: index_of(&orders),
            orders,
            order_line: {
                use order_line::*;
                let key = [OL_W_ID, OL_D_ID, OL_O_ID, OL_NUMBER];
                table("order_line", columns(), &key, access::ORDER_LINE, None)?
            },
            item: table("item", item::columns(), &[item::I_ID], access::ITEM, None)?,
            stock: {
                use stock::*;
                table("stock", columns(), &[S_W_ID, S_I_ID], access::STOCK, None)?
            },
        })
    }
}
