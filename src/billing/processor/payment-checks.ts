import { differingGroups, type MoneyCheckQuery } from '../ledger/checks/money-check';
import { DISPUTED, REFUNDED } from './payment-facts';

/** Postings against the processor's account, with the payment that their reference names. */
const posted = `
  SELECT t.id, t.kind, t.ref, split_part(t.ref, ':', 2) AS public_id, a.owner_id AS wallet_id, e.amount
    FROM ledger_entry p JOIN ledger_account processor ON processor.id = p.account_id AND processor.kind = 'processor'
    JOIN ledger_transaction t ON t.id = p.transaction_id
    LEFT JOIN (ledger_entry e JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'wallet')
      ON e.transaction_id = t.id`;

export const paymentChecks: readonly MoneyCheckQuery[] = [
  {
    name: 'a payment credits what was paid less what was taken back',
    reads: 'full',
    sql: `
      SELECT format('payment %s of wallet %s', p.public_id, p.wallet_id) AS what,
             CASE WHEN p.state = 'paid' THEN p.net_cents::numeric * 10000000 - div(p.net_cents::numeric * 10000000
                    * least(p.refunded_cents + p.disputed_cents, p.gross_cents), p.gross_cents)
                  ELSE 0 END::text AS expected,
             p.credited_nano::text AS found
        FROM payment p`,
  },
  {
    name: 'a payment knows its refunds and disputes',
    reads: 'full',
    sql: `
      SELECT format('payment %s of wallet %s', p.public_id, p.wallet_id) AS what,
             format('%s cents refunded, %s refused, %s disputed', told.refunded, told.failed, (${DISPUTED})) AS expected,
             format('%s cents refunded, %s refused, %s disputed', p.refunded_cents, p.failed_refund_cents,
                    p.disputed_cents) AS found
        FROM payment p CROSS JOIN LATERAL (${REFUNDED}) AS told (refunded, failed)
       WHERE p.state = 'paid' AND p.payment_intent_id IS NOT NULL`,
  },
  {
    name: 'a payment is in the ledger',
    reads: 'full',
    sql: differingGroups(
      {
        expected: 'SELECT p.public_id::text, p.credited_nano, p.postings FROM payment p',
        found: `SELECT public_id, amount, 1 FROM (${posted}) AS posted WHERE ref LIKE 'payment:%'`,
      },
      ['payment'],
      ['credited_nano', 'postings'],
    ),
  },
  {
    name: 'money of the processor is of a payment, in its wallet',
    reads: 'full',
    // After a merge of organisations another wallet holds the payment, and postings may be in either.
    sql: `
      SELECT format('%s %s', posted.kind, posted.ref) AS what,
             coalesce('wallet ' || p.wallet_id, 'a payment') AS expected,
             CASE WHEN p.id IS NULL THEN 'none' ELSE coalesce('wallet ' || posted.wallet_id, 'no wallet') END AS found
        FROM (${posted}) AS posted LEFT JOIN payment p
          ON p.public_id::text = posted.public_id AND posted.ref LIKE 'payment:%'
       WHERE p.id IS NULL OR (p.holder_wallet_id IS NULL AND p.wallet_id IS DISTINCT FROM posted.wallet_id)`,
  },
];
