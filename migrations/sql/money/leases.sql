-- Leases of nodes. What a dead node held may already be spent by records in its journal: it stays held until the
-- journal was read, or until an operator gives the journal up. A node without a journal loses nothing by being swept.

-- Renews the lease, or begins it, and names the scopes whose limits changed lately.
CREATE OR REPLACE FUNCTION escrow_beat(p_lease uuid, p_node text, p_new boolean,
  OUT alive boolean, OUT now_ms bigint, OUT changed_kinds text[], OUT changed_owners bigint[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM end_budget_raises();
  IF p_new THEN
    INSERT INTO escrow_lease (id, node, expires_at) VALUES (p_lease, p_node, clock_timestamp() + interval '30 s')
      ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at;
    INSERT INTO escrow_settled (lease_id) VALUES (p_lease) ON CONFLICT DO NOTHING;
    alive := true;
  ELSE
    UPDATE escrow_lease SET expires_at = clock_timestamp() + interval '30 s' WHERE id = p_lease;
    alive := FOUND;
  END IF;
  DELETE FROM escrow_slice WHERE lease_id = p_lease AND amount = 0;
  now_ms := floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
  SELECT array_agg(r.kind), array_agg(r.owner_id) INTO changed_kinds, changed_owners
    FROM spending_rule r WHERE r.changed_at > clock_timestamp() - interval '15 s';
END $$;

CREATE OR REPLACE FUNCTION escrow_beat(p_lease uuid, p_node text, p_new boolean, p_journal text,
  OUT alive boolean, OUT now_ms bigint, OUT changed_kinds text[], OUT changed_owners bigint[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  SELECT * INTO alive, now_ms, changed_kinds, changed_owners FROM escrow_beat(p_lease, p_node, p_new);
  IF p_new THEN UPDATE escrow_lease SET journal = p_journal WHERE id = p_lease; END IF;
END $$;

-- Takes back what leases hold that ran out, or that belong to the named node, whose spending is known.
CREATE OR REPLACE FUNCTION escrow_sweep(p_node text DEFAULT NULL) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  dead uuid[];
BEGIN
  SELECT array_agg(id) INTO dead FROM (
    SELECT id FROM escrow_lease l
     WHERE CASE WHEN p_node IS NULL THEN l.expires_at < clock_timestamp() AND (l.journal IS NULL OR NOT EXISTS (SELECT FROM escrow_slice s WHERE s.lease_id = l.id AND s.amount > 0)) ELSE l.node = p_node END
     ORDER BY id FOR UPDATE SKIP LOCKED) AS locked;
  IF dead IS NULL THEN RETURN 0; END IF;
  PERFORM FROM escrow_settled WHERE lease_id = ANY (dead) ORDER BY lease_id FOR UPDATE;
  PERFORM FROM spending_window WHERE id IN (SELECT window_id FROM escrow_slice WHERE lease_id = ANY (dead))
    ORDER BY id FOR NO KEY UPDATE;
  PERFORM pg_notify('money', format('returned %s', window_id)) FROM (
    SELECT DISTINCT window_id FROM escrow_slice WHERE lease_id = ANY (dead)) AS held;
  WITH back AS (
    DELETE FROM escrow_slice WHERE lease_id = ANY (dead) RETURNING window_id, amount),
  total AS (SELECT window_id, sum(amount)::bigint AS amount FROM back GROUP BY window_id)
  UPDATE spending_window w SET escrowed = w.escrowed - total.amount FROM total WHERE w.id = total.window_id;
  DELETE FROM escrow_settled WHERE lease_id = ANY (dead);
  DELETE FROM escrow_lease WHERE id = ANY (dead);
  RETURN cardinality(dead);
END $$;

-- Gives up what a dead node may have journalled. False: it holds nothing, or its lease runs.
CREATE OR REPLACE FUNCTION escrow_forget(p_node text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM FROM escrow_lease WHERE node = p_node ORDER BY id FOR UPDATE;
  IF NOT FOUND OR EXISTS (SELECT FROM escrow_lease WHERE node = p_node AND expires_at >= clock_timestamp()) THEN
    RETURN false;
  END IF;
  INSERT INTO escrow_forgotten (node, journal, held)
    SELECT p_node, max(l.journal), coalesce(jsonb_agg(jsonb_build_object(
             'kind', w.kind, 'owner_id', w.owner_id, 'nano_usd', s.amount::text)) FILTER (WHERE s.amount > 0), '[]')
      FROM escrow_lease l LEFT JOIN escrow_slice s ON s.lease_id = l.id
      LEFT JOIN spending_window w ON w.id = s.window_id WHERE l.node = p_node
    ON CONFLICT (node) DO NOTHING;
  PERFORM escrow_sweep(p_node);
  RETURN true;
END $$;
