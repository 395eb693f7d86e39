-- Double entry: what keeps the ledger balanced and final, and postings that are no settlements.

CREATE OR REPLACE FUNCTION check_ledger_transaction() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  checked bigint;
  total   numeric;
  entries bigint;
BEGIN
  IF TG_TABLE_NAME = 'ledger_transaction' THEN checked := NEW.id; ELSE checked := NEW.transaction_id; END IF;
  SELECT coalesce(sum(amount), 0), count(*) INTO total, entries FROM ledger_entry WHERE transaction_id = checked;
  IF total <> 0 OR entries < 2 THEN
    RAISE EXCEPTION 'ledger transaction % has % entries that sum to %', checked, entries, total
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the ledger only grows: % of % is refused', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'insufficient_privilege', HINT = 'Correct a mistake with a transaction that reverses it.';
END $$;

-- Posts to a wallet once for each (kind, ref); answers whether it did so now. A negative amount takes back.
CREATE OR REPLACE FUNCTION money_credit(p_wallet bigint, p_amount bigint, p_against text, p_kind text, p_ref text)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  posted bigint;
BEGIN
  IF p_kind = 'settlement' OR p_against NOT IN ('processor', 'promotion', 'adjustment', 'receipt') THEN
    RAISE EXCEPTION 'a wallet is not credited as % against %', p_kind, p_against USING ERRCODE = 'check_violation';
  END IF;
  INSERT INTO ledger_transaction (kind, ref) VALUES (p_kind, p_ref)
    ON CONFLICT (kind, ref) DO NOTHING RETURNING id INTO posted;
  IF posted IS NULL THEN RETURN false; END IF;
  PERFORM open_wallets(ARRAY[p_wallet]);
  INSERT INTO ledger_entry (transaction_id, account_id, amount, is_posting)
    SELECT posted, id, CASE kind WHEN 'wallet' THEN p_amount ELSE -p_amount END, true FROM ledger_account
     WHERE (kind = 'wallet' AND owner_id = p_wallet) OR kind = p_against;
  UPDATE spending_window SET limit_nano = limit_nano + p_amount WHERE kind = 'wallet' AND owner_id = p_wallet;
  PERFORM pg_notify('money', format('limit wallet %s', p_wallet));
  RETURN true;
END $$;
