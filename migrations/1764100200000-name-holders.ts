import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The wallet that holds the money of a payment or a promotion, where a merge of organisations moved it. What is taken
 * back later is taken from there.
 */
export class NameHolders1764100200000 implements MigrationInterface {
  readonly name = 'NameHolders1764100200000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE payment ADD COLUMN holder_wallet_id integer
        CONSTRAINT payment_holder_fkey REFERENCES user_account;
      CREATE INDEX payment_by_holder ON payment (holder_wallet_id) WHERE holder_wallet_id IS NOT NULL;
      ALTER TABLE promotion_credit ADD COLUMN holder_wallet_id integer
        CONSTRAINT promotion_credit_holder_fkey REFERENCES user_account;
      CREATE INDEX promotion_credit_by_holder ON promotion_credit (holder_wallet_id)
        WHERE holder_wallet_id IS NOT NULL AND remaining > 0;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE promotion_credit DROP COLUMN holder_wallet_id;
      ALTER TABLE payment DROP COLUMN holder_wallet_id;
    `);
  }
}
