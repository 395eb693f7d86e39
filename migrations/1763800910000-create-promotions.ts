import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Promotions: who is granted how much until when, what each wallet got of it, and what is left of that. */
export class CreatePromotions1763800910000 implements MigrationInterface {
  readonly name = 'CreatePromotions1763800910000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE promotion_grant (
        id              integer GENERATED ALWAYS AS IDENTITY CONSTRAINT promotion_grant_pkey PRIMARY KEY,
        name            text        NOT NULL,
        scope           text        NOT NULL,
        user_id         integer     CONSTRAINT promotion_grant_user_fkey REFERENCES user_account,
        organisation_id integer     CONSTRAINT promotion_grant_organisation_fkey REFERENCES organisation ON DELETE SET NULL,
        amount          bigint      NOT NULL,
        expires_at      timestamptz,
        created_by      integer     NOT NULL CONSTRAINT promotion_grant_created_by_fkey REFERENCES user_account,
        created_at      timestamptz NOT NULL DEFAULT now(),
        version         integer     NOT NULL DEFAULT 1,
        CONSTRAINT promotion_grant_scope_known CHECK (scope IN ('user', 'organisation', 'everyone')),
        CONSTRAINT promotion_grant_amount_positive CHECK (amount > 0)
      );
      CREATE TABLE promotion_credit (
        grant_id    integer     NOT NULL CONSTRAINT promotion_credit_grant_fkey REFERENCES promotion_grant,
        wallet_id   integer     NOT NULL,
        amount      bigint      NOT NULL,
        remaining   bigint      NOT NULL,
        reclaimed   bigint      NOT NULL DEFAULT 0,
        credited_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT promotion_credit_pkey PRIMARY KEY (grant_id, wallet_id),
        CONSTRAINT promotion_credit_remaining_known CHECK (remaining BETWEEN 0 AND amount)
      );
      CREATE INDEX promotion_credit_by_wallet ON promotion_credit (wallet_id) WHERE remaining > 0;
      -- How much of a wallet's spending has been taken from its promotions already.
      CREATE TABLE promotion_wallet (
        wallet_id integer CONSTRAINT promotion_wallet_pkey PRIMARY KEY,
        spent     bigint  NOT NULL
      );
      GRANT SELECT, INSERT, UPDATE ON promotion_grant, promotion_credit, promotion_wallet TO switchboard_app;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE promotion_wallet, promotion_credit, promotion_grant');
  }
}
