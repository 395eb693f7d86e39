-- Budgets raised for a while. Locks are taken in one order: raises, rules, windows by id.

-- By how much a budget is raised at this moment.
CREATE OR REPLACE FUNCTION budget_raised(p_kind text, p_owner bigint, p_now timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  RETURN (SELECT coalesce(sum(amount_nano), 0)::bigint FROM budget_raise
           WHERE kind = p_kind AND owner_id = p_owner AND ended_at IS NULL AND ends_at > p_now);
END $$;

-- Open windows obey what their rules and raises say now; nodes hand back what is too much.
CREATE OR REPLACE FUNCTION refresh_spending_limits(p_kinds text[], p_owners bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  at timestamptz := clock_timestamp();
BEGIN
  PERFORM FROM spending_rule r WHERE (r.kind, r.owner_id) IN (SELECT * FROM unnest(p_kinds, p_owners))
    ORDER BY r.kind, r.owner_id FOR NO KEY UPDATE;
  PERFORM FROM spending_window w WHERE (w.kind, w.owner_id) IN (SELECT * FROM unnest(p_kinds, p_owners))
    ORDER BY w.id FOR NO KEY UPDATE;
  UPDATE spending_window w SET limit_nano = r.limit_nano + budget_raised(r.kind, r.owner_id, at)
    FROM spending_rule r WHERE (r.kind, r.owner_id) IN (SELECT * FROM unnest(p_kinds, p_owners))
     AND w.kind = r.kind AND w.owner_id = r.owner_id AND w.period = r.period AND w.ends_at > at
     AND r.limit_nano IS NOT NULL AND r.kind <> 'wallet';
  UPDATE spending_rule r SET changed_at = at
   WHERE (r.kind, r.owner_id) IN (SELECT * FROM unnest(p_kinds, p_owners));
  PERFORM pg_notify('money', format('limit %s %s', kind, owner_id))
    FROM unnest(p_kinds, p_owners) AS scope (kind, owner_id);
END $$;

CREATE OR REPLACE FUNCTION raise_budget(p_kind text, p_owner bigint, p_amount bigint, p_reason text,
  p_ends_at timestamptz, p_by integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  made bigint;
BEGIN
  INSERT INTO budget_raise (kind, owner_id, amount_nano, reason, ends_at, created_by)
    VALUES (p_kind, p_owner, p_amount, p_reason, p_ends_at, p_by) RETURNING id INTO made;
  PERFORM refresh_spending_limits(ARRAY[p_kind], ARRAY[p_owner]);
  RETURN made;
END $$;

-- Before its time. False: it had ended, or is not of this budget.
CREATE OR REPLACE FUNCTION end_budget_raise(p_kind text, p_owner bigint, p_raise bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  UPDATE budget_raise SET ended_at = clock_timestamp()
   WHERE id = p_raise AND kind = p_kind AND owner_id = p_owner AND ended_at IS NULL
     AND ends_at > clock_timestamp();
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM refresh_spending_limits(ARRAY[p_kind], ARRAY[p_owner]);
  RETURN true;
END $$;

-- Every node asks for this with its lease, so that a raise ends within seconds of its time by itself.
CREATE OR REPLACE FUNCTION end_budget_raises() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  kinds  text[];
  owners bigint[];
BEGIN
  WITH over AS (
    UPDATE budget_raise SET ended_at = ends_at WHERE id IN (
      SELECT id FROM budget_raise WHERE ended_at IS NULL AND ends_at <= clock_timestamp()
       ORDER BY id FOR UPDATE SKIP LOCKED)
    RETURNING kind, owner_id)
  SELECT array_agg(kind), array_agg(owner_id) INTO kinds, owners
    FROM (SELECT DISTINCT kind, owner_id FROM over) AS scope;
  IF kinds IS NOT NULL THEN PERFORM refresh_spending_limits(kinds, owners); END IF;
END $$;

REVOKE ALL ON FUNCTION
  budget_raised, refresh_spending_limits, raise_budget, end_budget_raise, end_budget_raises FROM PUBLIC;
GRANT EXECUTE ON FUNCTION budget_raised, raise_budget, end_budget_raise TO switchboard_app;
