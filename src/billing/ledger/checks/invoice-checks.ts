import { differingGroups, type MoneyCheckQuery } from './money-check';

export const invoiceChecks: readonly MoneyCheckQuery[] = [
  {
    name: 'a payment of an invoice is in the ledger, and so is its undoing',
    reads: 'full',
    sql: differingGroups(
      {
        expected: `
          SELECT id::text, -payer_id, amount_nano, CASE WHEN undone_at IS NULL THEN 0 ELSE amount_nano END
            FROM invoice_payment`,
        found: `
          SELECT t.ref, a.owner_id, CASE t.kind WHEN 'invoice-payment' THEN -p.amount ELSE 0 END,
                 CASE t.kind WHEN 'invoice-payment' THEN 0 ELSE p.amount END
            FROM ledger_entry p JOIN ledger_account receipt ON receipt.id = p.account_id AND receipt.kind = 'receipt'
            JOIN ledger_transaction t ON t.id = p.transaction_id
            LEFT JOIN (ledger_entry e JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'wallet')
              ON e.transaction_id = t.id`,
      },
      ['payment', 'account'],
      ['paid_nano', 'taken_back_nano'],
    ),
  },
  {
    name: 'what leaves the invoices of a payer goes to their wallet',
    reads: 'full',
    sql: `
      SELECT format('%s %s', t.kind, t.ref) AS what, 'their invoices and their wallet' AS expected,
             CASE WHEN count(*) = 2 AND sum(a.owner_id) = 0 AND min(a.kind) = 'wallet' AND max(a.kind) = 'wallet'
                       AND max(a.owner_id)::text = split_part(t.ref, ' ', 1)
                  THEN 'their invoices and their wallet'
                  ELSE string_agg(format('%s %s', a.kind, a.owner_id), ', ' ORDER BY a.id) END AS found
        FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id
        JOIN ledger_account a ON a.id = e.account_id
       WHERE t.kind = 'invoice-left' GROUP BY t.id, t.kind, t.ref`,
  },
];
