import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Refunds that operators order: at most one of a payment waits for its answer, and a form that comes again makes none. */
export class KeepRefundOrders1764100000000 implements MigrationInterface {
  readonly name = 'KeepRefundOrders1764100000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE refund_order (
        id                uuid        CONSTRAINT refund_order_pkey PRIMARY KEY,
        token             uuid        NOT NULL,
        payment_id        bigint      NOT NULL CONSTRAINT refund_order_payment_fkey REFERENCES payment,
        amount_cents      bigint      NOT NULL,
        total_after_cents bigint      NOT NULL,
        state             text        NOT NULL DEFAULT 'open',
        created_at        timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT refund_order_state_known CHECK (state IN ('open', 'made', 'refused', 'unanswered')),
        CONSTRAINT refund_order_amounts CHECK (amount_cents > 0 AND total_after_cents >= amount_cents)
      );
      CREATE UNIQUE INDEX refund_order_token ON refund_order (token) WHERE state IN ('open', 'made');
      CREATE UNIQUE INDEX refund_order_one_open ON refund_order (payment_id) WHERE state = 'open';
      GRANT SELECT, INSERT, UPDATE ON refund_order TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE refund_order');
  }
}
