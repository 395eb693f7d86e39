-- Moves what one wallet holds, or owes, to another: all of it but what requests in flight hold. Answers how much; once
-- for each (kind, ref).
CREATE OR REPLACE FUNCTION money_transfer(p_from bigint, p_to bigint, p_kind text, p_ref text)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  posted bigint;
  moved  bigint;
BEGIN
  IF p_kind = 'settlement' OR p_from = p_to THEN
    RAISE EXCEPTION 'a wallet is not moved as % from % to %', p_kind, p_from, p_to USING ERRCODE = 'check_violation';
  END IF;
  PERFORM open_wallets(ARRAY[p_from, p_to]);
  PERFORM FROM spending_window WHERE kind = 'wallet' AND owner_id IN (p_from, p_to) ORDER BY id FOR NO KEY UPDATE;
  SELECT w.limit_nano - coalesce(r.limit_nano, 0) - w.spent - w.escrowed INTO moved
    FROM spending_window w LEFT JOIN spending_rule r ON r.kind = w.kind AND r.owner_id = w.owner_id
   WHERE w.kind = 'wallet' AND w.owner_id = p_from;
  IF moved = 0 THEN RETURN 0; END IF;
  INSERT INTO ledger_transaction (kind, ref) VALUES (p_kind, p_ref)
    ON CONFLICT (kind, ref) DO NOTHING RETURNING id INTO posted;
  IF posted IS NULL THEN RETURN 0; END IF;
  INSERT INTO ledger_entry (transaction_id, account_id, amount, is_posting)
    SELECT posted, id, CASE owner_id WHEN p_to THEN moved ELSE -moved END, true FROM ledger_account
     WHERE kind = 'wallet' AND owner_id IN (p_from, p_to);
  UPDATE spending_window SET limit_nano = limit_nano + CASE owner_id WHEN p_to THEN moved ELSE -moved END
   WHERE kind = 'wallet' AND owner_id IN (p_from, p_to);
  PERFORM pg_notify('money', format('limit wallet %s', owner)) FROM unnest(ARRAY[p_from, p_to]) AS owner;
  RETURN moved;
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

REVOKE ALL ON FUNCTION money_transfer, money_leave_invoices FROM PUBLIC;
GRANT EXECUTE ON FUNCTION money_transfer, money_leave_invoices TO switchboard_app;
