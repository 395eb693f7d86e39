import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Hosts of resellers are proven by a TXT record. The default gives hosts that an older node enters a value as well. */
export class ProveResellerDomains1764700110000 implements MigrationInterface {
  readonly name = 'ProveResellerDomains1764700110000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE reseller_domain
        ADD COLUMN proof_value  text NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', ''),
        ADD COLUMN proven_at    timestamptz,
        ADD COLUMN seen_at      timestamptz,
        ADD COLUMN checked_at   timestamptz,
        ADD COLUMN check_result text CONSTRAINT reseller_domain_check_result
          CHECK (check_result IN ('seen', 'other', 'absent', 'unanswered')),
        ADD COLUMN check_found  text CONSTRAINT reseller_domain_check_found_small
          CHECK (octet_length(check_found) <= 1000);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE reseller_domain DROP COLUMN proof_value, DROP COLUMN proven_at, DROP COLUMN seen_at,
        DROP COLUMN checked_at, DROP COLUMN check_result, DROP COLUMN check_found;
    `);
  }
}
