import { differingGroups, type MoneyCheckQuery } from '../ledger/checks/money-check';

/** The reference of a posting against the promotion account is `GRANT to WALLET` or `GRANT from WALLET after …`. */
const posted = `
  SELECT t.kind, split_part(t.ref, ' ', 1) AS grant_id, split_part(t.ref, ' ', 3) AS wallet_id, e.amount
    FROM ledger_transaction t JOIN ledger_entry e ON e.transaction_id = t.id
    JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'promotion'
   WHERE t.kind IN ('promotion', 'promotion-expired')`;

export const promotionChecks: readonly MoneyCheckQuery[] = [
  {
    name: 'a promotion is in the ledger as granted and taken back',
    reads: 'full',
    sql: differingGroups(
      {
        expected: 'SELECT grant_id::text, wallet_id::text, amount, reclaimed FROM promotion_credit',
        found: `
          SELECT grant_id, wallet_id, CASE kind WHEN 'promotion' THEN -amount ELSE 0 END,
                 CASE kind WHEN 'promotion' THEN 0 ELSE amount END FROM (${posted}) AS posted`,
      },
      ['grant_id', 'wallet_id'],
      ['granted_nano', 'taken_back_nano'],
    ),
  },
  {
    name: 'a promotion is what was granted, less what was spent and taken back',
    reads: 'full',
    sql: `
      SELECT format('grant %s to wallet %s', c.grant_id, c.wallet_id) AS what,
             coalesce(g.amount::text, 'a grant') AS expected,
             CASE WHEN g.id IS NULL THEN 'none' WHEN c.amount <> g.amount THEN c.amount::text
                  ELSE format('%s taken back, %s left', c.reclaimed, c.remaining) END AS found
        FROM promotion_credit c LEFT JOIN promotion_grant g ON g.id = c.grant_id
       WHERE g.id IS NULL OR c.amount <> g.amount OR c.reclaimed + c.remaining > c.amount OR c.reclaimed < 0`,
  },
  {
    name: 'a wallet used no more of its promotions than it spent',
    reads: 'full',
    sql: `
      SELECT format('wallet %s', c.wallet_id) AS what, format('at most %s', coalesce(w.spent, 0)) AS expected,
             c.used::text AS found
        FROM (SELECT wallet_id, sum(amount - remaining - reclaimed) AS used FROM promotion_credit
               WHERE holder_wallet_id IS NULL GROUP BY wallet_id) AS c
        LEFT JOIN promotion_wallet w ON w.wallet_id = c.wallet_id
       WHERE c.used > coalesce(w.spent, 0)`,
  },
];
