import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A restored installation serves nobody until an operator has decided what becomes of what lies between. */
export class CreateQuarantine1764900005100 implements MigrationInterface {
  readonly name = 'CreateQuarantine1764900005100';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE quarantine (
        id integer GENERATED ALWAYS AS IDENTITY CONSTRAINT quarantine_pkey PRIMARY KEY,
        -- What the database knows ends there.
        moment timestamptz NOT NULL,
        -- Null where the database was restored by other means.
        backup text,
        restored_at timestamptz NOT NULL,
        began_at timestamptz NOT NULL DEFAULT now(),
        -- What was ended at once: sessions, links and invitations.
        ended jsonb NOT NULL,
        -- What the service found: jobs that wait, and how the payment processor differs.
        findings jsonb,
        -- An operator's choice for each group; the service carries it out.
        decisions jsonb,
        decided_at timestamptz,
        -- It kept the service from carrying it out the last time.
        trouble text,
        released_at timestamptz,
        CONSTRAINT quarantine_decided CHECK ((decisions IS NULL) = (decided_at IS NULL)),
        CONSTRAINT quarantine_released_by_decision CHECK (released_at IS NULL OR decisions IS NOT NULL)
      );
      CREATE UNIQUE INDEX quarantine_open_once ON quarantine ((released_at IS NULL)) WHERE released_at IS NULL;
      CREATE TABLE quarantine_journal (
        quarantine_id integer NOT NULL CONSTRAINT quarantine_journal_quarantine_fkey REFERENCES quarantine,
        file text NOT NULL,
        node text NOT NULL,
        records integer NOT NULL,
        CONSTRAINT quarantine_journal_pkey PRIMARY KEY (quarantine_id, file)
      );
      -- What the journals that were set aside would charge, and the database does not know.
      CREATE TABLE quarantine_charge (
        quarantine_id integer NOT NULL CONSTRAINT quarantine_charge_quarantine_fkey REFERENCES quarantine,
        request_id uuid NOT NULL,
        created_at timestamptz NOT NULL,
        node text NOT NULL,
        key_id bigint,
        model text,
        cost_nano bigint NOT NULL,
        CONSTRAINT quarantine_charge_pkey PRIMARY KEY (quarantine_id, request_id, created_at)
      );
      GRANT SELECT, INSERT, UPDATE ON quarantine TO switchboard_app;
      GRANT SELECT, INSERT ON quarantine_journal, quarantine_charge TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE quarantine_charge; DROP TABLE quarantine_journal; DROP TABLE quarantine;');
  }
}
