import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What `auto` has learned, by organisation: scored requests without their words, and the sums they add up to.
 * `statistics` holds what the examples up to `statistics_version` taught; null: they have to be added up anew.
 * Nodes that keep a copy of another generation read everything again.
 */
export class CreateAutorouterState1763901100000 implements MigrationInterface {
  readonly name = 'CreateAutorouterState1763901100000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE autorouter_state (
        organisation_id    integer NOT NULL CONSTRAINT autorouter_state_pkey PRIMARY KEY
                                   CONSTRAINT autorouter_state_organisation_fkey
                                   REFERENCES organisation ON DELETE CASCADE,
        version            bigint  NOT NULL DEFAULT 0,
        generation         integer NOT NULL DEFAULT 0,
        statistics         jsonb,
        statistics_version bigint  NOT NULL DEFAULT 0,
        -- Older examples were left out for the sake of room; the statistics still hold them.
        pruned_version     bigint  NOT NULL DEFAULT 0,
        calibration        jsonb,
        -- Which models of suppliers stood behind each model when statistics were stored.
        upstreams          jsonb   NOT NULL DEFAULT '{}',
        updated_at         timestamptz NOT NULL DEFAULT now()
      );
      CREATE TABLE autorouter_salt (
        organisation_id integer NOT NULL CONSTRAINT autorouter_salt_pkey PRIMARY KEY
                                CONSTRAINT autorouter_salt_organisation_fkey
                                REFERENCES organisation ON DELETE CASCADE,
        sealed          bytea   NOT NULL
      );
      CREATE TABLE autorouter_example (
        organisation_id integer NOT NULL CONSTRAINT autorouter_example_organisation_fkey
                                REFERENCES organisation ON DELETE CASCADE,
        version         bigint  NOT NULL,
        example_id      text    NOT NULL,
        user_id         integer CONSTRAINT autorouter_example_user_fkey REFERENCES user_account ON DELETE CASCADE,
        example         jsonb   NOT NULL,
        CONSTRAINT autorouter_example_pkey PRIMARY KEY (organisation_id, version)
      );
      CREATE INDEX autorouter_example_by_id ON autorouter_example (organisation_id, example_id);
      CREATE INDEX autorouter_example_by_user ON autorouter_example (user_id);

      CREATE FUNCTION autorouter_examples_went() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        organisation integer;
      BEGIN
        FOR organisation IN
          UPDATE autorouter_state s
             SET generation = generation + 1, statistics = NULL, statistics_version = 0, calibration = NULL,
                 updated_at = now()
           WHERE EXISTS (SELECT 1 FROM gone g
                          WHERE g.organisation_id = s.organisation_id AND g.version > s.pruned_version)
          RETURNING s.organisation_id
        LOOP
          PERFORM pg_notify('auto_state', organisation::text);
        END LOOP;
        RETURN NULL;
      END $$;
      CREATE TRIGGER autorouter_examples_went AFTER DELETE ON autorouter_example
        REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION autorouter_examples_went();

      CREATE FUNCTION autorouter_state_went() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_notify('auto_state', OLD.organisation_id::text);
        RETURN NULL;
      END $$;
      CREATE TRIGGER autorouter_state_went AFTER DELETE ON autorouter_state
        FOR EACH ROW EXECUTE FUNCTION autorouter_state_went();
      GRANT SELECT, INSERT, UPDATE, DELETE ON autorouter_state, autorouter_salt, autorouter_example
         TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE autorouter_example, autorouter_salt, autorouter_state;
      DROP FUNCTION autorouter_examples_went(), autorouter_state_went();
    `);
  }
}
