import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Hosts under which the portal shows itself as a reseller's: a name, a pair of accent colours and a logo. */
export class CreateResellerDomains1763905100000 implements MigrationInterface {
  readonly name = 'CreateResellerDomains1763905100000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE reseller_domain (
        host            text        CONSTRAINT reseller_domain_pkey PRIMARY KEY
                                    CONSTRAINT reseller_domain_host_lower CHECK (host = lower(host)),
        organisation_id integer     NOT NULL
                                    CONSTRAINT reseller_domain_organisation_fkey REFERENCES organisation ON DELETE CASCADE,
        name            text        NOT NULL,
        accent          text,
        accent_dark     text,
        logo            bytea       CONSTRAINT reseller_domain_logo_small CHECK (octet_length(logo) <= 65536),
        created_at      timestamptz NOT NULL DEFAULT now(),
        changed_at      timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT reseller_domain_accents_paired CHECK ((accent IS NULL) = (accent_dark IS NULL))
      );
      CREATE INDEX reseller_domain_organisation ON reseller_domain (organisation_id);
      GRANT SELECT, INSERT, UPDATE, DELETE ON reseller_domain TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE reseller_domain');
  }
}
