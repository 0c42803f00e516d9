-- Of the schemas that are looked through, those that the path names are told apart from those that come by themselves.
set search_path = pg_catalog;
select current_schema, current_schemas(false), current_schemas(true);
set search_path = public, pg_catalog;
select current_schema, current_schemas(false), current_schemas(true);
set search_path = nope, public;
select current_schema, current_schemas(false), current_schemas(true);
set search_path = pg_catalog, public;
select current_schema, current_schemas(false), current_schemas(true);
set search_path = nope;
select current_schema, current_schemas(false), current_schemas(true);
set search_path = '';
select current_schema, current_schemas(false), current_schemas(true);
set search_path = information_schema;
select current_schema, current_schemas(false), current_schemas(true);
reset search_path;
select current_schema, current_schemas(false), current_schemas(true);
