import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Who is billed by invoice has an account beside the wallet, under the negated number: what is used goes there, and what
 * is paid. Whoever was called so before was served from the wallet. With a credit limit or a budget they have its
 * amount as credit now; without, they become what they were: prepaid.
 */
export class OpenInvoiceAccounts1764800110000 implements MigrationInterface {
  readonly name = 'OpenInvoiceAccounts1764800110000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ${knownAccounts([...accounts, 'receipt'])}
      INSERT INTO ledger_account (kind) VALUES ('receipt');

      CREATE TABLE invoice_payment (
        id          bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT invoice_payment_pkey PRIMARY KEY,
        payer_id    integer     NOT NULL CONSTRAINT invoice_payment_payer_fkey REFERENCES user_account,
        reference   text        NOT NULL,
        amount_nano bigint      NOT NULL CONSTRAINT invoice_payment_amount_positive CHECK (amount_nano > 0),
        recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        undone_at   timestamptz,
        CONSTRAINT invoice_payment_once UNIQUE (payer_id, reference)
      );
      CREATE INDEX invoice_payment_by_payer ON invoice_payment (payer_id, id DESC);
      GRANT SELECT, INSERT ON invoice_payment TO switchboard_app;
      GRANT UPDATE (undone_at) ON invoice_payment TO switchboard_app;

      CREATE CONSTRAINT TRIGGER user_account_bills_keys AFTER UPDATE OF billing_type ON user_account
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.billing_type IS DISTINCT FROM NEW.billing_type)
        EXECUTE FUNCTION announce_key_change('user_account');

      CREATE TEMPORARY TABLE invoiced ON COMMIT DROP AS
        SELECT u.id, coalesce(nullif((SELECT r.limit_nano FROM spending_rule r WHERE r.kind = 'wallet' AND r.owner_id = u.id), 0),
                              (SELECT min(r.limit_nano) FROM spending_rule r
                                WHERE r.kind IN ('user', 'user_budget') AND r.owner_id = u.id), 0) AS credit
          FROM user_account u WHERE u.billing_type = 'invoiced';
      UPDATE user_account u SET billing_type = 'prepaid' FROM invoiced i WHERE i.id = u.id AND i.credit = 0;
      INSERT INTO ledger_account (kind, owner_id) SELECT 'wallet', -id FROM invoiced WHERE credit > 0;
      INSERT INTO spending_rule (kind, owner_id, period, limit_nano)
        SELECT 'wallet', -id, 'lifetime', credit FROM invoiced WHERE credit > 0;
      INSERT INTO spending_window (kind, owner_id, period, starts_at, ends_at, limit_nano)
        SELECT 'wallet', -id, 'lifetime', '-infinity', 'infinity', credit FROM invoiced WHERE credit > 0;
    `);
  }

  /** Invoices that were used or paid cannot be taken back: the ledger only grows. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER user_account_bills_keys ON user_account;
      DROP TABLE invoice_payment;
      DELETE FROM spending_window WHERE kind = 'wallet' AND owner_id < 0;
      DELETE FROM spending_rule WHERE kind = 'wallet' AND owner_id < 0;
      ALTER TABLE ledger_account DISABLE TRIGGER ledger_account_is_final;
      DELETE FROM ledger_account WHERE kind = 'receipt' OR owner_id < 0;
      ALTER TABLE ledger_account ENABLE TRIGGER ledger_account_is_final;
      ${knownAccounts(accounts)}
    `);
  }
}

const accounts = ['wallet', 'usage', 'processor', 'promotion', 'adjustment'];

const knownAccounts = (names: readonly string[]): string => `
  ALTER TABLE ledger_account DROP CONSTRAINT ledger_account_kind_known, ADD CONSTRAINT ledger_account_kind_known
    CHECK (kind IN (${names.map((name) => `'${name}'`).join(', ')}));`;
