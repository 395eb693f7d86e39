import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * One narrow row a request, in monthly partitions. The application may insert and read; partitions are made and
 * dropped through two functions owned by the migration role, so that the application needs no right to the schema.
 */
export class CreateRequestRecords1763700150000 implements MigrationInterface {
  readonly name = 'CreateRequestRecords1763700150000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE request_record (
        request_id              uuid        NOT NULL,
        created_at              timestamptz NOT NULL,
        settled_at              timestamptz NOT NULL DEFAULT clock_timestamp(),
        settlement_id           bigint,
        key_id                  bigint,
        user_id                 bigint,
        organisation_id         bigint,
        department_id           bigint,
        project_id              bigint,
        wallet_id               bigint,
        surface                 text        NOT NULL,
        model                   text,
        served_model            text,
        supplier                text,
        region                  text,
        price_id                bigint,
        input_tokens            integer     NOT NULL DEFAULT 0,
        cache_read_tokens       integer     NOT NULL DEFAULT 0,
        cache_write_tokens      integer     NOT NULL DEFAULT 0,
        cache_write_long_tokens integer     NOT NULL DEFAULT 0,
        output_tokens           integer     NOT NULL DEFAULT 0,
        reasoning_tokens        integer     NOT NULL DEFAULT 0,
        audio_input_tokens      integer     NOT NULL DEFAULT 0,
        audio_output_tokens     integer     NOT NULL DEFAULT 0,
        image_tokens            integer     NOT NULL DEFAULT 0,
        calls                   integer     NOT NULL DEFAULT 0,
        audio_milliseconds      integer     NOT NULL DEFAULT 0,
        usage_source            text        NOT NULL,
        cost_nano               bigint      NOT NULL,
        status                  smallint    NOT NULL,
        code                    text,
        stream                  boolean     NOT NULL,
        failover                boolean     NOT NULL,
        attempts                jsonb,
        latency_ms              integer     NOT NULL,
        first_token_ms          integer,
        finish_reason           text,
        session_key             text,
        CONSTRAINT request_record_pkey PRIMARY KEY (request_id, created_at),
        CONSTRAINT request_record_cost_not_negative CHECK (cost_nano >= 0)
      ) PARTITION BY RANGE (created_at);
      CREATE INDEX request_record_by_key ON request_record (key_id, created_at DESC, request_id DESC);
      CREATE INDEX request_record_by_user ON request_record (user_id, created_at DESC, request_id DESC);
      CREATE INDEX request_record_by_organisation ON request_record (organisation_id, created_at DESC, request_id DESC);
      CREATE TABLE request_record_default PARTITION OF request_record DEFAULT;

      CREATE FUNCTION ensure_request_record_partitions(first_month date, months integer) RETURNS integer
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
      DECLARE
        month date;
        made integer := 0;
      BEGIN
        FOR step IN 0 .. least(months, 24) - 1 LOOP
          month := (date_trunc('month', first_month) + make_interval(months => step))::date;
          IF to_regclass(format('request_record_%s', to_char(month, 'YYYYMM'))) IS NULL THEN
            EXECUTE format(
              'CREATE TABLE %I PARTITION OF request_record FOR VALUES FROM (%L) TO (%L)',
              'request_record_' || to_char(month, 'YYYYMM'),
              to_char(month, 'YYYY-MM-DD') || ' 00:00:00+00',
              to_char(month + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00+00');
            made := made + 1;
          END IF;
        END LOOP;
        RETURN made;
      END $$;

      CREATE FUNCTION drop_request_record_partitions(keep_from date) RETURNS text[]
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
      DECLARE
        partition text;
        dropped text[] := '{}';
      BEGIN
        FOR partition IN
          SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
          WHERE i.inhparent = 'request_record'::regclass AND c.relname ~ '^request_record_[0-9]{6}$'
            AND to_date(right(c.relname, 6), 'YYYYMM') < date_trunc('month', keep_from)
          ORDER BY c.relname
        LOOP
          EXECUTE format('DROP TABLE %I', partition);
          dropped := dropped || partition;
        END LOOP;
        RETURN dropped;
      END $$;

      REVOKE ALL ON FUNCTION ensure_request_record_partitions(date, integer), drop_request_record_partitions(date) FROM PUBLIC;
      GRANT EXECUTE ON FUNCTION ensure_request_record_partitions(date, integer), drop_request_record_partitions(date) TO switchboard_app;
      GRANT SELECT, INSERT ON request_record TO switchboard_app;
      SELECT ensure_request_record_partitions((now() AT TIME ZONE 'utc')::date, 3);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE request_record;
      DROP FUNCTION ensure_request_record_partitions(date, integer);
      DROP FUNCTION drop_request_record_partitions(date);
    `);
  }
}
