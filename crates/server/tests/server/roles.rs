//! Who may log in: roles of the catalog, with passwords of theirs, beside the users of the configuration.

use postgres::{Client, NoTls};
use scaledb_acc::Acc;
use scaledb_server::{Config, Rule, Server, Sql, Verdict};
use scaledb_sql::Database;

fn config() -> Config {
    Config {
        listen: vec![([127, 0, 0, 1], 0).into()],
        users: [("root".to_owned(), scaledb_pgwire::Verifier::of("first").unwrap())].into(),
        superusers: Some(vec!["root".to_owned()]),
        rules: vec![Rule::of(Verdict::Scram)],
        ..Config::default()
    }
}

fn connect(server: &Server, user: &str, password: &str) -> Result<Client, postgres::Error> {
    let mut to = postgres::Config::new();
    to.host("127.0.0.1").port(server.addresses()[0].port()).user(user).password(password).dbname("postgres");
    to.connect(NoTls)
}

fn refused(server: &Server, user: &str, password: &str) -> (String, String) {
    let error = connect(server, user, password).err().expect("it is refused");
    let error = error.as_db_error().expect("the server says why");
    (error.code().code().to_owned(), error.message().to_owned())
}

#[test]
fn roles_log_in_with_their_passwords_and_may_do_what_they_may() {
    let database = Database::open(Acc::open(scaledb_acc::Config::default()).unwrap()).unwrap();
    let config = config();
    let server = Server::start(config.clone(), Sql::new(database).of_server(&config)).unwrap();
    let mut root = connect(&server, "root", "first").unwrap();
    root.batch_execute(
        "create table t (a int); insert into t values (1);
         create role ann login password 'secret' connection limit 1;
         create role group_of_ann; grant select on t to group_of_ann; grant group_of_ann to ann;
         create role nobody password 'secret'; create role late login password 'secret' valid until '2001-01-01';
         create role without login;
         alter role ann set application_name = 'of ann'",
    )
    .unwrap();
    let mut ann = connect(&server, "ann", "secret").unwrap();
    let row = ann
        .query_one("select a, current_user::text, current_setting('application_name'), current_setting('is_superuser') from t", &[])
        .unwrap();
    assert_eq!((row.get(0), row.get(1), row.get(2), row.get(3)), (1, "ann", "of ann", "off"));
    let error = ann.batch_execute("insert into t values (2)").unwrap_err();
    assert_eq!(error.code().unwrap().code(), "42501");
    // what others run is not shown to it
    let shown = ann.query_one("select query from pg_stat_activity where usename = 'root'", &[]).unwrap();
    assert_eq!(shown.get::<_, &str>(0), "<insufficient privilege>");
    let pid: i32 = root.query_one("select pg_backend_pid()", &[]).unwrap().get(0);
    let error = ann.query("select pg_terminate_backend($1)", &[&pid]).unwrap_err();
    assert_eq!(error.code().unwrap().code(), "42501");

    assert_eq!(refused(&server, "ann", "wrong").0, "28P01");
    assert_eq!(refused(&server, "ann", "secret").0, "53300");
    for user in ["late", "without"] {
        assert_eq!(refused(&server, user, "secret").0, "28P01", "{user}");
    }
    let (code, what) = refused(&server, "nobody", "secret");
    assert_eq!((code.as_str(), what.as_str()), ("28000", "role \"nobody\" is not permitted to log in"));
    root.batch_execute("alter role ann connection limit 2 password 'other'").unwrap();
    assert_eq!(refused(&server, "ann", "secret").0, "28P01");
    connect(&server, "ann", "other").unwrap();
    server.stop();
}

#[test]
fn users_without_a_role_are_superusers_only_where_the_configuration_says_so() {
    let database = Database::open(Acc::open(scaledb_acc::Config::default()).unwrap()).unwrap();
    let config = Config { rules: vec![Rule::of(Verdict::Trust)], ..config() };
    let server = Server::start(config.clone(), Sql::new(database).of_server(&config)).unwrap();
    let mut root = connect(&server, "root", "").unwrap();
    assert_eq!(refused(&server, "eve", ""), ("28000".to_owned(), "role \"eve\" does not exist".to_owned()));
    root.batch_execute("create role eve login").unwrap();
    let mut eve = connect(&server, "eve", "").unwrap();
    assert_eq!(eve.batch_execute("create table t (a int)").unwrap_err().code().unwrap().code(), "42501");
    server.stop();
}
