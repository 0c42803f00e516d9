//! The nine tables (clause 1.3), and the indexes that the transactions want.
//!
//! `history` has no key, as specified. Foreign keys are left out, as usual for benchmarks: the transactions keep them.

/// Creates the tables.
pub(super) const TABLES: &str = "
CREATE TABLE warehouse (
    w_id integer PRIMARY KEY, w_name varchar(10) NOT NULL,
    w_street_1 varchar(20) NOT NULL, w_street_2 varchar(20) NOT NULL, w_city varchar(20) NOT NULL,
    w_state char(2) NOT NULL, w_zip char(9) NOT NULL,
    w_tax numeric(4,4) NOT NULL, w_ytd numeric(12,2) NOT NULL);
CREATE TABLE district (
    d_w_id integer, d_id smallint, d_name varchar(10) NOT NULL,
    d_street_1 varchar(20) NOT NULL, d_street_2 varchar(20) NOT NULL, d_city varchar(20) NOT NULL,
    d_state char(2) NOT NULL, d_zip char(9) NOT NULL,
    d_tax numeric(4,4) NOT NULL, d_ytd numeric(12,2) NOT NULL, d_next_o_id integer NOT NULL,
    PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (
    c_w_id integer, c_d_id smallint, c_id integer,
    c_first varchar(16) NOT NULL, c_middle char(2) NOT NULL, c_last varchar(16) NOT NULL,
    c_street_1 varchar(20) NOT NULL, c_street_2 varchar(20) NOT NULL, c_city varchar(20) NOT NULL,
    c_state char(2) NOT NULL, c_zip char(9) NOT NULL, c_phone char(16) NOT NULL,
    c_since timestamp NOT NULL, c_credit char(2) NOT NULL, c_credit_lim numeric(12,2) NOT NULL,
    c_discount numeric(4,4) NOT NULL, c_balance numeric(12,2) NOT NULL,
    c_ytd_payment numeric(12,2) NOT NULL, c_payment_cnt integer NOT NULL, c_delivery_cnt integer NOT NULL,
    c_data varchar(500) NOT NULL,
    PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first);
CREATE TABLE history (
    h_c_id integer NOT NULL, h_c_d_id smallint NOT NULL, h_c_w_id integer NOT NULL,
    h_d_id smallint NOT NULL, h_w_id integer NOT NULL,
    h_date timestamp NOT NULL, h_amount numeric(6,2) NOT NULL, h_data varchar(24) NOT NULL);
CREATE TABLE orders (
    o_w_id integer, o_d_id smallint, o_id integer, o_c_id integer NOT NULL, o_entry_d timestamp NOT NULL,
    o_carrier_id smallint, o_ol_cnt smallint NOT NULL, o_all_local smallint NOT NULL,
    PRIMARY KEY (o_w_id, o_d_id, o_id));
CREATE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
CREATE TABLE new_order (
    no_w_id integer, no_d_id smallint, no_o_id integer, PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE order_line (
    ol_w_id integer, ol_d_id smallint, ol_o_id integer, ol_number smallint,
    ol_i_id integer NOT NULL, ol_supply_w_id integer NOT NULL, ol_delivery_d timestamp,
    ol_quantity smallint NOT NULL, ol_amount numeric(6,2) NOT NULL, ol_dist_info char(24) NOT NULL,
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
CREATE TABLE item (
    i_id integer PRIMARY KEY, i_im_id integer NOT NULL, i_name varchar(24) NOT NULL,
    i_price numeric(5,2) NOT NULL, i_data varchar(50) NOT NULL);
CREATE TABLE stock (
    s_w_id integer, s_i_id integer, s_quantity smallint NOT NULL,
    s_dist_01 char(24) NOT NULL, s_dist_02 char(24) NOT NULL, s_dist_03 char(24) NOT NULL,
    s_dist_04 char(24) NOT NULL, s_dist_05 char(24) NOT NULL, s_dist_06 char(24) NOT NULL,
    s_dist_07 char(24) NOT NULL, s_dist_08 char(24) NOT NULL, s_dist_09 char(24) NOT NULL,
    s_dist_10 char(24) NOT NULL, s_ytd integer NOT NULL, s_order_cnt integer NOT NULL,
    s_remote_cnt integer NOT NULL, s_data varchar(50) NOT NULL,
    PRIMARY KEY (s_w_id, s_i_id));
";

/// The same for a cluster.
pub(super) fn in_cluster() -> String {
    let clause = |table: &str| match table {
        "item" => "WITH (replicate = everywhere)",
        "warehouse" => "PARTITION BY HASH (w_id)",
        "district" => "PARTITION BY HASH (d_w_id)",
        "customer" => "PARTITION BY HASH (c_w_id)",
        "orders" => "PARTITION BY HASH (o_w_id)",
        "new_order" => "PARTITION BY HASH (no_w_id)",
        "order_line" => "PARTITION BY HASH (ol_w_id)",
        "stock" => "PARTITION BY HASH (s_w_id)",
        // without a key
        _ => "",
    };
    let statement = |text: &str| {
        let table = text.trim_start().strip_prefix("CREATE TABLE ").and_then(|rest| rest.split(' ').next());
        format!("{text} {};", table.map_or("", clause))
    };
    TABLES.split_terminator(';').filter(|text| !text.trim().is_empty()).map(statement).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_with_a_key_says_where_its_rows_are() {
        let statements = in_cluster();
        assert_eq!(statements.matches("PARTITION BY HASH").count(), 7);
        assert_eq!(statements.matches("replicate").count(), 1);
        assert_eq!(statements.matches("PRIMARY KEY").count(), 8);
        assert_eq!(statements.matches(';').count(), TABLES.matches(';').count());
    }
}
