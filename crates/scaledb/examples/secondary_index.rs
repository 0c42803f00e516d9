//! Unique and other indexes: look-ups, ranges, and updates of indexed columns.

use scaledb::{Database, Error, Result, Table, Type};

fn main() -> Result<()> {
    let db = Database::in_memory();
    let users = db.create_table(
        Table::build("users")
            .column("id", Type::Int8)
            .column("email", Type::Text(200))
            .column("city", Type::Text(100))
            .nullable()
            .column("points", Type::Int4)
            .primary_key(["id"])
            .unique_index("by_email", ["email"])
            .index("by_city", ["city", "points"]),
    )?;
    let (by_email, by_city) = (users.index("by_email")?, users.index("by_city")?);
    let mut session = db.session()?;

    session.run(|txn| {
        for id in 0..1_000 {
            let city = ["Basel", "Bern", "Zug"].get(id as usize % 4).copied();
            txn.insert(&users, (id, format!("user{id}@example.org"), city, id % 100))?;
        }
        Ok(())
    })?;

    // one row through the unique index
    let row = session.run(|txn| txn.get_by(&by_email, "user42@example.org"))?.expect("user 42");
    println!(
        "user42@example.org is user {} of {}",
        row.get::<i64>("id")?,
        row.get::<&str>("city").unwrap_or("nowhere")
    );

    // a range of the other one: the cities' rows lie together, ordered by points
    let top = session.run(|txn| txn.scan(&by_city).prefix("Bern").reverse().limit(3).collect())?;
    for row in &top {
        println!("Bern: user {} with {} points", row.get::<i64>("id")?, row.get::<i32>("points")?);
    }
    assert!(top.iter().all(|row| row.get::<i32>("points").is_ok_and(|points| points == 97)));

    // the indexes follow their rows
    let moved = session.run(|txn| {
        txn.scan(&by_city).prefix("Bern").update(|row| {
            row.set("city", "Zug")?;
            row.add("points", 1).map(drop)
        })
    })?;
    session.run(|txn| {
        assert_eq!(txn.scan(&by_city).prefix("Bern").count()?, 0);
        assert_eq!(txn.scan(&by_city).prefix("Zug").count()?, 2 * moved);
        assert_eq!(txn.scan(&by_city).from("A").to("Zug").count()?, 750);
        assert_eq!(txn.scan(&by_city).prefix(None::<&str>).count()?, 250);
        Ok(())
    })?;
    println!("{moved} users moved from Bern to Zug");

    // no two rows share a unique key
    let refused = session
        .run(|txn| txn.update(&by_email, "user1@example.org", |row| row.set("email", "user2@example.org")));
    let Err(error @ Error::DuplicateKey { .. }) = refused else { panic!("accepted: {refused:?}") };
    println!("refused: {}", db.explain_error(&error));
    Ok(())
}
