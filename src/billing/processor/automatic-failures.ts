import type { Tx } from '../../platform';
import type { Payment } from './payments';

/** After so many failures in a row it is switched off: repeating does not mend a card. */
const MOST_FAILURES = 5;
/** The pauses double, from an hour up to nearly three days. */
const MOST_DOUBLINGS = 6;

/** A payment's failure counts once, whether its event or the answer to its call comes first. */
export async function failAutomatic(tx: Tx, { id, walletId }: Payment, code: string): Promise<boolean> {
  const [failed] = await tx.query<[object[], number]>(
    `UPDATE payment SET state = 'failed', failure_code = $2 WHERE id = $1 AND state = 'open' RETURNING id`,
    [id, code.slice(0, 100)],
  );
  if (failed.length === 0) return false;
  await tx.query(
    `UPDATE billing_account SET failures = failures + 1, failure_code = $2,
            automatic = automatic AND failures + 1 < ${MOST_FAILURES},
            paused_until = now() + interval '1 hour' * 2 ^ least(failures, ${MOST_DOUBLINGS})
      WHERE wallet_id = $1`,
    [walletId, code.slice(0, 100)],
  );
  return true;
}

export const forgetFailures = (tx: Tx, { walletId }: Payment): Promise<unknown> =>
  tx.query(
    `UPDATE billing_account SET failures = 0, failure_code = NULL, paused_until = NULL
      WHERE wallet_id = $1 AND failures > 0`,
    [walletId],
  );
