-- Moves a wallet's balance, or its debt, to another wallet; returns the amount, once per (kind, ref). Money that nodes hold
-- in slices stays until it returns: the open handover says how much that is, and money_follow moves it.
CREATE OR REPLACE FUNCTION money_transfer(p_from bigint, p_to bigint, p_kind text, p_ref text)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  held  spending_window;
  moved bigint;
BEGIN
  IF p_kind = 'settlement' OR p_from = p_to THEN
    RAISE EXCEPTION 'a wallet is not moved as % from % to %', p_kind, p_from, p_to USING ERRCODE = 'check_violation';
  END IF;
  IF EXISTS (SELECT FROM ledger_transaction WHERE kind = p_kind AND ref = p_ref) THEN RETURN 0; END IF;
  PERFORM open_wallets(ARRAY[p_from, p_to]);
  PERFORM FROM spending_window WHERE kind = 'wallet' AND owner_id IN (p_from, p_to) ORDER BY id FOR NO KEY UPDATE;
  SELECT * INTO held FROM spending_window WHERE kind = 'wallet' AND owner_id = p_from;
  moved := held.limit_nano - held.spent - held.escrowed - coalesce(
    (SELECT limit_nano FROM spending_rule WHERE kind = 'wallet' AND owner_id = p_from), 0);
  IF NOT move_between_wallets(p_from, p_to, moved, p_kind, p_ref) THEN RETURN 0; END IF;
  DELETE FROM wallet_handover WHERE from_wallet = p_to AND to_wallet = p_from;
  UPDATE wallet_handover SET to_wallet = p_to WHERE to_wallet = p_from;
  IF held.escrowed > 0 THEN
    INSERT INTO wallet_handover AS h (from_wallet, to_wallet, kind, ref, expected_nano, spent_nano)
      VALUES (p_from, p_to, p_kind, p_ref, held.escrowed, held.spent)
      ON CONFLICT (from_wallet) DO UPDATE SET to_wallet = p_to, kind = p_kind, ref = p_ref, parts = 0,
        expected_nano = excluded.expected_nano, spent_nano = excluded.spent_nano, opened_at = clock_timestamp();
    PERFORM pg_notify('money', format('limit wallet %s', p_from));
  END IF;
  RETURN moved;
END $$;

