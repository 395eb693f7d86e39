import { type Breakage, randomRow } from './breakage';

const MONTH = `interval '31 days'`;
const aPayment = randomRow('payment', `state = 'paid'`, 'id');
const anAdjustment = randomRow('ledger_transaction', `kind = 'adjustment'`, 'id');
const returnPayment = `RETURNING 'payment ' || public_id AS told`;

/** Changes a posting in all its entries and the wallet's balance with it, so that the sums still agree. */
const changePosting = (transaction: string, factor: string): string => `
  t AS (SELECT * FROM ledger_transaction WHERE id = ${transaction}),
  e AS (UPDATE ledger_entry e SET amount = trunc(amount * ${factor})::bigint FROM t WHERE e.transaction_id = t.id
        RETURNING e.account_id, e.amount, trunc(e.amount / (${factor}))::bigint AS before),
  w AS (UPDATE spending_window w SET limit_nano = limit_nano + e.amount - e.before
          FROM e JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'wallet'
         WHERE w.kind = 'wallet' AND w.owner_id = a.owner_id RETURNING w.owner_id)`;

/** Removes the postings of a payment `p` and all their effects on its wallet. */
const removePostings = (condition: string): string => `
  t AS (DELETE FROM ledger_transaction t USING p
         WHERE t.ref LIKE 'payment:' || p.public_id || ':%' AND ${condition} RETURNING t.*),
  e AS (DELETE FROM ledger_entry e USING t WHERE e.transaction_id = t.id RETURNING e.*),
  w AS (UPDATE spending_window w SET limit_nano = limit_nano - back.amount
          FROM (SELECT a.owner_id, sum(e.amount) AS amount FROM e JOIN ledger_account a ON a.id = e.account_id
                 WHERE a.kind = 'wallet' GROUP BY a.owner_id) AS back
         WHERE w.kind = 'wallet' AND w.owner_id = back.owner_id)`;

const createAccount = (kind: string): string => `
  UPDATE ledger_entry e SET account_id = (SELECT id FROM ledger_account WHERE kind = '${kind}' LIMIT 1)`;

/**
 * Consistent breakages: the sums agree, but other rows contradict the change. The first group covers the finding that
 * led to this list.
 */
