import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Everything that changes limits and escrow, as functions that run with the rights of their owner. They lock in one
 * order: lease, rules, windows by id, slices.
 */
export class CreateEscrow1763700310000 implements MigrationInterface {
  readonly name = 'CreateEscrow1763700310000';

  async up(runner: QueryRunner): Promise<void> {
    for (const part of [draws, returns, leases, settlement, changes, rights]) await runner.query(part);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP FUNCTION escrow_draw, escrow_return, escrow_audit, escrow_beat, escrow_sweep, money_settle, money_credit,
        set_spending_limit, spending_state, begin_escrow_operation;
    `);
  }
}

/**
 * A scope without a rule answers with no window: it is open. \`granted\` is null when not even the need was left; then
 * the other nodes are asked to return what they do not use. How much is taken is worked out first, but the update
 * itself compares with the row it changes, so that even a stale calculation could not take too much.
 */
const draws = `
  -- Operations of a node are numbered: one that arrives late, after the node gave it up, is refused.
  CREATE FUNCTION begin_escrow_operation(p_lease uuid, p_operation bigint) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  DECLARE
    last bigint;
  BEGIN
    SELECT last_operation INTO last FROM escrow_lease WHERE id = p_lease FOR NO KEY UPDATE;
    IF last IS NULL THEN RAISE EXCEPTION 'the escrow lease % is gone', p_lease USING ERRCODE = 'SB001'; END IF;
    IF last >= p_operation THEN RAISE EXCEPTION 'operation % comes late', p_operation USING ERRCODE = 'SB002'; END IF;
    UPDATE escrow_lease SET last_operation = p_operation WHERE id = p_lease;
  END $$;

  CREATE FUNCTION escrow_draw(p_lease uuid, p_operation bigint,
    p_kinds text[], p_owners bigint[], p_needs bigint[], p_wants bigint[])
  RETURNS TABLE (place integer, window_id bigint, granted bigint, limit_left bigint, pool_left bigint,
                 elsewhere bigint, starts_ms bigint, ends_ms bigint, now_ms bigint)
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  #variable_conflict use_column
  DECLARE
    at    timestamptz := clock_timestamp();
    ids   bigint[];
    known bigint[];
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
    SELECT greatest(count(*), 1) INTO nodes FROM escrow_lease WHERE expires_at > at;

    PERFORM pg_notify('money', format('recall %s %s', p_lease, w.id))
      FROM unnest(ids, p_needs) AS ask (id, need) JOIN spending_window w ON w.id = ask.id
      LEFT JOIN escrow_slice s ON s.window_id = w.id AND s.lease_id = p_lease
      WHERE w.limit_nano - w.spent - w.escrowed < ask.need AND w.escrowed > coalesce(s.amount, 0)
        AND w.limit_nano - w.spent - coalesce(s.amount, 0) >= ask.need;

    RETURN QUERY
    WITH ask AS (
      SELECT * FROM unnest(ids, p_needs, p_wants) WITH ORDINALITY AS a (id, need, want, place)),
    taking AS (
      SELECT ask.id, greatest(ask.need, least(ask.want, (w.limit_nano - w.spent - w.escrowed) / (2 * nodes))) AS take
        FROM ask JOIN spending_window w ON w.id = ask.id
        WHERE w.limit_nano - w.spent - w.escrowed >= ask.need),
    taken AS (
      UPDATE spending_window w SET escrowed = w.escrowed + taking.take FROM taking
       WHERE w.id = taking.id AND taking.take > 0 AND w.limit_nano - w.spent - w.escrowed >= taking.take
      RETURNING w.id, taking.take),
    sliced AS (
      INSERT INTO escrow_slice AS s (lease_id, window_id, amount) SELECT p_lease, taken.id, taken.take FROM taken
      ON CONFLICT (lease_id, window_id) DO UPDATE SET amount = s.amount + excluded.amount)
    SELECT ask.place::integer, w.id, coalesce(taken.take, CASE WHEN taking.take <= 0 THEN 0 END),
           w.limit_nano - w.spent,
           w.limit_nano - w.spent - w.escrowed - coalesce(taken.take, 0),
           w.escrowed - coalesce(own.amount, 0),
           CASE WHEN isfinite(w.starts_at) THEN floor(extract(epoch FROM w.starts_at) * 1000)::bigint END,
           CASE WHEN isfinite(w.ends_at) THEN floor(extract(epoch FROM w.ends_at) * 1000)::bigint END,
           floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
      FROM ask LEFT JOIN spending_window w ON w.id = ask.id
      LEFT JOIN taking ON taking.id = ask.id LEFT JOIN taken ON taken.id = ask.id
      LEFT JOIN escrow_slice own ON own.window_id = ask.id AND own.lease_id = p_lease
      ORDER BY ask.place;
  END $$;
`;

const returns = `
  CREATE FUNCTION escrow_return(p_lease uuid, p_operation bigint, p_windows bigint[], p_amounts bigint[])
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
`;

const leases = `
  -- Says what the lease holds, once no operation before this one can change it any more.
  CREATE FUNCTION escrow_audit(p_lease uuid, p_operation bigint) RETURNS TABLE (window_id bigint, amount bigint)
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  #variable_conflict use_column
  BEGIN
    PERFORM begin_escrow_operation(p_lease, p_operation);
    RETURN QUERY SELECT window_id, amount FROM escrow_slice WHERE lease_id = p_lease;
  END $$;

  -- Renews the lease, or begins it, and names the scopes whose limits changed lately.
  CREATE FUNCTION escrow_beat(p_lease uuid, p_node text, p_new boolean,
    OUT alive boolean, OUT now_ms bigint, OUT changed_kinds text[], OUT changed_owners bigint[])
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  BEGIN
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

  -- Takes back what leases hold that ran out, or that belong to the named node, which is known to be dead.
  CREATE FUNCTION escrow_sweep(p_node text DEFAULT NULL) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  DECLARE
    dead uuid[];
  BEGIN
    SELECT array_agg(id) INTO dead FROM (
      SELECT id FROM escrow_lease
       WHERE CASE WHEN p_node IS NULL THEN expires_at < clock_timestamp() ELSE node = p_node END
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
`;

/**
 * The second half of a settlement; the records were inserted just before, in the same transaction. Charges come from
 * the records that were new and reach whatever windows they fall into; escrow is released once a batch, whoever has
 * charged the records.
 */
const settlement = `
  CREATE FUNCTION money_settle(p_lease uuid, p_batch bigint,
    p_kinds text[], p_owners bigint[], p_hours timestamptz[], p_amounts bigint[],
    p_wallets bigint[], p_settlements bigint[], p_sums bigint[],
    p_windows bigint[], p_releases bigint[])
  RETURNS TABLE (window_id bigint, limit_left bigint)
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  #variable_conflict use_column
  DECLARE
    releasing boolean;
  BEGIN
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
        SELECT w.id FROM unnest(p_kinds, p_owners, p_hours) AS c (kind, owner_id, hour)
          JOIN spending_window w ON w.kind = c.kind AND w.owner_id = c.owner_id
           AND c.hour >= w.starts_at AND c.hour < w.ends_at
        UNION SELECT unnest(p_windows))
      ORDER BY id FOR NO KEY UPDATE;

    RETURN QUERY
    WITH charge AS (
      SELECT w.id, w.period, c.hour, sum(c.amount)::bigint AS amount
        FROM unnest(p_kinds, p_owners, p_hours, p_amounts) AS c (kind, owner_id, hour, amount)
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
`;

const changes = `
  -- Posts to a wallet once for each (kind, ref); answers whether it did so now. A negative amount takes back.
  CREATE FUNCTION money_credit(p_wallet bigint, p_amount bigint, p_against text, p_kind text, p_ref text)
  RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  DECLARE
    posted bigint;
  BEGIN
    IF p_kind = 'settlement' OR p_against NOT IN ('processor', 'promotion', 'adjustment') THEN
      RAISE EXCEPTION 'a wallet is not credited as % against %', p_kind, p_against USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO ledger_transaction (kind, ref) VALUES (p_kind, p_ref)
      ON CONFLICT (kind, ref) DO NOTHING RETURNING id INTO posted;
    IF posted IS NULL THEN RETURN false; END IF;
    PERFORM open_wallets(ARRAY[p_wallet]);
    INSERT INTO ledger_entry (transaction_id, account_id, amount)
      SELECT posted, id, CASE kind WHEN 'wallet' THEN p_amount ELSE -p_amount END FROM ledger_account
       WHERE (kind = 'wallet' AND owner_id = p_wallet) OR kind = p_against;
    UPDATE spending_window SET limit_nano = limit_nano + p_amount WHERE kind = 'wallet' AND owner_id = p_wallet;
    PERFORM pg_notify('money', format('limit wallet %s', p_wallet));
    RETURN true;
  END $$;

  -- Sets, changes or (with null) removes a limit; the window that is open obeys at once.
  CREATE FUNCTION set_spending_limit(p_kind text, p_owner bigint, p_period text, p_limit bigint) RETURNS void
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
      UPDATE spending_window SET limit_nano = p_limit
       WHERE kind = p_kind AND owner_id = p_owner AND period = p_period AND ends_at > clock_timestamp();
    END IF;
    PERFORM pg_notify('money', format('limit %s %s', p_kind, p_owner));
  END $$;

  -- What a limit looks like now, also before its window was made.
  CREATE FUNCTION spending_state(p_kind text, p_owner bigint, p_now timestamptz DEFAULT clock_timestamp(),
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
    limit_nano := coalesce(found_window.limit_nano, rule.limit_nano, 0);
    escrowed := coalesce(found_window.escrowed, 0);
    resets_at := CASE WHEN isfinite(span.ends_at) THEN span.ends_at END;
    IF period = 'lifetime' THEN
      spent := coalesce(found_window.spent, 0);
    ELSIF period = 'rolling' AND found_window.id IS NOT NULL THEN
      SELECT coalesce(sum(b.spent), 0), min(b.hour) FILTER (WHERE b.spent > 0) + interval '720 hours'
        INTO spent, resets_at FROM spending_bucket b WHERE b.window_id = found_window.id AND b.hour >= span.starts_at;
    ELSIF period = 'rolling' OR found_window.id IS NULL THEN
      SELECT coalesce(sum(r.spent), 0),
             coalesce(resets_at, min(r.hour) FILTER (WHERE r.spent > 0) + interval '720 hours')
        INTO spent, resets_at FROM recorded_spend(p_kind, p_owner, span.starts_at, span.ends_at) r;
    ELSE
      spent := found_window.spent;
    END IF;
  END $$;
`;

const rights = `
  REVOKE ALL ON FUNCTION
    escrow_draw, escrow_return, escrow_audit, escrow_beat, escrow_sweep, money_settle, money_credit, set_spending_limit,
    spending_state, begin_escrow_operation FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION
    escrow_draw, escrow_return, escrow_audit, escrow_beat, escrow_sweep, money_settle, money_credit, set_spending_limit,
    spending_state TO switchboard_app;
`;
