import type { Client } from 'pg';

/** The sequences of these tables are set here. */
export const TAP_TABLES = ['tap_outbox'];

/** Lower than any current transaction number, so that the entries count as committed. */
const COMMITTED_XID = '3';

/**
 * Outbox positions are transaction numbers: another server counts its own, would take these for future transactions,
 * and deliver nothing. The order and the position of each tap stay the same.
 */
export async function renumberOutbox(target: Client): Promise<void> {
  await target.query(`
    CREATE TEMPORARY TABLE moved_outbox ON COMMIT DROP AS
      SELECT row_number() OVER (ORDER BY xid, id) AS place, * FROM public.tap_outbox;
    UPDATE public.tap t SET after_xid = '${COMMITTED_XID}', claim = NULL, claimed_until = NULL,
      after_id = (SELECT count(*) FROM moved_outbox o WHERE (o.xid, o.id) <= (t.after_xid, t.after_id));
    TRUNCATE public.tap_outbox;
    INSERT INTO public.tap_outbox (xid, id, key_id, request_id, created_at, settled_at) OVERRIDING SYSTEM VALUE
      SELECT '${COMMITTED_XID}', place, key_id, request_id, created_at, settled_at FROM moved_outbox;
    SELECT setval(pg_get_serial_sequence('public.tap_outbox', 'id'), greatest(1, (SELECT count(*) FROM moved_outbox)));
  `);
}
