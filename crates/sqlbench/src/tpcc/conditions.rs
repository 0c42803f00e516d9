//! The twelve consistency conditions of clause 3.3.2, each as one query.
//!
//! Two ways to the same sum are added up with opposite signs in one grouped UNION: a row without its counterpart fails
//! as one with another value does, and no join is needed.

use crate::client::{Client, Failure};
use crate::rows::Rows;
use scaledb_workloads::tpcc::{Condition, Scale};

/// What each condition says, and the query of what it compares: `w`, the warehouse; `bad`, whether it fails.
fn queries(scale: Scale) -> [(&'static str, String); 12] {
    let delivered = scale.delivered();
    [
        (
            "w_ytd = sum(d_ytd)",
            "SELECT w, sum(x) <> 0 AS bad FROM (SELECT w_id AS w, w_ytd AS x FROM warehouse \
             UNION ALL SELECT d_w_id, -d_ytd FROM district) AS u GROUP BY w"
                .into(),
        ),
        (
            "d_next_o_id - 1 = max(o_id) = max(no_o_id)",
            "SELECT w, (max(n) IS DISTINCT FROM max(o)) OR (max(no) <> max(n) AND max(no) IS NOT NULL) AS bad \
             FROM (SELECT d_w_id AS w, d_id AS d, d_next_o_id - 1 AS n, NULL::integer AS o, NULL::integer AS no \
             FROM district UNION ALL SELECT o_w_id, o_d_id, NULL::integer, o_id, NULL::integer FROM orders \
             UNION ALL SELECT no_w_id, no_d_id, NULL::integer, NULL::integer, no_o_id FROM new_order) AS u GROUP BY w, d"
                .into(),
        ),
        (
            "max(no_o_id) - min(no_o_id) + 1 = rows in new_order",
            "SELECT no_w_id AS w, max(no_o_id) - min(no_o_id) + 1 <> count(*) AS bad FROM new_order \
             GROUP BY no_w_id, no_d_id"
                .into(),
        ),
        (
            "sum(o_ol_cnt) = rows in order_line",
            "SELECT w, sum(x) <> 0 AS bad FROM (SELECT o_w_id AS w, o_d_id AS d, o_ol_cnt::integer AS x FROM orders \
             UNION ALL SELECT ol_w_id, ol_d_id, -1 FROM order_line) AS u GROUP BY w, d"
                .into(),
        ),
        (
            "o_carrier_id is null <=> there is a row in new_order",
            "SELECT w, sum(x) <> 0 AS bad FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, \
             CASE WHEN o_carrier_id IS NULL THEN 1 ELSE 0 END AS x FROM orders \
             UNION ALL SELECT no_w_id, no_d_id, no_o_id, -1 FROM new_order) AS u GROUP BY w, d, o"
                .into(),
        ),
        (
            "o_ol_cnt = lines of the order",
            "SELECT w, sum(x) <> 0 AS bad FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, \
             o_ol_cnt::integer AS x FROM orders \
             UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, -1 FROM order_line) AS u GROUP BY w, d, o"
                .into(),
        ),
        (
            "ol_delivery_d is null <=> o_carrier_id is null",
            "SELECT w, sum(x) <> 0 AS bad FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, \
             CASE WHEN o_carrier_id IS NULL THEN 0 ELSE o_ol_cnt::integer END AS x FROM orders \
             UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, CASE WHEN ol_delivery_d IS NULL THEN 0 ELSE -1 END \
             FROM order_line) AS u GROUP BY w, d, o"
                .into(),
        ),
        (
            "w_ytd = sum(h_amount)",
            "SELECT w, sum(x) <> 0 AS bad FROM (SELECT w_id AS w, w_ytd AS x FROM warehouse \
             UNION ALL SELECT h_w_id, -h_amount FROM history) AS u GROUP BY w"
                .into(),
        ),
        (
            "d_ytd = sum(h_amount)",
            "SELECT w, sum(x) <> 0 AS bad FROM (SELECT d_w_id AS w, d_id AS d, d_ytd AS x FROM district \
             UNION ALL SELECT h_w_id, h_d_id, -h_amount FROM history) AS u GROUP BY w, d"
                .into(),
        ),
        (
            "c_balance = sum(delivered ol_amount) - sum(h_amount)",
            "SELECT w, sum(x) <> 0 AS bad FROM (SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance AS x \
             FROM customer UNION ALL SELECT h_c_w_id, h_c_d_id, h_c_id, h_amount FROM history \
             UNION ALL SELECT o_w_id, o_d_id, o_c_id, -ol_amount FROM orders JOIN order_line \
             ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL) AS u \
             GROUP BY w, d, c"
                .into(),
        ),
        (
            "rows in orders - rows in new_order = delivered orders",
            // those delivered when the run begins, and one for each delivery since (clause 3.3.2.11)
            format!(
                "SELECT w, sum(x) <> 0 AS bad FROM (SELECT d_w_id AS w, d_id AS d, -{delivered} AS x FROM district \
                 UNION ALL SELECT o_w_id, o_d_id, 1 FROM orders \
                 UNION ALL SELECT no_w_id, no_d_id, -1 FROM new_order \
                 UNION ALL SELECT c_w_id, c_d_id, -c_delivery_cnt FROM customer) AS u GROUP BY w, d"
            ),
        ),
        (
            "c_balance + c_ytd_payment = sum(delivered ol_amount)",
            "SELECT w, sum(x) <> 0 AS bad FROM (SELECT c_w_id AS w, c_d_id AS d, c_id AS c, \
             c_balance + c_ytd_payment AS x FROM customer \
             UNION ALL SELECT o_w_id, o_d_id, o_c_id, -ol_amount FROM orders JOIN order_line \
             ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL) AS u \
             GROUP BY w, d, c"
                .into(),
        ),
    ]
}

/// Checks the twelve conditions, in order, in one snapshot.
///
/// # Errors
/// The database's.
pub fn check<C: Client>(client: &mut C, scale: Scale) -> Result<Vec<Condition>, Failure> {
    let mut rows = Rows::default();
    // groups by order take more than the usual
    client.script("SET work_mem = '1GB'")?;
    client.script("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE")?;
    let queries = queries(scale).into_iter().zip(1..);
    let conditions = queries.map(|((says, query), number)| {
        let sql = format!(
            "SELECT count(*), count(*) FILTER (WHERE bad), min(w) FILTER (WHERE bad) FROM ({query}) AS compared"
        );
        client.query(&sql, &mut rows)?;
        let [checked, failed] = [0, 1].map(|column| rows.answer(0).int(0, column).map(i64::unsigned_abs));
        let warehouse = rows.answer(0).int_or_null(0, 2)?;
        Ok(Condition {
            number,
            says: says.to_owned(),
            checked: checked?,
            failed: failed?,
            detail: warehouse.map(|w| format!("warehouse {w}")),
        })
    });
    let conditions = conditions.collect::<Result<_, Failure>>();
    client.script(if conditions.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    client.script("RESET work_mem")?;
    conditions
}