export const agreementBreakages: readonly Breakage[] = [
  {
    what: 'an adjustment is deleted, and the wallet is without it',
    sql: `WITH t AS (DELETE FROM ledger_transaction WHERE id = ${anAdjustment} RETURNING *),
          e AS (DELETE FROM ledger_entry e USING t WHERE e.transaction_id = t.id RETURNING e.*),
          w AS (UPDATE spending_window w SET limit_nano = limit_nano - e.amount FROM e JOIN ledger_account a ON a.id = e.account_id
                 WHERE a.kind = 'wallet' AND w.kind = 'wallet' AND w.owner_id = a.owner_id RETURNING w.owner_id)
          SELECT 'wallet ' || owner_id AS told FROM w`,
  },
  {
    what: 'an adjustment is tenfold',
    sql: `WITH ${changePosting(anAdjustment, '10')} SELECT 'wallet ' || owner_id AS told FROM w`,
  },
  {
    what: 'the fee of a payment is stolen: gross and fee are larger',
    sql: `UPDATE payment SET gross_cents = gross_cents + 100, fee_cents = fee_cents + 100
           WHERE id = ${randomRow('payment', `state = 'paid' AND refunded_cents + disputed_cents = 0`, 'id')} ${returnPayment}`,
  },
  {
    what: 'a fee was never charged: gross is net',
    sql: `UPDATE payment SET gross_cents = net_cents, fee_cents = 0
           WHERE id = ${randomRow('payment', `state = 'paid' AND refunded_cents + disputed_cents = 0`, 'id')} ${returnPayment}`,
  },
  {
    what: 'a paid top-up is undone: the payment failed, and its money is gone',
    sql: `WITH p AS (UPDATE payment SET state = 'failed', paid_at = NULL, credited_nano = 0, postings = 0
                      WHERE id = ${randomRow('payment', `state = 'paid' AND refunded_cents + disputed_cents = 0`, 'id')} RETURNING *),
          ${removePostings('true')} SELECT 'payment ' || public_id AS told FROM p`,
  },
  {
    what: 'a dispute is smaller in all books',
    sql: `WITH d AS (UPDATE processor_dispute SET amount_cents = 0 RETURNING *),
          p AS (UPDATE payment p SET disputed_cents = 0, credited_nano = net_cents * 10000000, postings = 1 FROM d
                 WHERE p.payment_intent_id = d.payment_intent_id RETURNING p.*),
          ${removePostings(`t.kind = 'dispute'`)} SELECT 'payment ' || public_id AS told FROM p`,
  },
  {
    what: 'a top-up becomes an adjustment, and its payment failed',
    sql: `WITH p AS (UPDATE payment SET state = 'failed', paid_at = NULL, credited_nano = 0, postings = 0
                      WHERE id = ${randomRow('payment', `state = 'paid' AND refunded_cents + disputed_cents = 0`, 'id')} RETURNING *),
          t AS (UPDATE ledger_transaction t SET kind = 'adjustment', ref = gen_random_uuid()::text FROM p
                 WHERE t.ref = 'payment:' || p.public_id || ':1' RETURNING t.*),
          e AS (${createAccount('adjustment')} FROM t WHERE e.transaction_id = t.id AND e.amount < 0)
          SELECT 'payment ' || public_id AS told FROM p`,
  },
  {
    what: 'a payment was paid in another month',
    sql: `UPDATE payment SET paid_at = paid_at - ${MONTH}, created_at = created_at - ${MONTH} WHERE id = ${aPayment} ${returnPayment}`,
  },
  {
    what: 'a payment was paid in a later month',
    sql: `UPDATE payment SET paid_at = paid_at + ${MONTH} WHERE id = ${aPayment} ${returnPayment}`,
  },
  {
    what: 'a test payment becomes a live one',
    sql: `UPDATE payment SET live_mode = NOT live_mode WHERE id = ${aPayment} ${returnPayment}`,
  },
  {
    what: 'a test payment becomes a live one, and so does the name of its checkout',
    sql: `WITH p AS (UPDATE payment SET live_mode = true, session_id = replace(session_id, 'cs_test', 'cs_live') WHERE id = ${aPayment} RETURNING *),
          v AS (UPDATE processor_event e SET fact = fact || jsonb_build_object('sessionId', p.session_id)
                  FROM p WHERE e.payment_id = p.id AND e.fact ? 'sessionId')
          SELECT 'payment ' || public_id AS told FROM p`,
  },
  {
    what: 'dollars become euro',
    sql: `UPDATE payment SET currency = 'eur' WHERE id = ${aPayment} ${returnPayment}`,
  },
  ...(['daily', 'monthly'] as const).map((period) => ({
    what: `a ${period} window lasts longer than its period`,
    sql: `UPDATE spending_window SET ends_at = ends_at + interval '1 day'
           WHERE id = ${randomRow('spending_window', `period = '${period}'`, 'id')} RETURNING kind || ' ' || owner_id AS told`,
  })),
  {
    what: 'a monthly window begins in the middle of its month',
    sql: `UPDATE spending_window SET starts_at = starts_at - interval '10 days'
           WHERE id = ${randomRow('spending_window', `period = 'monthly'`, 'id')} RETURNING kind || ' ' || owner_id AS told`,
  },
  {
    what: 'a rolling window ends',
    sql: `UPDATE spending_window SET ends_at = now() + interval '1 year'
           WHERE id = ${randomRow('spending_window', `period = 'rolling'`, 'id')} RETURNING kind || ' ' || owner_id AS told`,
  },
  {
    what: 'the mark of promotions is ahead of the spending',
    sql: `UPDATE promotion_wallet SET spent = spent + 5000000000
           WHERE wallet_id = ${randomRow('promotion_wallet', 'true', 'wallet_id')} RETURNING 'wallet ' || wallet_id AS told`,
  },
  {
    what: 'the mark of promotions is below zero',
    sql: `UPDATE promotion_wallet SET spent = -1
           WHERE wallet_id = ${randomRow('promotion_wallet', 'true', 'wallet_id')} RETURNING 'wallet ' || wallet_id AS told`,
  },
  {
    what: 'a promotion was credited in another month',
    sql: `UPDATE promotion_credit SET credited_at = credited_at - ${MONTH}
           WHERE grant_id = ${randomRow('promotion_credit', 'true', 'grant_id')} RETURNING 'grant ' || grant_id AS told`,
  },
  {
    what: 'a promotion has ended in the future, so that nothing takes it back',
    sql: `UPDATE promotion_credit SET ended_at = now() + interval '1 year'
           WHERE grant_id = ${randomRow('promotion_credit', 'true', 'grant_id')} RETURNING 'grant ' || grant_id AS told`,
  },
  // Additional cases.
  {
    what: 'an adjustment takes instead of giving',
    sql: `WITH ${changePosting(anAdjustment, '-1')} SELECT 'wallet ' || owner_id AS told FROM w`,
  },
  {
    what: 'an adjustment that no operator made',
    sql: `WITH t AS (INSERT INTO ledger_transaction (kind, ref) VALUES ('adjustment', gen_random_uuid()) RETURNING *),
          a AS (SELECT * FROM ledger_account WHERE kind = 'wallet' AND owner_id > 0 ORDER BY md5($1::text || owner_id) LIMIT 1),
          e AS (INSERT INTO ledger_entry (transaction_id, account_id, amount, is_posting)
                SELECT t.id, a.id, 7000000000, true FROM t, a UNION ALL
                SELECT t.id, o.id, -7000000000, true FROM t, ledger_account o WHERE o.kind = 'adjustment'),
          w AS (UPDATE spending_window w SET limit_nano = limit_nano + 7000000000 FROM a WHERE w.kind = 'wallet' AND w.owner_id = a.owner_id)
          SELECT 'wallet ' || owner_id AS told FROM a`,
  },
  {
    what: 'an adjustment goes to another wallet, and both balances with it',
    sql: `WITH e AS (SELECT e.*, a.owner_id FROM ledger_entry e JOIN ledger_account a ON a.id = e.account_id AND a.kind = 'wallet'
                      WHERE e.transaction_id = ${anAdjustment}),
          o AS (SELECT a.* FROM ledger_account a, e WHERE a.kind = 'wallet' AND a.owner_id > 0 AND a.id <> e.account_id ORDER BY a.id LIMIT 1),
          u AS (UPDATE ledger_entry l SET account_id = o.id FROM e, o
                 WHERE l.transaction_id = e.transaction_id AND l.account_id = e.account_id),
          w AS (UPDATE spending_window w SET limit_nano = limit_nano + CASE w.owner_id WHEN o.owner_id THEN e.amount ELSE -e.amount END
                  FROM e, o WHERE w.kind = 'wallet' AND w.owner_id IN (e.owner_id, o.owner_id))
          SELECT 'wallet ' || owner_id AS told FROM o`,
  },
  {
    what: 'an adjustment becomes a promotion',
    sql: `WITH t AS (UPDATE ledger_transaction SET kind = 'promotion' WHERE id = ${anAdjustment} RETURNING *),
          e AS (${createAccount('promotion')} FROM t, ledger_account a WHERE e.transaction_id = t.id AND a.id = e.account_id AND a.kind = 'adjustment')
          SELECT ref AS told FROM t`,
  },
  {
    what: 'usage is booked as an adjustment',
    sql: `WITH t AS (SELECT * FROM ledger_transaction WHERE id = ${randomRow('ledger_transaction', `kind = 'settlement'`, 'id')}),
          e AS (${createAccount('adjustment')} FROM t WHERE e.transaction_id = t.id AND e.amount > 0)
          SELECT 'settlement ' || ref AS told FROM t`,
  },
  {
    what: 'a promotion is booked as paid money',
    sql: `WITH t AS (SELECT * FROM ledger_transaction WHERE id = ${randomRow('ledger_transaction', `kind = 'promotion'`, 'id')}),
          e AS (${createAccount('adjustment')} FROM t WHERE e.transaction_id = t.id AND e.amount < 0)
          SELECT ref AS told FROM t`,
  },
  {
    what: 'a refund is called a dispute',
    sql: `WITH t AS (UPDATE ledger_transaction SET kind = 'dispute' WHERE id = ${randomRow('ledger_transaction', `kind = 'refund'`, 'id')} RETURNING *)
          SELECT 'payment ' || split_part(ref, ':', 2) AS told FROM t`,
  },
  {
    what: 'a refund is smaller in all books',
    sql: `WITH r AS (DELETE FROM processor_refund RETURNING payment_intent_id),
          c AS (UPDATE processor_charge c SET refunded_cents = 0 FROM r WHERE c.payment_intent_id = r.payment_intent_id),
          p AS (UPDATE payment p SET refunded_cents = 0, credited_nano = net_cents * 10000000, postings = 1 FROM r
                 WHERE p.payment_intent_id = r.payment_intent_id RETURNING p.*),
          ${removePostings(`t.kind = 'refund'`)} SELECT 'payment ' || public_id AS told FROM p`,
  },
  {
    what: 'the total that a charge gave back is forgotten',
    sql: `WITH c AS (UPDATE processor_charge SET refunded_cents = 0 WHERE refunded_cents > 0 RETURNING payment_intent_id)
          SELECT 'payment ' || p.public_id AS told FROM payment p JOIN c USING (payment_intent_id)`,
  },
  {
    what: 'a refund that an operator ordered never reached the payment',
    sql: `WITH o AS (SELECT * FROM refund_order WHERE state = 'made' LIMIT 1),
          p AS (SELECT p.* FROM payment p JOIN o ON o.payment_id = p.id),
          r AS (DELETE FROM processor_refund r USING p WHERE r.payment_intent_id = p.payment_intent_id),
          c AS (DELETE FROM processor_charge c USING p WHERE c.payment_intent_id = p.payment_intent_id),
          v AS (DELETE FROM processor_event e USING p WHERE e.payment_id = p.id AND e.fact ->> 'kind' IN ('refund', 'charge')),
          u AS (UPDATE payment u SET refunded_cents = 0, credited_nano = u.net_cents * 10000000, postings = 1 FROM p WHERE u.id = p.id),
          ${removePostings(`t.kind = 'refund'`)} SELECT 'payment ' || public_id AS told FROM p`,
  },
  {
    what: 'a dispute was won',
    sql: `WITH d AS (UPDATE processor_dispute SET state = 'won' RETURNING *),
          p AS (UPDATE payment p SET disputed_cents = 0, credited_nano = net_cents * 10000000, postings = 1 FROM d
                 WHERE p.payment_intent_id = d.payment_intent_id RETURNING p.*),
          ${removePostings(`t.kind = 'dispute'`)} SELECT 'payment ' || public_id AS told FROM p`,
  },
  {
    what: 'a dispute is of another second',
    sql: `UPDATE processor_dispute SET observed_at = observed_at - 1 RETURNING 'dispute ' || dispute_id AS told`,
  },
  {
    what: 'a payment has no time',
    sql: `UPDATE payment SET paid_at = NULL WHERE id = ${aPayment} ${returnPayment}`,
  },
  {
    what: 'a payment was made by another charge',
    sql: `UPDATE payment SET payment_intent_id = 'pi_other'
           WHERE id = ${randomRow('payment', `state = 'paid' AND refunded_cents + disputed_cents = 0`, 'id')} ${returnPayment}`,
  },
  {
    what: 'a payment was made in another checkout',
    sql: `UPDATE payment SET session_id = 'other' WHERE id = ${aPayment} ${returnPayment}`,
  },
  {
    what: 'a payment and its credit are of another net amount, with the right fee',
    sql: `WITH p AS (UPDATE payment SET net_cents = net_cents + 1900, gross_cents = gross_cents + 2000, fee_cents = fee_cents + 100,
                            credited_nano = credited_nano + 19000000000
                      WHERE id = ${randomRow('payment', `state = 'paid' AND refunded_cents + disputed_cents = 0 AND net_cents % 1900 = 0 OR (state = 'paid' AND refunded_cents + disputed_cents = 0)`, 'id')} RETURNING *),
          e AS (UPDATE ledger_entry e SET amount = e.amount + sign(e.amount) * 19000000000 FROM p, ledger_transaction t
                 WHERE t.ref = 'payment:' || p.public_id || ':1' AND e.transaction_id = t.id),
          w AS (UPDATE spending_window w SET limit_nano = limit_nano + 19000000000 FROM p
                 WHERE w.kind = 'wallet' AND w.owner_id = coalesce(p.holder_wallet_id, p.wallet_id))
          SELECT 'payment ' || public_id AS told FROM p`,
  },
  {
    what: 'a promotion is larger in all books',
    sql: `WITH g AS (UPDATE promotion_grant SET amount = amount * 2 WHERE id = ${randomRow('promotion_credit', 'remaining > 0', 'grant_id')} RETURNING *),
          c AS (UPDATE promotion_credit c SET amount = c.amount * 2, remaining = c.remaining + c.amount FROM g WHERE c.grant_id = g.id RETURNING c.*),
          t AS (SELECT t.id, c.wallet_id, c.amount FROM ledger_transaction t JOIN c ON t.kind = 'promotion' AND t.ref = format('%s to %s', c.grant_id, c.wallet_id)),
          e AS (UPDATE ledger_entry e SET amount = e.amount * 2 FROM t WHERE e.transaction_id = t.id),
          w AS (UPDATE spending_window w SET limit_nano = limit_nano + t.amount / 2 FROM t WHERE w.kind = 'wallet' AND w.owner_id = t.wallet_id)
          SELECT 'grant ' || id AS told FROM g`,
  },
  {
    what: 'a promotion for one person becomes one for everybody',
    sql: `UPDATE promotion_grant SET scope = 'everyone', user_id = NULL WHERE id = ${randomRow('promotion_grant', 'true', 'id')}
          RETURNING 'grant ' || id AS told`,
  },
  {
    what: 'a payment of an invoice was recorded in another month',
    sql: `UPDATE invoice_payment SET recorded_at = recorded_at - ${MONTH} WHERE id = ${randomRow('invoice_payment', 'true', 'id')}
          RETURNING 'payment ' || id AS told`,
  },
  {
    what: 'a payment of an invoice was undone in another month',
    sql: `UPDATE invoice_payment SET undone_at = undone_at + ${MONTH} WHERE id = ${randomRow('invoice_payment', 'undone_at IS NOT NULL', 'id')}
          RETURNING 'payment ' || id AS told`,
  },
  {
    what: 'a merge takes its money from another wallet',
    sql: `WITH t AS (SELECT * FROM ledger_transaction WHERE kind = 'merge' LIMIT 1),
          e AS (SELECT e.* FROM ledger_entry e JOIN t ON e.transaction_id = t.id WHERE e.amount < 0),
          a AS (SELECT a.* FROM ledger_account a, t WHERE a.kind = 'wallet' AND a.owner_id > 0
                   AND a.id NOT IN (SELECT account_id FROM ledger_entry WHERE transaction_id = t.id) ORDER BY a.id LIMIT 1),
          u AS (UPDATE ledger_entry l SET account_id = a.id FROM e, a WHERE l.transaction_id = e.transaction_id AND l.account_id = e.account_id),
          w AS (UPDATE spending_window w SET limit_nano = limit_nano + CASE w.owner_id WHEN a.owner_id THEN e.amount ELSE -e.amount END
                  FROM e JOIN ledger_account f ON f.id = e.account_id, a WHERE w.kind = 'wallet' AND w.owner_id IN (a.owner_id, f.owner_id))
          SELECT 'merge ' || ref AS told FROM t`,
  },
  {
    what: 'a correction of prices is larger than was decided',
    sql: `WITH ${changePosting(randomRow('ledger_transaction', `kind = 'rerate'`, 'id'), '3')} SELECT 'wallet ' || owner_id AS told FROM w`,
  },
];
