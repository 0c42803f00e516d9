//! The prepared statements of the transactions, by name.

/// Names for places in the list of prepared statements.
macro_rules! statements {
    ($($name:ident = $sql:expr;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum StatementNumber { $($name),* }
        $(pub(super) const $name: usize = StatementNumber::$name as usize;)*
        /// All of them, in the order of their names' numbers.
        pub(super) const STATEMENTS: &[&str] = &[$($sql),*];
    };
}

/// The update of a stock's row, which returns the information on one district.
macro_rules! take_stock {
    ($district:literal) => {
        concat!(
            "UPDATE stock SET s_quantity = CASE WHEN s_quantity >= $3 + 10 THEN s_quantity - $3 \
             ELSE s_quantity - $3 + 91 END, s_ytd = s_ytd + $4, s_order_cnt = s_order_cnt + 1, \
             s_remote_cnt = s_remote_cnt + $5 WHERE s_w_id = $1 AND s_i_id = $2 \
             RETURNING s_quantity, s_data, s_dist_",
            $district
        )
    };
}

statements! {
    BEGIN = "BEGIN ISOLATION LEVEL SERIALIZABLE";
    BEGIN_READ_ONLY = "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY";
    COMMIT = "COMMIT";
    ROLLBACK = "ROLLBACK";

    WAREHOUSE_TAX = "SELECT w_tax FROM warehouse WHERE w_id = $1";
    TAKE_ORDER_NUMBER = "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2 \
        RETURNING d_next_o_id - 1, d_tax";
    CUSTOMER_DISCOUNT = "SELECT c_discount, c_last, c_credit FROM customer \
        WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
    INSERT_ORDER = "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, \
        o_all_local) VALUES ($1, $2, $3, $4, $5, NULL, $6, $7)";
    INSERT_NEW_ORDER = "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($1, $2, $3)";
    ITEM = "SELECT i_price, i_name, i_data FROM item WHERE i_id = $1";
    TAKE_STOCK_01 = take_stock!("01");
    TAKE_STOCK_02 = take_stock!("02");
    TAKE_STOCK_03 = take_stock!("03");
    TAKE_STOCK_04 = take_stock!("04");
    TAKE_STOCK_05 = take_stock!("05");
    TAKE_STOCK_06 = take_stock!("06");
    TAKE_STOCK_07 = take_stock!("07");
    TAKE_STOCK_08 = take_stock!("08");
    TAKE_STOCK_09 = take_stock!("09");
    TAKE_STOCK_10 = take_stock!("10");
    INSERT_LINE = "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, \
        ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9)";

    PAY_WAREHOUSE = "UPDATE warehouse SET w_ytd = w_ytd + $2 WHERE w_id = $1 \
        RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip";
    PAY_DISTRICT = "UPDATE district SET d_ytd = d_ytd + $3 WHERE d_w_id = $1 AND d_id = $2 \
        RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip";
    CUSTOMERS_BY_NAME = "SELECT c_id, c_credit FROM customer \
        WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first";
    PAY_CUSTOMER = "UPDATE customer SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4, \
        c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 \
        RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, \
        c_credit, c_credit_lim, c_discount, c_balance";
    NOTE_BAD_CREDIT = "UPDATE customer SET c_data = left($4::text || c_data, 500) \
        WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 RETURNING left(c_data, 200)";
    INSERT_HISTORY = "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

    CUSTOMER_BALANCE = "SELECT c_balance, c_first, c_middle, c_last FROM customer \
        WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";
    LATEST_ORDER = "SELECT o_id, o_entry_d, o_carrier_id FROM orders \
        WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1";
    LINES = "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
        WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3";

    OLDEST_NEW_ORDER = "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 \
        ORDER BY no_o_id LIMIT 1";
    DELETE_NEW_ORDER = "DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3";
    SET_CARRIER = "UPDATE orders SET o_carrier_id = $4 WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3 \
        RETURNING o_c_id";
    SET_DELIVERED = "UPDATE order_line SET ol_delivery_d = $4 \
        WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3 RETURNING ol_amount";
    CREDIT_CUSTOMER = "UPDATE customer SET c_balance = c_balance + $4, c_delivery_cnt = c_delivery_cnt + 1 \
        WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3";

    NEXT_ORDER_NUMBER = "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2";
    LOW_STOCK = "SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = $1 AND s_i_id = ol_i_id \
        WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_quantity < $5";
}

/// Taking stock, by the district that the order comes from.
pub(super) const TAKE_STOCK: [usize; 10] = [
    TAKE_STOCK_01,
    TAKE_STOCK_02,
    TAKE_STOCK_03,
    TAKE_STOCK_04,
    TAKE_STOCK_05,
    TAKE_STOCK_06,
    TAKE_STOCK_07,
    TAKE_STOCK_08,
    TAKE_STOCK_09,
    TAKE_STOCK_10,
];
