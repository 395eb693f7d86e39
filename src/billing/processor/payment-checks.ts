import { differingGroups, type MoneyCheckQuery } from '../ledger/checks/money-check';
import { DISPUTED, REFUNDED } from './payment-facts';

/** Postings against the processor's account, each with the payment that its reference names. */
const posted = `
  SELECT t.id, t.kind, t.ref, split_part(t.ref, ':', 2) AS public_id, a.owner_id AS wallet_id, e.amount,
         CASE WHEN split_part(t.ref, ':', 3) ~ '^[0-9]{1,9}$' THEN split_part(t.ref, ':', 3)::integer END AS number
    FROM ledger_entry p JOIN ledger_account processor ON processor.id = p.account_id AND processor.kind = 'processor'
    JOIN ledger_transaction t ON t.id = p.transaction_id
    LEFT JOIN (ledger_entry e JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'wallet')
      ON e.transaction_id = t.id`;

/** Wallet that held payment `p` at one of its postings: merges of organisations hand payments over. */
const holderAt = (posting: string): string => `
  coalesce((SELECT h.wallet_id FROM payment_holder h WHERE h.payment_id = p.id AND h.from_posting <= ${posting}
             ORDER BY h.id DESC LIMIT 1), p.wallet_id)`;

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
    sql: `
      SELECT format('%s %s', posted.kind, posted.ref) AS what,
             coalesce('wallet ' || ${holderAt('posted.number')}, 'a payment') AS expected,
             CASE WHEN p.id IS NULL THEN 'none' ELSE coalesce('wallet ' || posted.wallet_id, 'no wallet') END AS found
        FROM (${posted}) AS posted LEFT JOIN payment p
          ON p.public_id::text = posted.public_id AND posted.ref LIKE 'payment:%'`,
  },
  {
    name: 'a payment is held by the wallet that a merge handed it to',
    reads: 'full',
    sql: `
      SELECT format('payment %s of wallet %s', p.public_id, p.wallet_id) AS what,
             'wallet ' || ${holderAt('p.postings + 1')} AS expected,
             'wallet ' || coalesce(p.holder_wallet_id, p.wallet_id) AS found
        FROM payment p`,
  },
];
