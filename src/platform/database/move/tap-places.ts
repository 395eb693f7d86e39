import type { Client } from 'pg';

/** The sequences of these are set here. */
export const TAP_TABLES = ['tap_outbox'];

/** No transaction of a server has so low a number: what is there is over. */
const LONG_OVER = '3';

/**
 * Places in the outbox are numbers of transactions, which another server counts anew: left as they are, it would take them
 * for transactions to come, and deliver nothing. Their order stays, and where each tap stands in it.
 */
export async function renumberOutbox(target: Client): Promise<void> {
  await target.query(`
    CREATE TEMPORARY TABLE moved_outbox ON COMMIT DROP AS
      SELECT row_number() OVER (ORDER BY xid, id) AS place, * FROM public.tap_outbox;
    UPDATE public.tap t SET after_xid = '${LONG_OVER}', claim = NULL, claimed_until = NULL,
      after_id = (SELECT count(*) FROM moved_outbox o WHERE (o.xid, o.id) <= (t.after_xid, t.after_id));
    TRUNCATE public.tap_outbox;
    INSERT INTO public.tap_outbox (xid, id, key_id, request_id, created_at, settled_at) OVERRIDING SYSTEM VALUE
      SELECT '${LONG_OVER}', place, key_id, request_id, created_at, settled_at FROM moved_outbox;
    SELECT setval(pg_get_serial_sequence('public.tap_outbox', 'id'), greatest(1, (SELECT count(*) FROM moved_outbox)));
  `);
}
