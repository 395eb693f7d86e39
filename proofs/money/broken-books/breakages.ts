import { agreementBreakages } from './agreement-breakages';
import { type Breakage, randomRow } from './breakage';
import { invoiceBreakages } from './invoice-breakages';

const paidCondition = 'cost_nano > 0 AND wallet_id IS NOT NULL';
const record = randomRow('request_record', paidCondition, 'request_id');
const oneRecord = `request_id = ${record}`;
/** Older books have records without a key, and the report cannot name a missing key. */
const paidByKey = `${paidCondition} AND key_id IS NOT NULL`;
const oneRecordWithKey = `request_id = ${randomRow('request_record', paidByKey, 'request_id')}`;
/** Value of the same column from a different row. */
const otherValue = (column: string): string =>
  `(SELECT o.${column} FROM request_record o WHERE o.${column} <> r.${column} ORDER BY o.${column} LIMIT 1)`;
const aWallet = randomRow('spending_window', `kind = 'wallet' AND spent > 0`, 'owner_id');

export const breakages: readonly Breakage[] = [
  // Usage records.
  {
    what: 'a record is lost',
    sql: `DELETE FROM request_record WHERE ${oneRecord} RETURNING 'settlement ' || settlement_id AS told`,
  },
  {
    what: 'a record is there a second time, at another moment',
    sql: `INSERT INTO request_record SELECT (r).* FROM (
            SELECT jsonb_populate_record(r, jsonb_build_object('created_at', created_at + interval '1 s')) AS r
              FROM request_record r WHERE ${oneRecord}) AS copied RETURNING 'settlement ' || settlement_id AS told`,
  },
  {
    what: 'a call that was never made is charged',
    sql: `INSERT INTO request_record SELECT (r).* FROM (
            SELECT jsonb_populate_record(r, jsonb_build_object('request_id', gen_random_uuid())) AS r
              FROM request_record r WHERE ${oneRecord}) AS copied RETURNING 'settlement ' || settlement_id AS told`,
  },
  {
    what: 'a record costs less',
    sql: `UPDATE request_record SET cost_nano = cost_nano / 2 WHERE ${oneRecord} RETURNING 'request ' || request_id AS told`,
  },
  {
    what: 'a bit of a cost flips',
    sql: `UPDATE request_record SET cost_nano = cost_nano # 1 WHERE ${oneRecord} RETURNING 'settlement ' || settlement_id AS told`,
  },
  {
    what: 'a record has fewer tokens, at the same cost',
    sql: `UPDATE request_record SET output_tokens = output_tokens - 1 WHERE ${oneRecord} RETURNING 'request ' || request_id AS told`,
  },
  {
    what: 'a record and its hour have other tokens, in step',
    sql: `WITH r AS (UPDATE request_record r SET input_tokens = input_tokens + 7, cache_read_tokens = cache_read_tokens - 7
                      WHERE ${oneRecord} RETURNING r.*),
          u AS (UPDATE usage_hour u SET input_tokens = u.input_tokens + 7, cache_read_tokens = u.cache_read_tokens - 7
                  FROM r WHERE u.hour = date_trunc('hour', r.created_at) AND u.key_id = r.key_id AND u.model = r.model
                   AND u.wallet_id = r.wallet_id)
          SELECT 'request ' || request_id AS told FROM r`,
  },
  {
    what: 'a record forgets a fee',
    sql: `UPDATE request_record SET uses = NULL
           WHERE request_id = ${randomRow('request_record', 'uses IS NOT NULL', 'request_id')} RETURNING 'request ' || request_id AS told`,
  },
  {
    what: 'a record names another price',
    sql: `UPDATE request_record r SET price_id = ${otherValue('price_id')} WHERE ${oneRecord} RETURNING 'request ' || request_id AS told`,
  },
  {
    what: 'a record forgets the mark-up',
    sql: `UPDATE request_record SET price_factor = NULL
           WHERE request_id = ${randomRow('request_record', `price_factor IS NOT NULL AND ${paidCondition}`, 'request_id')}
          RETURNING 'request ' || request_id AS told`,
  },
  {
    what: 'a record moves to another key',
    sql: `UPDATE request_record r SET key_id = ${otherValue('key_id')} WHERE ${oneRecordWithKey} RETURNING 'key ' || key_id AS told`,
  },
  {
    what: 'a record moves to another person',
    sql: `UPDATE request_record r SET user_id = ${otherValue('user_id')} WHERE ${oneRecord} RETURNING 'user ' || user_id AS told`,
  },
  {
    what: 'a record leaves its organisation',
    sql: `UPDATE request_record r SET organisation_id = NULL
           WHERE request_id = ${randomRow('request_record', `organisation_id IS NOT NULL AND ${paidCondition}`, 'request_id')}
          RETURNING 'user ' || user_id AS told`,
  },
  {
    what: 'a record leaves its project',
    sql: `UPDATE request_record r SET project_id = NULL
           WHERE request_id = ${randomRow('request_record', `project_id IS NOT NULL AND ${paidByKey}`, 'request_id')}
          RETURNING 'key ' || key_id AS told`,
  },
  {
    what: 'a record moves to another wallet',
    sql: `UPDATE request_record r SET wallet_id = ${otherValue('wallet_id')} WHERE ${oneRecord} RETURNING 'wallet ' || wallet_id AS told`,
  },
  {
    what: 'a record moves to another wallet, and so does its usage',
    sql: `WITH r AS (SELECT * FROM request_record r WHERE ${oneRecordWithKey}),
          h AS (UPDATE request_record r SET wallet_id = ${otherValue('wallet_id')}
                 WHERE (r.key_id, r.wallet_id, date_trunc('hour', r.created_at)) IN
                       (SELECT key_id, wallet_id, date_trunc('hour', created_at) FROM r)
                RETURNING r.*, (SELECT r.wallet_id FROM r) AS before),
          u AS (UPDATE usage_hour u SET wallet_id = h.wallet_id FROM h WHERE u.wallet_id = h.before
                   AND u.key_id = h.key_id AND u.hour = date_trunc('hour', h.created_at))
          SELECT 'wallet ' || wallet_id AS told FROM h LIMIT 1`,
  },
  {
    what: 'a record becomes one of another model',
    sql: `UPDATE request_record r SET model = ${otherValue('model')} WHERE ${oneRecord} RETURNING 'model ' || model AS told`,
  },
  {
    what: 'a record becomes one of another supplier',
    sql: `UPDATE request_record r SET supplier = 'elsewhere' WHERE ${oneRecord} RETURNING 'supplier elsewhere' AS told`,
  },
  {
    what: 'a record moves to another hour',
    sql: `UPDATE request_record r SET created_at = created_at - interval '2 hours' WHERE ${oneRecordWithKey} RETURNING 'key ' || key_id AS told`,
  },
  {
    what: 'a record joins another settlement',
    sql: `UPDATE request_record r SET settlement_id = ${otherValue('settlement_id')} WHERE ${oneRecord} RETURNING 'settlement ' || settlement_id AS told`,
  },
  {
    what: 'a record was never settled',
    sql: `UPDATE request_record r SET settlement_id = NULL WHERE ${oneRecord} RETURNING 'request ' || request_id AS told`,
  },
  {
    what: 'a record and its settlement vanish, and the wallet has the money again',
    sql: `WITH r AS (DELETE FROM request_record WHERE settlement_id = ${randomRow('request_record', paidCondition, 'settlement_id')} RETURNING *),
          e AS (DELETE FROM ledger_entry e USING r WHERE e.transaction_id = r.settlement_id RETURNING 1),
          t AS (DELETE FROM ledger_transaction t USING r WHERE t.id = r.settlement_id RETURNING 1),
          w AS (UPDATE spending_window w SET spent = spent - (SELECT sum(cost_nano) FROM r)
                 WHERE w.kind = 'wallet' AND w.owner_id = (SELECT wallet_id FROM r LIMIT 1))
          SELECT 'wallet ' || wallet_id AS told FROM r LIMIT 1`,
  },
  // Usage sums.
  {
    what: 'an hour of usage costs less',
    sql: `UPDATE usage_hour u SET cost_nano = cost_nano - 1
           WHERE ctid = (SELECT o.ctid FROM usage_hour o WHERE cost_nano > 0 ORDER BY md5($1::text || o::text) LIMIT 1)
          RETURNING 'wallet ' || wallet_id AS told`,
  },
  {
    what: 'an hour of usage is gone',
    sql: `DELETE FROM usage_hour u
           WHERE ctid = (SELECT o.ctid FROM usage_hour o WHERE cost_nano > 0 ORDER BY md5($1::text || o::text) LIMIT 1)
          RETURNING 'wallet ' || wallet_id AS told`,
  },
  {
    what: 'a tag costs less than it used',
    sql: `UPDATE usage_label_hour u SET cost_nano = cost_nano / 2
           WHERE label = ${randomRow('usage_label_hour', 'cost_nano > 1', 'label')} RETURNING 'label ' || label AS told`,
  },
  {
    what: 'a day of a wallet costs less on its statement',
    sql: `UPDATE usage_day d SET cost_nano = cost_nano - 1
           WHERE dimension = 'wallet' AND number = ${randomRow('usage_day', `dimension = 'wallet' AND cost_nano > 0`, 'number')}
          RETURNING 'dimension wallet, number ' || number AS told`,
  },
  ...invoiceBreakages,
  ...agreementBreakages,
  // Limits and holds.
  {
    what: 'a wallet spent less',
    sql: `UPDATE spending_window SET spent = spent - 1 WHERE kind = 'wallet' AND owner_id = ${aWallet} RETURNING 'wallet ' || owner_id AS told`,
  },
  {
    what: 'a wallet has more',
    sql: `UPDATE spending_window SET limit_nano = limit_nano + 1000000000 WHERE kind = 'wallet' AND owner_id = ${aWallet}
          RETURNING 'wallet ' || owner_id AS told`,
  },
  {
    what: 'a wallet is gone',
    sql: `DELETE FROM spending_window WHERE kind = 'wallet' AND owner_id = ${aWallet} RETURNING 'wallet ' || owner_id AS told`,
  },
  {
    what: 'the credit limit of a wallet is higher',
    sql: `UPDATE spending_rule SET limit_nano = limit_nano + 1000000000 WHERE kind = 'wallet'
             AND owner_id = ${randomRow('spending_rule', `kind = 'wallet'`, 'owner_id')} RETURNING 'wallet ' || owner_id AS told`,
  },
  {
    what: 'a budget spent less',
    sql: `UPDATE spending_window SET spent = 0 WHERE id = ${randomRow('spending_window', `kind <> 'wallet' AND spent > 0`, 'id')}
          RETURNING kind || ' ' || owner_id AS told`,
  },
  {
    what: 'the budget that an organisation gave a person spent less than the one of the platform',
    sql: `UPDATE spending_window SET spent = spent - 1 WHERE kind = 'user_budget' AND spent > 0
          RETURNING kind || ' ' || owner_id AS told`,
  },
  {
    what: 'a window allows more than its budget',
    sql: `UPDATE spending_window SET limit_nano = limit_nano * 2 WHERE id = ${randomRow('spending_window', `kind <> 'wallet'`, 'id')}
          RETURNING kind || ' ' || owner_id AS told`,
  },
  {
    what: 'a raise of a budget is larger',
    sql: `UPDATE budget_raise SET amount_nano = amount_nano * 10 WHERE ended_at IS NULL RETURNING kind || ' ' || owner_id AS told`,
  },
  {
    what: 'the rule of a budget is gone',
    sql: `DELETE FROM spending_rule WHERE (kind, owner_id) = (SELECT kind, owner_id FROM spending_window w
            WHERE kind <> 'wallet' ORDER BY md5($1::text || w::text) LIMIT 1) RETURNING kind || ' ' || owner_id AS told`,
  },
  {
    what: 'an hour of a rolling budget becomes another, so that it leaves sooner',
    sql: `UPDATE spending_bucket SET hour = hour - interval '300 hours' WHERE spent > 0 AND window_id = ${randomRow('spending_bucket', 'spent > 0', 'window_id')}
          RETURNING 'window ' || window_id AS told`,
  },
  {
    what: 'a slice is larger than what was taken',
    sql: `UPDATE escrow_slice SET amount = amount + 5 WHERE window_id = ${randomRow('escrow_slice', 'amount > 0', 'window_id')}
          RETURNING (SELECT kind || ' ' || owner_id FROM spending_window WHERE id = window_id) AS told`,
  },
  {
    what: 'the node that holds a slice is gone',
    sql: `DELETE FROM escrow_lease WHERE id = ${randomRow('escrow_slice', 'amount > 0', 'lease_id')} RETURNING 'lease ' || id AS told`,
  },
  // Ledger.
  {
    what: 'an entry of a wallet is larger',
    sql: `UPDATE ledger_entry SET amount = amount + 1 WHERE transaction_id = ${randomRow('ledger_transaction', `kind = 'top-up'`, 'id')} AND amount > 0
          RETURNING (SELECT t.ref FROM ledger_transaction t WHERE t.id = transaction_id) AS told`,
  },
  {
    what: 'a top-up is larger in all its entries, and so is the wallet',
    sql: `WITH t AS (SELECT * FROM ledger_transaction WHERE kind = 'top-up' ORDER BY md5($1::text || ref) LIMIT 1),
          e AS (UPDATE ledger_entry e SET amount = amount + CASE WHEN amount > 0 THEN 1000000000 ELSE -1000000000 END
                  FROM t WHERE e.transaction_id = t.id RETURNING e.account_id),
          w AS (UPDATE spending_window w SET limit_nano = limit_nano + 1000000000 FROM e JOIN ledger_account a ON a.id = e.account_id
                 WHERE a.kind = 'wallet' AND w.kind = 'wallet' AND w.owner_id = a.owner_id)
          SELECT split_part(ref, ':', 2) AS told FROM t`,
  },
  {
    what: 'a top-up that nobody paid',
    sql: `WITH t AS (INSERT INTO ledger_transaction (kind, ref) VALUES ('top-up', 'payment:' || gen_random_uuid() || ':1') RETURNING *),
          e AS (INSERT INTO ledger_entry (transaction_id, account_id, amount, is_posting)
                SELECT t.id, a.id, CASE a.kind WHEN 'wallet' THEN 5000000000 ELSE -5000000000 END, true FROM t, ledger_account a
                 WHERE (a.kind = 'wallet' AND a.owner_id = ${aWallet}) OR a.kind = 'processor'),
          w AS (UPDATE spending_window SET limit_nano = limit_nano + 5000000000 WHERE kind = 'wallet' AND owner_id = ${aWallet})
          SELECT ref AS told FROM t`,
  },
  {
    what: 'a refund never reached the wallet',
    sql: `WITH t AS (DELETE FROM ledger_transaction WHERE kind = 'refund' RETURNING *),
          e AS (DELETE FROM ledger_entry e USING t WHERE e.transaction_id = t.id RETURNING e.*),
          w AS (UPDATE spending_window w SET limit_nano = limit_nano - e.amount FROM e JOIN ledger_account a ON a.id = e.account_id
                 WHERE a.kind = 'wallet' AND w.kind = 'wallet' AND w.owner_id = a.owner_id)
          SELECT split_part(ref, ':', 2) AS told FROM t`,
  },
  {
    what: 'an entry lost its transaction',
    sql: `DELETE FROM ledger_transaction WHERE id = ${randomRow('ledger_transaction', `kind = 'settlement'`, 'id')} RETURNING 'transaction ' || id AS told`,
  },
  {
    what: 'an entry is gone',
    sql: `DELETE FROM ledger_entry WHERE amount < 0 AND transaction_id = ${randomRow('ledger_transaction', `kind = 'settlement'`, 'id')}
          RETURNING 'settlement ' || transaction_id AS told`,
  },
  {
    what: 'a posting moves to another wallet, and both wallets with it',
    sql: `WITH e AS (SELECT e.*, a.owner_id FROM ledger_entry e JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'wallet'
                      JOIN ledger_transaction t ON t.id = e.transaction_id AND t.kind = 'top-up'
                     ORDER BY md5($1::text || t.ref) LIMIT 1),
          o AS (SELECT a.* FROM ledger_account a, e WHERE a.kind = 'wallet' AND a.id <> e.account_id
                   AND NOT EXISTS (SELECT FROM ledger_entry x WHERE x.transaction_id = e.transaction_id AND x.account_id = a.id)
                 ORDER BY a.id LIMIT 1),
          u AS (UPDATE ledger_entry l SET account_id = o.id FROM e, o
                 WHERE l.transaction_id = e.transaction_id AND l.account_id = e.account_id),
          w AS (UPDATE spending_window w SET limit_nano = limit_nano + CASE w.owner_id WHEN o.owner_id THEN e.amount ELSE -e.amount END
                  FROM e, o WHERE w.kind = 'wallet' AND w.owner_id IN (e.owner_id, o.owner_id))
          SELECT t.ref AS told FROM e JOIN ledger_transaction t ON t.id = e.transaction_id`,
  },
  {
    what: 'a posting is hidden among settlements',
    sql: `UPDATE ledger_entry SET is_posting = false WHERE transaction_id = ${randomRow('ledger_transaction', `kind = 'refund'`, 'id')}
          RETURNING (SELECT t.ref FROM ledger_transaction t WHERE t.id = transaction_id) AS told`,
  },
  {
    what: 'a settlement is of another day',
    sql: `UPDATE ledger_transaction SET created_at = created_at - interval '3 days'
           WHERE id = ${randomRow('ledger_transaction', `kind = 'settlement'`, 'id')} RETURNING 'settlement ' || id AS told`,
  },
  {
    what: 'an account belongs to another wallet',
    sql: `UPDATE ledger_account SET owner_id = 987654 WHERE kind = 'wallet' AND owner_id = ${aWallet} RETURNING 'wallet 987654' AS told`,
  },
  // Payments and promotions.
  {
    what: 'a payment credits more than was paid, in all books but its own sum',
    sql: `WITH p AS (UPDATE payment SET credited_nano = credited_nano - 10000000
                      WHERE id = ${randomRow('payment', `state = 'paid' AND credited_nano > 10000000`, 'id')} RETURNING *)
          SELECT 'payment ' || public_id AS told FROM p`,
  },
  {
    what: 'a payment is gone',
    sql: `DELETE FROM payment WHERE id = ${randomRow('payment', `state = 'paid'`, 'id')} RETURNING public_id::text AS told`,
  },
  {
    what: 'a payment forgets its refund',
    sql: `UPDATE payment SET refunded_cents = 0 WHERE refunded_cents > 0 RETURNING 'payment ' || public_id AS told`,
  },
  {
    what: 'a dispute is gone',
    sql: `WITH d AS (DELETE FROM processor_dispute RETURNING *)
          SELECT 'payment ' || p.public_id AS told FROM payment p JOIN d USING (payment_intent_id)`,
  },
  {
    what: 'a payment belongs to another wallet',
    sql: `UPDATE payment p SET wallet_id = (SELECT b.wallet_id FROM billing_account b WHERE b.wallet_id <> p.wallet_id ORDER BY 1 LIMIT 1)
           WHERE id = ${randomRow('payment', `state = 'paid'`, 'id')} RETURNING public_id::text AS told`,
  },
  {
    what: 'a payment is held by another wallet than the one that a merge handed it to',
    sql: `UPDATE payment p SET holder_wallet_id = (SELECT b.wallet_id FROM billing_account b
                                               WHERE b.wallet_id <> coalesce(p.holder_wallet_id, p.wallet_id) ORDER BY 1 LIMIT 1)
           WHERE id = ${randomRow('payment', `state = 'paid'`, 'id')} RETURNING 'payment ' || public_id AS told`,
  },
  {
    what: 'a merge handed over a payment, and nobody knows',
    sql: `WITH h AS (DELETE FROM payment_holder RETURNING payment_id)
          SELECT 'payment ' || p.public_id AS told FROM payment p JOIN h ON h.payment_id = p.id`,
  },
  {
    what: 'a promotion grants more than its posting',
    sql: `UPDATE promotion_credit SET amount = amount * 2, remaining = remaining + amount
           WHERE grant_id = ${randomRow('promotion_credit', 'true', 'grant_id')} RETURNING 'grant ' || grant_id AS told`,
  },
  {
    what: 'a promotion says that it was taken back, and was not',
    sql: `UPDATE promotion_credit SET reclaimed = reclaimed + remaining, remaining = 0 WHERE remaining > 0 RETURNING 'grant ' || grant_id AS told`,
  },
  {
    what: 'a promotion is used up without any spending, so that its end takes nothing back',
    sql: `UPDATE promotion_credit SET remaining = 0 WHERE remaining > 0 RETURNING 'wallet ' || wallet_id AS told`,
  },
  {
    what: 'a promotion of a wallet is gone',
    sql: `DELETE FROM promotion_credit WHERE grant_id = ${randomRow('promotion_credit', 'true', 'grant_id')} RETURNING 'grant ' || grant_id AS told`,
  },
  // Prices.
  {
    what: 'a price that was charged by is lower',
    sql: `UPDATE price SET output = output - 1000000 WHERE id = ${randomRow('request_record', paidCondition, 'price_id')}
          RETURNING (SELECT 'request ' || request_id FROM request_record WHERE price_id = id AND output_tokens > 0 ORDER BY 1 LIMIT 1) AS told`,
  },
  {
    what: 'a price that was charged by is gone',
    sql: `DELETE FROM price WHERE id = ${randomRow('request_record', paidCondition, 'price_id')}
          RETURNING (SELECT 'request ' || request_id FROM request_record WHERE price_id = id ORDER BY 1 LIMIT 1) AS told`,
  },
  {
    what: 'a mark-up was another one, looking back',
    sql: `UPDATE organisation_markup SET factor = 1010000
          RETURNING (SELECT 'request ' || request_id FROM request_record WHERE price_factor IS NOT NULL ORDER BY 1 LIMIT 1) AS told`,
  },
  {
    what: 'the books are sealed into the future, so that news are not read',
    sql: `UPDATE money_seal SET sealed_to = now() + interval '10 years' RETURNING '"what":"seal"' AS told`,
  },
];
