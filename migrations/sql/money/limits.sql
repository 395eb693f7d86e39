-- Limits: how they are set, and what they look like now.

-- Sets, changes or (with null) removes a limit; the window that is open obeys at once.
CREATE OR REPLACE FUNCTION set_spending_limit(p_kind text, p_owner bigint, p_period text, p_limit bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  old_limit bigint;
BEGIN
  IF p_kind = 'wallet' THEN PERFORM open_wallets(ARRAY[p_owner]); END IF;
  INSERT INTO spending_rule (kind, owner_id, period, limit_nano)
    VALUES (p_kind, p_owner, p_period, CASE WHEN p_kind = 'wallet' THEN 0 END) ON CONFLICT DO NOTHING;
  SELECT limit_nano INTO old_limit FROM spending_rule WHERE kind = p_kind AND owner_id = p_owner FOR NO KEY UPDATE;
  UPDATE spending_rule SET period = p_period, changed_at = clock_timestamp(),
         limit_nano = CASE WHEN p_kind = 'wallet' THEN coalesce(p_limit, 0) ELSE p_limit END
   WHERE kind = p_kind AND owner_id = p_owner;
  IF p_kind = 'wallet' THEN
    UPDATE spending_window SET limit_nano = limit_nano + coalesce(p_limit, 0) - coalesce(old_limit, 0)
     WHERE kind = p_kind AND owner_id = p_owner;
  ELSIF p_limit IS NOT NULL THEN
    UPDATE spending_window SET limit_nano = p_limit + budget_raised(p_kind, p_owner, clock_timestamp())
     WHERE kind = p_kind AND owner_id = p_owner AND period = p_period AND ends_at > clock_timestamp();
  END IF;
  PERFORM pg_notify('money', format('limit %s %s', p_kind, p_owner));
END $$;

-- What a limit looks like now, also before its window was made. A rolling one resets when all that was spent has left.
CREATE OR REPLACE FUNCTION spending_state(p_kind text, p_owner bigint, p_now timestamptz DEFAULT clock_timestamp(),
  OUT period text, OUT limit_nano bigint, OUT spent bigint, OUT escrowed bigint, OUT resets_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  rule  spending_rule;
  found_window spending_window;
  span  record;
BEGIN
  SELECT * INTO rule FROM spending_rule r WHERE r.kind = p_kind AND r.owner_id = p_owner;
  period := CASE WHEN p_kind = 'wallet' THEN 'lifetime' ELSE rule.period END;
  IF period IS NULL OR (p_kind <> 'wallet' AND rule.limit_nano IS NULL) THEN period := NULL; RETURN; END IF;
  SELECT * INTO span FROM spending_period(period, p_now);
  SELECT * INTO found_window FROM spending_window w WHERE w.kind = p_kind AND w.owner_id = p_owner
     AND w.period = spending_state.period AND w.starts_at <= p_now AND p_now < w.ends_at;
  limit_nano := CASE WHEN p_kind = 'wallet' THEN coalesce(found_window.limit_nano, rule.limit_nano, 0)
                     ELSE rule.limit_nano + budget_raised(p_kind, p_owner, p_now) END;
  escrowed := coalesce(found_window.escrowed, 0);
  resets_at := CASE WHEN isfinite(span.ends_at) THEN span.ends_at END;
  IF period = 'lifetime' THEN
    spent := coalesce(found_window.spent, 0);
  ELSIF period = 'rolling' AND found_window.id IS NOT NULL THEN
    SELECT coalesce(sum(b.spent), 0), max(b.hour) FILTER (WHERE b.spent > 0) + interval '720 hours'
      INTO spent, resets_at FROM spending_bucket b WHERE b.window_id = found_window.id AND b.hour >= span.starts_at;
  ELSIF period = 'rolling' OR found_window.id IS NULL THEN
    SELECT coalesce(sum(r.spent), 0),
           coalesce(resets_at, max(r.hour) FILTER (WHERE r.spent > 0) + interval '720 hours')
      INTO spent, resets_at FROM recorded_spend(p_kind, p_owner, span.starts_at, span.ends_at) r;
  ELSE
    spent := found_window.spent;
  END IF;
END $$;

-- When the oldest spending of a rolling limit leaves it, and how much that is; nothing for other periods.
CREATE OR REPLACE FUNCTION spending_frees_next(p_kind text, p_owner bigint, p_now timestamptz DEFAULT clock_timestamp(),
  OUT frees_at timestamptz, OUT frees_nano bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  span record;
  rolling bigint;
BEGIN
  PERFORM FROM spending_rule r WHERE r.kind = p_kind AND r.owner_id = p_owner AND r.period = 'rolling'
    AND r.limit_nano IS NOT NULL;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT * INTO span FROM spending_period('rolling', p_now);
  SELECT w.id INTO rolling FROM spending_window w WHERE w.kind = p_kind AND w.owner_id = p_owner
     AND w.period = 'rolling' AND w.starts_at <= p_now AND p_now < w.ends_at;
  SELECT s.hour + interval '720 hours', s.spent INTO frees_at, frees_nano FROM (
    SELECT b.hour, b.spent FROM spending_bucket b WHERE b.window_id = rolling AND b.hour >= span.starts_at
    UNION ALL
    SELECT r.hour, r.spent FROM recorded_spend(p_kind, p_owner, span.starts_at, span.ends_at) r WHERE rolling IS NULL
  ) AS s WHERE s.spent > 0 ORDER BY s.hour LIMIT 1;
END $$;
