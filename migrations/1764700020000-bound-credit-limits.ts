import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The platform bounds the sum of the credit limits of an organisation: at first by what is given today. */
export class BoundCreditLimits1764700020000 implements MigrationInterface {
  readonly name = 'BoundCreditLimits1764700020000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE organisation ADD COLUMN credit_ceiling_nano bigint NOT NULL DEFAULT 0
        CONSTRAINT organisation_credit_ceiling_range CHECK (credit_ceiling_nano >= 0);
      UPDATE organisation o SET credit_ceiling_nano = given.sum FROM (
        SELECT u.organisation_id, sum(r.limit_nano)::bigint AS sum
          FROM user_account u JOIN spending_rule r ON r.kind = 'wallet' AND r.owner_id = u.id
         WHERE u.organisation_id IS NOT NULL AND r.limit_nano IS NOT NULL GROUP BY 1) AS given
       WHERE given.organisation_id = o.id;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE organisation DROP COLUMN credit_ceiling_nano');
  }
}
