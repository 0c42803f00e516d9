//! Parts of a transaction are undone: an import that skips the batches it cannot take.

use scaledb::{Database, Error, Result, Table, Type};

fn main() -> Result<()> {
    let db = Database::in_memory();
    let words = db.create_table(
        Table::build("words")
            .column("word", Type::Text(20))
            .column("length", Type::Int4)
            .primary_key(["word"]),
    )?;
    let batches = [
        vec!["ant", "bee", "cat"],
        vec!["dog", "bee", "eel"], // a duplicate
        vec!["fox", "a word that is much too long for its column"],
        vec!["gnu", "hen"],
    ];

    let mut session = db.session()?;
    let mut txn = session.begin()?;
    let mut skipped = 0;
    for batch in &batches {
        let before = txn.savepoint()?;
        let inserted = batch.iter().try_for_each(|word| txn.insert(&words, (word, word.len() as i32)));
        match inserted {
            Ok(()) => println!("{batch:?}: taken"),
            Err(error @ (Error::DuplicateKey { .. } | Error::WrongType { .. })) => {
                println!("{batch:?}: skipped, {}", db.explain_error(&error));
                txn.rollback_to(before)?;
                skipped += 1;
            }
            // a conflict has ended the transaction
            Err(error) => return Err(error),
        }
    }
    txn.commit()?;

    let stored = session.run(|txn| txn.scan(&words).collect())?;
    let stored: Vec<&str> = stored.iter().map(|row| row.get("word")).collect::<Result<_>>()?;
    println!("stored: {}", stored.join(" "));
    assert_eq!((stored, skipped), (vec!["ant", "bee", "cat", "gnu", "hen"], 2));
    Ok(())
}
