-- Windows are made when first drawn from. Settlements share the lock that making one takes alone.

CREATE OR REPLACE FUNCTION spending_period(period text, at timestamptz, OUT starts_at timestamptz, OUT ends_at timestamptz)
LANGUAGE sql STABLE AS $$
  SELECT CASE period
           WHEN 'daily' THEN date_trunc('day', at, 'UTC')
           WHEN 'weekly' THEN date_trunc('week', at, 'UTC')
           WHEN 'monthly' THEN date_trunc('month', at, 'UTC')
           WHEN 'rolling' THEN date_trunc('hour', at, 'UTC') - interval '719 hours'
           ELSE '-infinity' END,
         CASE period
           WHEN 'daily' THEN date_trunc('day', at, 'UTC') + interval '24 hours'
           WHEN 'weekly' THEN date_trunc('week', at, 'UTC') + interval '168 hours'
           WHEN 'monthly' THEN (date_trunc('month', at AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC'
           ELSE 'infinity' END
$$;

CREATE OR REPLACE FUNCTION recorded_spend(p_kind text, p_owner bigint, p_from timestamptz, p_to timestamptz)
RETURNS TABLE (hour timestamptz, spent bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY EXECUTE format(
    'SELECT u.hour, sum(u.cost_nano)::bigint FROM usage_hour u
      WHERE u.%I = $1 AND u.hour >= $2 AND u.hour < $3 GROUP BY 1', CASE p_kind WHEN 'user_budget' THEN 'user_id' ELSE p_kind || '_id' END)
    USING p_owner, p_from, p_to;
END $$;

CREATE OR REPLACE FUNCTION open_wallets(p_wallets bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO ledger_account (kind, owner_id)
    SELECT 'wallet', wallet FROM unnest(p_wallets) AS wallet
     WHERE NOT EXISTS (SELECT FROM ledger_account WHERE kind = 'wallet' AND owner_id = wallet)
     ORDER BY wallet ON CONFLICT DO NOTHING;
  INSERT INTO spending_window (kind, owner_id, period, starts_at, ends_at, limit_nano)
    SELECT 'wallet', wallet, 'lifetime', '-infinity', 'infinity', 0 FROM unnest(p_wallets) AS wallet
     WHERE NOT EXISTS (SELECT FROM spending_window WHERE kind = 'wallet' AND owner_id = wallet)
     ORDER BY wallet ON CONFLICT DO NOTHING;
END $$;

CREATE OR REPLACE FUNCTION open_spending_windows(p_kinds text[], p_owners bigint[], p_now timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  made record;
BEGIN
  PERFORM open_wallets(array_agg(owner_id))
    FROM unnest(p_kinds, p_owners) AS scope (kind, owner_id) WHERE kind = 'wallet' HAVING count(*) > 0;
  PERFORM FROM unnest(p_kinds, p_owners) AS scope (kind, owner_id) JOIN spending_rule r USING (kind, owner_id)
    WHERE r.limit_nano IS NOT NULL AND NOT EXISTS (
      SELECT FROM spending_window w WHERE w.kind = r.kind AND w.owner_id = r.owner_id
        AND w.period = r.period AND w.starts_at <= p_now AND p_now < w.ends_at);
  IF NOT FOUND THEN RETURN; END IF;

  -- Nobody changes a rule between its reading and the window that obeys it.
  PERFORM FROM spending_rule r WHERE (r.kind, r.owner_id) IN (SELECT * FROM unnest(p_kinds, p_owners))
    ORDER BY r.kind, r.owner_id FOR SHARE;
  -- Nobody settles between the sum over the records and the moment the window is there to be charged.
  PERFORM pg_advisory_xact_lock(727310);
  FOR made IN
    INSERT INTO spending_window AS w (kind, owner_id, period, starts_at, ends_at, limit_nano)
    SELECT r.kind, r.owner_id, r.period, p.starts_at, p.ends_at,
           r.limit_nano + budget_raised(r.kind, r.owner_id, p_now)
      FROM unnest(p_kinds, p_owners) AS scope (kind, owner_id) JOIN spending_rule r USING (kind, owner_id)
      CROSS JOIN LATERAL spending_period(r.period, p_now) p
      WHERE r.limit_nano IS NOT NULL AND NOT EXISTS (
        SELECT FROM spending_window x WHERE x.kind = r.kind AND x.owner_id = r.owner_id
          AND x.period = r.period AND x.starts_at <= p_now AND p_now < x.ends_at)
    RETURNING w.id, w.kind, w.owner_id, w.period, w.starts_at, w.ends_at
  LOOP
    WITH spend AS (SELECT * FROM recorded_spend(made.kind, made.owner_id, made.starts_at, made.ends_at)),
    buckets AS (
      INSERT INTO spending_bucket (window_id, hour, spent)
      SELECT made.id, spend.hour, spend.spent FROM spend WHERE made.period = 'rolling')
    UPDATE spending_window SET spent = coalesce((SELECT sum(spend.spent) FROM spend), 0) WHERE id = made.id;
  END LOOP;
END $$;

-- Expects the windows to be locked. Spending older than thirty days of hours leaves a rolling window.
CREATE OR REPLACE FUNCTION roll_spending_windows(p_windows bigint[], p_now timestamptz) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  WITH due AS (
    SELECT w.id, p.starts_at FROM spending_window w, spending_period('rolling', p_now) p
     WHERE w.id = ANY (p_windows) AND w.period = 'rolling' AND w.starts_at < p.starts_at),
  gone AS (
    DELETE FROM spending_bucket b USING due WHERE b.window_id = due.id AND b.hour < due.starts_at
    RETURNING b.window_id, b.spent)
  UPDATE spending_window w SET starts_at = due.starts_at,
         spent = w.spent - coalesce((SELECT sum(gone.spent) FROM gone WHERE gone.window_id = w.id), 0)
    FROM due WHERE w.id = due.id
$$;
