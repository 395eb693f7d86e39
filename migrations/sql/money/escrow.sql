-- What nodes take out of limits and hand back. Locks are taken in one order: lease, rules, windows by id, slices.
--
-- A scope without a rule answers with no window: it is open. `granted` is null when not even the need was left; then
-- other nodes are asked to return what they do not use. How much is taken is worked out first, but the update itself
-- compares with the row it changes, so that even a stale calculation could not take too much.

-- Operations of a node are numbered: one that arrives late, after the node gave it up, is refused.
CREATE OR REPLACE FUNCTION begin_escrow_operation(p_lease uuid, p_operation bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  last bigint;
BEGIN
  SELECT last_operation INTO last FROM escrow_lease WHERE id = p_lease FOR NO KEY UPDATE;
  IF last IS NULL THEN RAISE EXCEPTION 'the escrow lease % is gone', p_lease USING ERRCODE = 'SB001'; END IF;
  IF last >= p_operation THEN RAISE EXCEPTION 'operation % comes late', p_operation USING ERRCODE = 'SB002'; END IF;
  UPDATE escrow_lease SET last_operation = p_operation WHERE id = p_lease;
END $$;

-- What is left of a limit, without the rest of promotions that have ended: a job posts that back later. Spending that was
-- not counted against promotions yet came from these first.
CREATE OR REPLACE FUNCTION spending_left(w spending_window, p_at timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  ended bigint := 0;
BEGIN
  IF w.kind = 'wallet' THEN
    SELECT sum(c.remaining) INTO ended FROM promotion_credit c JOIN promotion_grant g ON g.id = c.grant_id
     WHERE c.remaining > 0 AND g.expires_at <= p_at
       AND ((c.wallet_id = w.owner_id AND c.holder_wallet_id IS NULL) OR c.holder_wallet_id = w.owner_id);
    IF ended > 0 THEN
      SELECT greatest(ended - (w.spent - p.spent), 0) INTO ended FROM promotion_wallet p WHERE p.wallet_id = w.owner_id;
    END IF;
  END IF;
  RETURN w.limit_nano - w.spent - coalesce(ended, 0);
END $$;

CREATE OR REPLACE FUNCTION escrow_draw(p_lease uuid, p_operation bigint,
  p_kinds text[], p_owners bigint[], p_needs bigint[], p_wants bigint[])
RETURNS TABLE (place integer, window_id bigint, granted bigint, limit_left bigint, pool_left bigint,
               elsewhere bigint, starts_ms bigint, ends_ms bigint, now_ms bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
  at    timestamptz := clock_timestamp();
  ids   bigint[];
  known bigint[];
  lefts bigint[];
  nodes bigint;
BEGIN
  PERFORM begin_escrow_operation(p_lease, p_operation);
  PERFORM open_spending_windows(p_kinds, p_owners, at);

  SELECT array_agg(w.id ORDER BY scope.place) INTO ids
    FROM unnest(p_kinds, p_owners) WITH ORDINALITY AS scope (kind, owner_id, place)
    LEFT JOIN spending_rule r ON r.kind = scope.kind AND r.owner_id = scope.owner_id
    LEFT JOIN spending_window w ON w.kind = scope.kind AND w.owner_id = scope.owner_id
      AND (scope.kind = 'wallet' OR r.limit_nano IS NOT NULL) AND w.period = coalesce(r.period, 'lifetime')
      AND w.starts_at <= at AND at < w.ends_at;
  SELECT array_agg(id) INTO known FROM (
    SELECT id FROM spending_window WHERE id = ANY (ids) ORDER BY id FOR NO KEY UPDATE) AS locked;
  PERFORM roll_spending_windows(known, at);
  SELECT array_agg(spending_left(w, at) ORDER BY ask.place) INTO lefts
    FROM unnest(ids) WITH ORDINALITY AS ask (id, place) LEFT JOIN spending_window w ON w.id = ask.id;
  SELECT greatest(count(*), 1) INTO nodes FROM escrow_lease WHERE expires_at > at;

  PERFORM pg_notify('money', format('recall %s %s', p_lease, w.id))
    FROM unnest(ids, lefts, p_needs) AS ask (id, left_nano, need) JOIN spending_window w ON w.id = ask.id
    LEFT JOIN escrow_slice s ON s.window_id = w.id AND s.lease_id = p_lease
    WHERE ask.left_nano - w.escrowed < ask.need AND w.escrowed > coalesce(s.amount, 0)
      AND ask.left_nano - coalesce(s.amount, 0) >= ask.need;

  RETURN QUERY
  WITH ask AS (
    SELECT * FROM unnest(ids, lefts, p_needs, p_wants) WITH ORDINALITY AS a (id, left_nano, need, want, place)),
  taking AS (
    SELECT ask.id, greatest(ask.need, least(ask.want, (ask.left_nano - w.escrowed) / (2 * nodes))) AS take
      FROM ask JOIN spending_window w ON w.id = ask.id
      WHERE ask.left_nano - w.escrowed >= ask.need),
  taken AS (
    UPDATE spending_window w SET escrowed = w.escrowed + taking.take FROM taking
     WHERE w.id = taking.id AND taking.take > 0 AND w.limit_nano - w.spent - w.escrowed >= taking.take
    RETURNING w.id, taking.take),
  sliced AS (
    INSERT INTO escrow_slice AS s (lease_id, window_id, amount) SELECT p_lease, taken.id, taken.take FROM taken
    ON CONFLICT (lease_id, window_id) DO UPDATE SET amount = s.amount + excluded.amount)
  SELECT ask.place::integer, w.id, coalesce(taken.take, CASE WHEN taking.take <= 0 THEN 0 END),
         ask.left_nano,
         ask.left_nano - w.escrowed - coalesce(taken.take, 0),
         w.escrowed - coalesce(own.amount, 0),
         CASE WHEN isfinite(w.starts_at) THEN floor(extract(epoch FROM w.starts_at) * 1000)::bigint END,
         CASE WHEN isfinite(w.ends_at) THEN floor(extract(epoch FROM w.ends_at) * 1000)::bigint END,
         floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
    FROM ask LEFT JOIN spending_window w ON w.id = ask.id
    LEFT JOIN taking ON taking.id = ask.id LEFT JOIN taken ON taken.id = ask.id
    LEFT JOIN escrow_slice own ON own.window_id = ask.id AND own.lease_id = p_lease
    ORDER BY ask.place;
END $$;

CREATE OR REPLACE FUNCTION escrow_return(p_lease uuid, p_operation bigint, p_windows bigint[], p_amounts bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM begin_escrow_operation(p_lease, p_operation);
  PERFORM FROM spending_window WHERE id = ANY (p_windows) ORDER BY id FOR NO KEY UPDATE;
  WITH back AS (
    UPDATE escrow_slice s SET amount = s.amount - given.amount
      FROM unnest(p_windows, p_amounts) AS given (window_id, amount)
     WHERE s.lease_id = p_lease AND s.window_id = given.window_id AND s.amount >= given.amount
    RETURNING s.window_id, given.amount)
  UPDATE spending_window w SET escrowed = w.escrowed - back.amount FROM back WHERE w.id = back.window_id;
  DELETE FROM escrow_slice WHERE lease_id = p_lease AND window_id = ANY (p_windows) AND amount = 0;
  PERFORM pg_notify('money', format('returned %s', id)) FROM unnest(p_windows) AS id;
END $$;

-- Says what the lease holds, once no operation before this one can change it any more.
CREATE OR REPLACE FUNCTION escrow_audit(p_lease uuid, p_operation bigint) RETURNS TABLE (window_id bigint, amount bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
BEGIN
  PERFORM begin_escrow_operation(p_lease, p_operation);
  RETURN QUERY SELECT window_id, amount FROM escrow_slice WHERE lease_id = p_lease;
END $$;
