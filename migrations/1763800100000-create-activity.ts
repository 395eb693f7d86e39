import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Who changed what. Entries refer to people, keys and organisations by number without a foreign key: they outlive
 * them. The service may add and read; old entries go through one function alone, which the retention calls.
 */
export class CreateActivity1763800100000 implements MigrationInterface {
  readonly name = 'CreateActivity1763800100000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE activity (
        id                    bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT activity_pkey PRIMARY KEY,
        occurred_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
        action                text        NOT NULL,
        actor_kind            text        NOT NULL,
        actor_user_id         integer,
        actor_key_id          bigint,
        actor_role            text,
        actor_organisation_id integer,
        actor_label           text        NOT NULL,
        user_id               integer,
        organisation_id       integer,
        department_id         integer,
        object_type           text        NOT NULL,
        object_id             text,
        object_label          text,
        changes               jsonb,
        reason                text,
        address               inet,
        request_id            uuid,
        CONSTRAINT activity_actor_known CHECK (
          (actor_kind = 'user' AND actor_user_id IS NOT NULL AND actor_role IS NOT NULL AND actor_key_id IS NULL)
          OR (actor_kind = 'key' AND actor_key_id IS NOT NULL)
          OR (actor_kind = 'system' AND actor_user_id IS NULL AND actor_key_id IS NULL))
      );
      CREATE INDEX activity_by_time ON activity (occurred_at DESC, id DESC);
      CREATE INDEX activity_by_organisation ON activity (organisation_id, occurred_at DESC, id DESC);
      CREATE INDEX activity_by_department ON activity (department_id, occurred_at DESC, id DESC)
        WHERE department_id IS NOT NULL;
      CREATE INDEX activity_by_user ON activity (user_id, occurred_at DESC, id DESC);
      CREATE INDEX activity_by_actor ON activity (actor_user_id, occurred_at DESC, id DESC);
      CREATE INDEX activity_by_action ON activity (action, occurred_at DESC, id DESC);
      CREATE INDEX activity_by_object ON activity (object_type, object_id, occurred_at DESC, id DESC);

      CREATE FUNCTION refuse_activity_change() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'DELETE' AND current_setting('switchboard.forget_activity', true) = 'on' THEN RETURN NULL; END IF;
        RAISE EXCEPTION 'the activity log only grows: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
      END $$;
      CREATE TRIGGER activity_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON activity
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_activity_change();

      -- Removes whole months: what is younger than a month cannot be made to disappear.
      CREATE FUNCTION forget_activity_before(p_month date) RETURNS bigint
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

      REVOKE ALL ON FUNCTION forget_activity_before(date) FROM PUBLIC;
      GRANT EXECUTE ON FUNCTION forget_activity_before(date) TO switchboard_app;
      GRANT SELECT, INSERT ON activity TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE activity;
      DROP FUNCTION forget_activity_before(date);
      DROP FUNCTION refuse_activity_change();
    `);
  }
}
