-- Creates the two logins of the service without superuser rights: switchboard_migrator owns the database and changes its
-- schema, switchboard_service serves requests. The image of PostgreSQL runs this file for a new volume. For a volume of an
-- earlier version, run it once yourself, and again after a change of a password:
--   docker compose exec postgres psql -U switchboard -v ON_ERROR_STOP=1 -f /docker-entrypoint-initdb.d/logins.sql
\getenv owner_password POSTGRES_OWNER_PASSWORD
\getenv service_password POSTGRES_SERVICE_PASSWORD
SELECT set_config('logins.owner', :'owner_password', false) <> '' AND set_config('logins.service', :'service_password', false) <> '' AS "passwords are set";

DO $logins$
DECLARE
  target record;
BEGIN
  IF current_setting('logins.owner') = '' OR current_setting('logins.service') = '' THEN
    RAISE EXCEPTION 'POSTGRES_OWNER_PASSWORD and POSTGRES_SERVICE_PASSWORD have to be set';
  END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'switchboard_migrator') THEN
    CREATE ROLE switchboard_migrator;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'switchboard_service') THEN
    CREATE ROLE switchboard_service;
  END IF;
  EXECUTE format('ALTER ROLE switchboard_migrator LOGIN CREATEROLE PASSWORD %L', current_setting('logins.owner'));
  EXECUTE format('ALTER ROLE switchboard_service LOGIN PASSWORD %L', current_setting('logins.service'));
  EXECUTE format('ALTER DATABASE %I OWNER TO switchboard_migrator', current_database());

  -- Roles that an earlier version created as the superuser. A new volume has none.
  FOR target IN
    SELECT DISTINCT r.rolname FROM pg_shdepend d JOIN pg_roles r ON r.oid = d.refobjid
     WHERE d.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND d.refclassid = 'pg_authid'::regclass AND r.rolname ~ '^(switchboard_app|ext_.*|extension_.*)$'
  LOOP
    EXECUTE format('GRANT %I TO switchboard_migrator WITH ADMIN OPTION', target.rolname);
  END LOOP;

  -- What an earlier version created as the superuser goes to the new owner.
  FOR target IN
    SELECT format('SCHEMA %I', nspname) AS object FROM pg_namespace
     WHERE nspname IN ('contract', 'bullmq') AND nspowner = current_user::regrole
    UNION ALL
    SELECT format('TABLE %s', c.oid::regclass) FROM pg_class c
     WHERE c.relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'contract', 'bullmq'))
       AND c.relkind IN ('r', 'p', 'v', 'm', 'S') AND c.relowner = current_user::regrole
       -- A sequence of a column goes with its table.
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                          AND d.deptype IN ('a', 'i', 'e') AND c.relkind = 'S')
    UNION ALL
    SELECT format('ROUTINE %s', p.oid::regprocedure) FROM pg_proc p
     WHERE p.pronamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'contract', 'bullmq'))
       AND p.proowner = current_user::regrole
    UNION ALL
    SELECT format('TYPE %s', t.oid::regtype) FROM pg_type t
     WHERE t.typnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'contract', 'bullmq'))
       AND t.typtype IN ('e', 'd', 'r') AND t.typowner = current_user::regrole
  LOOP
    EXECUTE format('ALTER %s OWNER TO switchboard_migrator', target.object);
  END LOOP;
END
$logins$;
