import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Whether the customer at the processor is one of live mode; null where it is not known. Keys of one mode do not know
 * customers of the other.
 */
export class KnowCustomersMode1764110000000 implements MigrationInterface {
  readonly name = 'KnowCustomersMode1764110000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE billing_account ADD COLUMN customer_live boolean;
      UPDATE billing_account a SET customer_live =
          (SELECT p.live_mode FROM payment p WHERE p.wallet_id = a.wallet_id AND p.session_id IS NOT NULL
            ORDER BY p.id LIMIT 1)
        WHERE customer_id IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE billing_account DROP COLUMN customer_live');
  }
}
