import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The outbox of taps has one entry for each settled request, written with it. The record itself is read later. */
export class CreateTaps1764801000200 implements MigrationInterface {
  readonly name = 'CreateTaps1764801000200';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE tap_outbox (
        -- Transactions get their numbers in an order in which they need not end.
        xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
        id bigint GENERATED ALWAYS AS IDENTITY,
        key_id bigint,
        request_id uuid NOT NULL,
        created_at timestamptz NOT NULL,
        settled_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT tap_outbox_pkey PRIMARY KEY (xid, id)
      );
      CREATE TABLE tap (
        name text CONSTRAINT tap_pkey PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 100),
        -- The last entry that it is done with.
        after_xid xid8 NOT NULL,
        after_id bigint NOT NULL,
        -- Of the node that delivers; after its end in time another node may.
        claim uuid,
        claimed_until timestamptz,
        due_at timestamptz NOT NULL DEFAULT now(),
        -- In a row.
        failures integer NOT NULL DEFAULT 0 CHECK (failures >= 0),
        last_error text,
        failed_at timestamptz,
        succeeded_at timestamptz,
        delivered bigint NOT NULL DEFAULT 0,
        -- Entries that left before they were delivered.
        dropped bigint NOT NULL DEFAULT 0,
        -- A node last had it then.
        listed_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT tap_claim_whole CHECK ((claim IS NULL) = (claimed_until IS NULL))
      );
      CREATE TABLE tap_dead_letter (
        id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT tap_dead_letter_pkey PRIMARY KEY,
        tap text NOT NULL CONSTRAINT tap_dead_letter_tap_fkey REFERENCES tap ON DELETE CASCADE,
        request_id uuid NOT NULL,
        created_at timestamptz NOT NULL,
        key_id bigint,
        error text NOT NULL,
        failed_at timestamptz NOT NULL DEFAULT now(),
        -- Somebody asked then that it is delivered once more.
        replay_at timestamptz,
        CONSTRAINT tap_dead_letter_once UNIQUE (tap, request_id, created_at)
      );
      CREATE INDEX tap_dead_letter_by_tap ON tap_dead_letter (tap, id);
      CREATE INDEX tap_dead_letter_asked ON tap_dead_letter (tap, id) WHERE replay_at IS NOT NULL;
      GRANT SELECT, INSERT, DELETE ON tap_outbox TO switchboard_app;
      GRANT SELECT, INSERT, UPDATE, DELETE ON tap, tap_dead_letter TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE tap_dead_letter; DROP TABLE tap; DROP TABLE tap_outbox;');
  }
}
