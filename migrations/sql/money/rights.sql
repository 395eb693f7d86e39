-- The application calls these and no others; what they change it may only read.

REVOKE ALL ON FUNCTION
  open_spending_windows, open_wallets, roll_spending_windows, spending_left, recorded_spend, spending_period, add_usage_hours,
  escrow_draw, escrow_return, escrow_audit, escrow_beat(uuid, text, boolean), escrow_beat(uuid, text, boolean, text),
  escrow_sweep, escrow_forget, money_settle, money_credit, set_spending_limit, spending_state, spending_frees_next, begin_escrow_operation
  FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
  escrow_draw, escrow_return, escrow_audit, escrow_beat(uuid, text, boolean), escrow_beat(uuid, text, boolean, text),
  escrow_sweep, escrow_forget, money_settle, money_credit, set_spending_limit, spending_state, spending_frees_next
  TO switchboard_app;
