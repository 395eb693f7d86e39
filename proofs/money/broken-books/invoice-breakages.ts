import { type Breakage, randomRow } from './breakage';

/** Breakages in the books of payers by invoice. */
export const invoiceBreakages: readonly Breakage[] = [
  {
    what: 'a payment of an invoice is larger',
    sql: `UPDATE invoice_payment SET amount_nano = amount_nano * 2 WHERE id = ${randomRow('invoice_payment', 'true', 'id')}
          RETURNING 'account ' || -payer_id AS told`,
  },
  {
    what: 'a payment of an invoice that was undone stands again',
    sql: `UPDATE invoice_payment SET undone_at = NULL WHERE id = ${randomRow('invoice_payment', 'undone_at IS NOT NULL', 'id')}
          RETURNING 'payment ' || id AS told`,
  },
  {
    what: 'a payment of an invoice is gone',
    sql: `DELETE FROM invoice_payment WHERE id = ${randomRow('invoice_payment', 'true', 'id')} RETURNING 'payment ' || id AS told`,
  },
  {
    what: 'a payment of an invoice becomes that of another payer',
    sql: `UPDATE invoice_payment p SET reference = 'moved', payer_id = (SELECT min(o.payer_id) FROM invoice_payment o WHERE o.payer_id <> p.payer_id)
           WHERE id = ${randomRow('invoice_payment', 'true', 'id')} RETURNING 'payment ' || id AS told`,
  },
  {
    what: 'what was owed leaves for the wallet of another',
    sql: `UPDATE ledger_entry e SET account_id = (SELECT min(o.id) FROM ledger_account o
             WHERE o.kind = 'wallet' AND o.owner_id > 0 AND o.id <> e.account_id)
           WHERE e.transaction_id = ${randomRow('ledger_transaction', `kind = 'invoice-left'`, 'id')}
             AND e.account_id IN (SELECT id FROM ledger_account WHERE kind = 'wallet' AND owner_id > 0)
          RETURNING (SELECT t.kind || ' ' || t.ref FROM ledger_transaction t WHERE t.id = e.transaction_id) AS told`,
  },
  {
    what: 'usage by invoice becomes usage of the wallet',
    sql: `UPDATE request_record SET wallet_id = -wallet_id WHERE request_id = ${randomRow('request_record', 'wallet_id < 0', 'request_id')}
          RETURNING 'wallet ' || wallet_id AS told`,
  },
  {
    what: 'less is owed by invoice',
    sql: `UPDATE spending_window SET spent = spent - 1 WHERE kind = 'wallet' AND owner_id < 0 AND spent > 0
          RETURNING 'wallet ' || owner_id AS told`,
  },
];
