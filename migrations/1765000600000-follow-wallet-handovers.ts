import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Wallets whose balance went to another one while nodes still held slices of it: the money that returns follows. */
export class FollowWalletHandovers1765000600000 implements MigrationInterface {
  readonly name = 'FollowWalletHandovers1765000600000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE wallet_handover (
        from_wallet   bigint      CONSTRAINT wallet_handover_pkey PRIMARY KEY,
        to_wallet     bigint      NOT NULL,
        kind          text        NOT NULL,
        ref           text        NOT NULL,
        expected_nano bigint      NOT NULL CONSTRAINT wallet_handover_expects_money CHECK (expected_nano > 0),
        spent_nano    bigint      NOT NULL,
        parts         integer     NOT NULL DEFAULT 0,
        opened_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT wallet_handover_moves CHECK (from_wallet <> to_wallet)
      );
      GRANT SELECT ON wallet_handover TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION IF EXISTS money_follow(bigint);
      DROP TABLE wallet_handover;
    `);
  }
}
