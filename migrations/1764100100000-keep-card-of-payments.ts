import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The card of an automatic top-up: a call that is repeated names the same one, whichever is the default by then. */
export class KeepCardOfPayments1764100100000 implements MigrationInterface {
  readonly name = 'KeepCardOfPayments1764100100000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE payment ADD COLUMN method_id integer CONSTRAINT payment_method_fkey REFERENCES payment_method;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payment DROP COLUMN method_id');
  }
}
