import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Which wallet held a payment from which of its postings on: each is in the wallet that held the payment then. A trigger
 * writes the rows, so merges by nodes of the version before leave them too.
 */
export class KeepPaymentHolders1764700300000 implements MigrationInterface {
  readonly name = 'KeepPaymentHolders1764700300000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE payment_holder (
        id           bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT payment_holder_pkey PRIMARY KEY,
        payment_id   bigint      NOT NULL CONSTRAINT payment_holder_payment_fkey REFERENCES payment,
        wallet_id    integer     NOT NULL CONSTRAINT payment_holder_wallet_fkey REFERENCES user_account,
        from_posting integer     NOT NULL,
        held_since   timestamptz NOT NULL DEFAULT clock_timestamp()
      );
      CREATE INDEX payment_holder_by_payment ON payment_holder (payment_id, id DESC);
      GRANT SELECT ON payment_holder TO switchboard_app;

      CREATE FUNCTION keep_payment_holder() RETURNS trigger
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
      BEGIN
        INSERT INTO payment_holder (payment_id, wallet_id, from_posting)
          VALUES (NEW.id, coalesce(NEW.holder_wallet_id, NEW.wallet_id), NEW.postings + 1);
        RETURN NULL;
      END $$;
      CREATE TRIGGER payment_keeps_holders AFTER UPDATE OF holder_wallet_id ON payment
        FOR EACH ROW WHEN (OLD.holder_wallet_id IS DISTINCT FROM NEW.holder_wallet_id)
        EXECUTE FUNCTION keep_payment_holder();

      -- A merge of an empty wallet left no trace, so each posting of today is taken to be in its right wallet.
      INSERT INTO payment_holder (payment_id, wallet_id, from_posting)
        SELECT p.id, a.owner_id, posting.number
          FROM payment p CROSS JOIN LATERAL generate_series(1, p.postings) AS posting (number)
          JOIN ledger_transaction t ON t.ref = format('payment:%s:%s', p.public_id, posting.number)
           AND t.kind IN ('top-up', 'refund', 'refund-failed', 'dispute', 'dispute-won')
          JOIN ledger_entry e ON e.transaction_id = t.id
          JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'wallet'
         WHERE p.holder_wallet_id IS NOT NULL
        UNION ALL
        SELECT id, holder_wallet_id, postings + 1 FROM payment WHERE holder_wallet_id IS NOT NULL
        ORDER BY 1, 3;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER payment_keeps_holders ON payment;
      DROP FUNCTION keep_payment_holder();
      DROP TABLE payment_holder;
    `);
  }
}
