module scaledb.test/clients

go 1.24

require github.com/jackc/pgx/v5 v5.7.6
