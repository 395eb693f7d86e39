import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What went wrong with suppliers, from when to when. Every node writes what it sees; an incident that is under way
 * has one row, whoever sees it, and ends once none has seen it for a while.
 */
export class CreateIncidents1763801100000 implements MigrationInterface {
  readonly name = 'CreateIncidents1763801100000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE incident (
        id           bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT incident_pkey PRIMARY KEY,
        kind         text        NOT NULL CONSTRAINT incident_kind_known
                                 CHECK (kind IN ('lane', 'credential', 'errors')),
        provider     text        NOT NULL DEFAULT '',
        model        text        NOT NULL DEFAULT '',
        region       text        NOT NULL DEFAULT '',
        credential   text        NOT NULL DEFAULT '',
        cause        text        NOT NULL,
        status       integer,
        started_at   timestamptz NOT NULL,
        last_seen_at timestamptz NOT NULL,
        ended_at     timestamptz,
        CONSTRAINT incident_ends_after_start CHECK (ended_at >= started_at)
      );
      CREATE UNIQUE INDEX incident_under_way ON incident (kind, provider, model, region, credential)
        WHERE ended_at IS NULL;
      CREATE INDEX incident_by_time ON incident (started_at DESC, id DESC);
      GRANT SELECT, INSERT, UPDATE, DELETE ON incident TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE incident');
  }
}
