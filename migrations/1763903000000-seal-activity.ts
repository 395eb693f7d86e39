import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The chain over the activity log: what waits to be sealed, and the signed blocks. The service may add a block by one
 * function alone, which lets each entry be sealed once. Retention empties whole blocks and keeps their heads.
 */
export class SealActivity1763903000000 implements MigrationInterface {
  readonly name = 'SealActivity1763903000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE activity_unsealed (
        entry_id bigint      CONSTRAINT activity_unsealed_pkey PRIMARY KEY,
        since    timestamptz NOT NULL DEFAULT clock_timestamp()
      );
      GRANT SELECT ON activity_unsealed TO switchboard_app;

      -- Chain 0 is the platform's, the others are those of organisations, which may be gone by now.
      CREATE TABLE activity_block (
        chain          integer        NOT NULL,
        number         bigint         NOT NULL,
        version        smallint       NOT NULL,
        first_position bigint         NOT NULL,
        entry_count    integer        NOT NULL CONSTRAINT activity_block_not_empty CHECK (entry_count > 0),
        root           bytea          NOT NULL,
        previous       bytea          NOT NULL,
        sealed_at      timestamptz(3) NOT NULL,
        signer         bytea          NOT NULL,
        signature      bytea          NOT NULL,
        hash           bytea          NOT NULL,
        newest_at      timestamptz    NOT NULL,
        entries        bigint[],
        digests        bytea,
        CONSTRAINT activity_block_pkey PRIMARY KEY (chain, number),
        CONSTRAINT activity_block_whole CHECK ((entries IS NULL) = (digests IS NULL))
      );
      CREATE INDEX activity_block_by_time ON activity_block (sealed_at);
      CREATE INDEX activity_block_kept ON activity_block (chain, number) WHERE entries IS NOT NULL;
      GRANT SELECT ON activity_block TO switchboard_app;
      CREATE TRIGGER activity_block_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON activity_block
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_activity_change();

      CREATE FUNCTION await_activity_seal() RETURNS trigger
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
      BEGIN
        INSERT INTO activity_unsealed (entry_id) SELECT id FROM added;
        RETURN NULL;
      END $$;
      CREATE TRIGGER activity_awaits_seal AFTER INSERT ON activity
        REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION await_activity_seal();
      INSERT INTO activity_unsealed (entry_id) SELECT id FROM activity;

      CREATE FUNCTION add_activity_block(p_chain integer, p_number bigint, p_version smallint, p_first bigint,
        p_root bytea, p_previous bytea, p_sealed_at timestamptz, p_signer bytea, p_signature bytea, p_hash bytea,
        p_entries bigint[], p_digests bytea) RETURNS void
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
      DECLARE
        last activity_block;
        newest timestamptz;
        taken integer;
      BEGIN
        SELECT * INTO last FROM activity_block WHERE chain = p_chain ORDER BY number DESC LIMIT 1;
        IF p_number <> COALESCE(last.number, 0) + 1 OR p_first <> COALESCE(last.first_position + last.entry_count, 1)
           OR p_previous <> COALESCE(last.hash, decode(repeat('00', 32), 'hex')) THEN
          RAISE EXCEPTION 'block % does not follow the head of chain %', p_number, p_chain
            USING ERRCODE = 'serialization_failure';
        END IF;
        WITH sealed AS (
          DELETE FROM activity_unsealed u USING activity a
           WHERE u.entry_id = ANY (p_entries) AND a.id = u.entry_id AND COALESCE(a.organisation_id, 0) = p_chain
          RETURNING a.occurred_at)
        SELECT count(*), max(occurred_at) INTO taken, newest FROM sealed;
        IF taken <> cardinality(p_entries) OR length(p_digests) <> 32 * taken THEN
          RAISE EXCEPTION 'block % of chain % has entries that do not wait for it', p_number, p_chain
            USING ERRCODE = 'serialization_failure';
        END IF;
        INSERT INTO activity_block (chain, number, version, first_position, entry_count, root, previous, sealed_at,
          signer, signature, hash, newest_at, entries, digests)
        VALUES (p_chain, p_number, p_version, p_first, taken, p_root, p_previous, p_sealed_at,
          p_signer, p_signature, p_hash, newest, p_entries, p_digests);
      END $$;

      -- Empties the oldest blocks whose every entry is of an earlier month, and puts that on record in their chain.
      CREATE OR REPLACE FUNCTION forget_activity_before(p_month date) RETURNS bigint
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
      DECLARE
        border timestamptz := date_trunc('month', p_month)::timestamp AT TIME ZONE 'utc';
        chosen record;
        removed bigint;
        total bigint := 0;
      BEGIN
        IF p_month > (now() AT TIME ZONE 'utc')::date - interval '1 month' THEN
          RAISE EXCEPTION 'the last month of the activity log is kept' USING ERRCODE = 'insufficient_privilege';
        END IF;
        PERFORM set_config('switchboard.forget_activity', 'on', true);
        FOR chosen IN
          SELECT chain, max(number) AS last
            FROM (SELECT chain, number, bool_and(newest_at < border) OVER (PARTITION BY chain ORDER BY number) AS old
                    FROM activity_block WHERE entries IS NOT NULL) AS kept
           WHERE old GROUP BY chain
        LOOP
          DELETE FROM activity WHERE id IN (
            SELECT unnest(entries) FROM activity_block
             WHERE chain = chosen.chain AND number <= chosen.last AND entries IS NOT NULL);
          GET DIAGNOSTICS removed = ROW_COUNT;
          total := total + removed;
          UPDATE activity_block SET entries = NULL, digests = NULL
           WHERE chain = chosen.chain AND number <= chosen.last AND entries IS NOT NULL;
          INSERT INTO activity (action, actor_kind, actor_label, organisation_id, object_type, object_label, changes)
          VALUES ('log.forgotten', 'system', 'retention', NULLIF(chosen.chain, 0), 'log', 'audit',
            jsonb_build_object('entries', jsonb_build_array(removed, null),
              'blocks_up_to', jsonb_build_array(null, chosen.last)));
        END LOOP;
        PERFORM set_config('switchboard.forget_activity', '', true);
        RETURN total;
      END $$;

      CREATE OR REPLACE FUNCTION refuse_activity_change() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP <> 'TRUNCATE' AND current_setting('switchboard.forget_activity', true) = 'on'
           AND TG_OP = (CASE TG_TABLE_NAME WHEN 'activity' THEN 'DELETE' ELSE 'UPDATE' END) THEN RETURN NULL; END IF;
        RAISE EXCEPTION '% only grows: % is refused',
          CASE TG_TABLE_NAME WHEN 'activity' THEN 'the activity log' ELSE 'the chain of the activity log' END, TG_OP
          USING ERRCODE = 'insufficient_privilege';
      END $$;

      REVOKE ALL ON FUNCTION await_activity_seal() FROM PUBLIC;
      REVOKE ALL ON FUNCTION add_activity_block(integer, bigint, smallint, bigint, bytea, bytea, timestamptz, bytea,
        bytea, bytea, bigint[], bytea) FROM PUBLIC;
      GRANT EXECUTE ON FUNCTION add_activity_block(integer, bigint, smallint, bigint, bytea, bytea, timestamptz,
        bytea, bytea, bytea, bigint[], bytea) TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER activity_awaits_seal ON activity;
      DROP FUNCTION await_activity_seal();
      DROP FUNCTION add_activity_block(integer, bigint, smallint, bigint, bytea, bytea, timestamptz, bytea, bytea,
        bytea, bigint[], bytea);
      DROP TABLE activity_block, activity_unsealed;

      CREATE OR REPLACE FUNCTION forget_activity_before(p_month date) RETURNS bigint
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
      DECLARE
        removed bigint;
      BEGIN
        IF p_month > (now() AT TIME ZONE 'utc')::date - interval '1 month' THEN
          RAISE EXCEPTION 'the last month of the activity log is kept' USING ERRCODE = 'insufficient_privilege';
        END IF;
        PERFORM set_config('switchboard.forget_activity', 'on', true);
        DELETE FROM activity WHERE occurred_at < date_trunc('month', p_month)::timestamp AT TIME ZONE 'utc';
        GET DIAGNOSTICS removed = ROW_COUNT;
        PERFORM set_config('switchboard.forget_activity', '', true);
        RETURN removed;
      END $$;

      CREATE OR REPLACE FUNCTION refuse_activity_change() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'DELETE' AND current_setting('switchboard.forget_activity', true) = 'on' THEN RETURN NULL; END IF;
        RAISE EXCEPTION 'the activity log only grows: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
      END $$;
    `);
  }
}