-- Expects both windows to be locked. False if it was posted before; moving nothing posts nothing.
CREATE OR REPLACE FUNCTION move_between_wallets(p_from bigint, p_to bigint, p_amount bigint, p_kind text, p_ref text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  posted bigint;
BEGIN
  IF p_amount = 0 THEN RETURN true; END IF;
  INSERT INTO ledger_transaction (kind, ref) VALUES (p_kind, p_ref)
    ON CONFLICT (kind, ref) DO NOTHING RETURNING id INTO posted;
  IF posted IS NULL THEN RETURN false; END IF;
  INSERT INTO ledger_entry (transaction_id, account_id, amount, is_posting)
    SELECT posted, id, CASE owner_id WHEN p_to THEN p_amount ELSE -p_amount END, true FROM ledger_account
     WHERE kind = 'wallet' AND owner_id IN (p_from, p_to);
  UPDATE spending_window SET limit_nano = limit_nano + CASE owner_id WHEN p_to THEN p_amount ELSE -p_amount END
   WHERE kind = 'wallet' AND owner_id IN (p_from, p_to);
  PERFORM pg_notify('money', format('limit wallet %s', owner)) FROM unnest(ARRAY[p_from, p_to]) AS owner;
  RETURN true;
END $$;

-- Moves what nodes returned since the transfer, and says how much the wallet spent since. Later credits of the former
-- payer are not touched. When nothing is held any more the handover ends, and an excess of the last requests follows too.
CREATE OR REPLACE FUNCTION money_follow(p_from bigint, OUT to_wallet bigint, OUT spent bigint, OUT is_open boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
  handover  record;
  held      spending_window;
  available bigint;
  due       bigint;
BEGIN
  is_open := false;
  money_follow.to_wallet := (SELECT h.to_wallet FROM wallet_handover h WHERE h.from_wallet = p_from);
  PERFORM FROM spending_window w WHERE w.kind = 'wallet' AND w.owner_id IN (p_from, money_follow.to_wallet)
    ORDER BY w.id FOR NO KEY UPDATE;
  SELECT * INTO handover FROM wallet_handover h
   WHERE h.from_wallet = p_from AND h.to_wallet = money_follow.to_wallet FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT * INTO held FROM spending_window w WHERE w.kind = 'wallet' AND w.owner_id = p_from;
  available := held.limit_nano - held.spent - held.escrowed - coalesce(
    (SELECT r.limit_nano FROM spending_rule r WHERE r.kind = 'wallet' AND r.owner_id = p_from), 0);
  money_follow.spent := held.spent - handover.spent_nano;
  due := handover.expected_nano - money_follow.spent - held.escrowed;
  due := CASE WHEN due > 0 THEN greatest(least(due, available), 0)
              WHEN held.escrowed = 0 THEN greatest(due, least(available, 0)) ELSE 0 END;
  PERFORM move_between_wallets(p_from, money_follow.to_wallet, due, handover.kind,
                               format('%s, returned %s', handover.ref, handover.parts + 1));
  is_open := held.escrowed > 0 AND handover.expected_nano - money_follow.spent - due > 0;
  IF is_open THEN
    UPDATE wallet_handover h SET expected_nano = handover.expected_nano - money_follow.spent - due,
           spent_nano = held.spent, parts = handover.parts + CASE due WHEN 0 THEN 0 ELSE 1 END
     WHERE h.from_wallet = p_from;
  ELSE
    DELETE FROM wallet_handover h WHERE h.from_wallet = p_from;
  END IF;
END $$;

-- The balance of invoices, under the negated number of the payer, becomes one of the wallet: what is owed is a debt there.
-- Requests in flight hold none of it, and what they cost comes later. Repeated, it finds nothing left.
CREATE OR REPLACE FUNCTION money_leave_invoices(p_payer bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  posted bigint;
  moved  bigint;
BEGIN
  PERFORM open_wallets(ARRAY[p_payer, -p_payer]);
  PERFORM FROM spending_window WHERE kind = 'wallet' AND owner_id IN (p_payer, -p_payer) ORDER BY id FOR NO KEY UPDATE;
  SELECT w.limit_nano - coalesce(r.limit_nano, 0) - w.spent INTO moved
    FROM spending_window w LEFT JOIN spending_rule r ON r.kind = w.kind AND r.owner_id = w.owner_id
   WHERE w.kind = 'wallet' AND w.owner_id = -p_payer;
  IF moved = 0 THEN RETURN 0; END IF;
  INSERT INTO ledger_transaction (kind, ref) VALUES ('invoice-left', format('%s %s', p_payer, gen_random_uuid()))
    RETURNING id INTO posted;
  INSERT INTO ledger_entry (transaction_id, account_id, amount, is_posting)
    SELECT posted, id, CASE owner_id WHEN p_payer THEN moved ELSE -moved END, true FROM ledger_account
     WHERE kind = 'wallet' AND owner_id IN (p_payer, -p_payer);
  UPDATE spending_window SET limit_nano = limit_nano + CASE owner_id WHEN p_payer THEN moved ELSE -moved END
   WHERE kind = 'wallet' AND owner_id IN (p_payer, -p_payer);
  PERFORM pg_notify('money', format('limit wallet %s', owner)) FROM unnest(ARRAY[p_payer, -p_payer]) AS owner;
  RETURN moved;
END $$;

REVOKE ALL ON FUNCTION move_between_wallets, money_transfer, money_follow, money_leave_invoices FROM PUBLIC;
GRANT EXECUTE ON FUNCTION money_transfer, money_follow, money_leave_invoices TO switchboard_app;
