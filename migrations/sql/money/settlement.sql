-- The second half of a settlement; the records were inserted just before, in the same transaction. Charges come from
-- the records that were new and reach whatever windows they fall into; escrow is released once a batch, whichever
-- attempt charged the records.

CREATE OR REPLACE FUNCTION money_settle(p_lease uuid, p_batch bigint,
  p_kinds text[], p_owners bigint[], p_hours timestamptz[], p_amounts bigint[],
  p_wallets bigint[], p_settlements bigint[], p_sums bigint[],
  p_windows bigint[], p_releases bigint[])
RETURNS TABLE (window_id bigint, limit_left bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
  releasing boolean;
  kinds   text[] := p_kinds;
  owners  bigint[] := p_owners;
  hours   timestamptz[] := p_hours;
  amounts bigint[] := p_amounts;
BEGIN
  -- What a person spends counts in both of their budgets.
  SELECT p_kinds || array_agg('user_budget'::text), p_owners || array_agg(c.owner_id),
         p_hours || array_agg(c.hour), p_amounts || array_agg(c.amount) INTO kinds, owners, hours, amounts
    FROM unnest(p_kinds, p_owners, p_hours, p_amounts) AS c (kind, owner_id, hour, amount) WHERE c.kind = 'user';

  UPDATE escrow_settled SET last_batch = p_batch WHERE lease_id = p_lease AND last_batch < p_batch;
  releasing := FOUND;
  PERFORM pg_advisory_xact_lock_shared(727310);

  PERFORM open_wallets(p_wallets);
  INSERT INTO ledger_transaction (id, kind, ref)
    SELECT id, 'settlement', id::text FROM unnest(p_settlements) AS id;
  INSERT INTO ledger_entry (transaction_id, account_id, amount)
    SELECT s.id, side.account_id, side.amount
      FROM unnest(p_wallets, p_settlements, p_sums) AS s (wallet, id, total)
      CROSS JOIN LATERAL (
        SELECT id, -s.total FROM ledger_account WHERE kind = 'wallet' AND owner_id = s.wallet
        UNION ALL SELECT id, s.total FROM ledger_account WHERE kind = 'usage') AS side (account_id, amount);

  PERFORM FROM spending_window WHERE id IN (
      SELECT w.id FROM unnest(kinds, owners, hours) AS c (kind, owner_id, hour)
        JOIN spending_window w ON w.kind = c.kind AND w.owner_id = c.owner_id
         AND c.hour >= w.starts_at AND c.hour < w.ends_at
      UNION SELECT unnest(p_windows))
    ORDER BY id FOR NO KEY UPDATE;

  RETURN QUERY
  WITH charge AS (
    SELECT w.id, w.period, c.hour, sum(c.amount)::bigint AS amount
      FROM unnest(kinds, owners, hours, amounts) AS c (kind, owner_id, hour, amount)
      JOIN spending_window w ON w.kind = c.kind AND w.owner_id = c.owner_id
       AND c.hour >= w.starts_at AND c.hour < w.ends_at
      GROUP BY w.id, w.period, c.hour),
  bucket AS (
    INSERT INTO spending_bucket AS b (window_id, hour, spent)
    SELECT id, hour, amount FROM charge WHERE period = 'rolling'
    ON CONFLICT (window_id, hour) DO UPDATE SET spent = b.spent + excluded.spent),
  freed AS (
    UPDATE escrow_slice s SET amount = s.amount - given.amount
      FROM unnest(p_windows, p_releases) AS given (window_id, amount)
     WHERE releasing AND s.lease_id = p_lease AND s.window_id = given.window_id AND s.amount >= given.amount
    RETURNING s.window_id, given.amount),
  change AS (
    SELECT coalesce(c.id, f.window_id) AS id, coalesce(c.amount, 0) AS charged, coalesce(f.amount, 0) AS freed
      FROM (SELECT id, sum(amount)::bigint AS amount FROM charge GROUP BY id) AS c
      FULL JOIN freed f ON f.window_id = c.id)
  UPDATE spending_window w SET spent = w.spent + change.charged, escrowed = w.escrowed - change.freed
    FROM change WHERE w.id = change.id
  RETURNING w.id, w.limit_nano - w.spent;
END $$;
