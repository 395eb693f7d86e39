import type { Tx } from '../../platform';
import type { RecordLookup } from './host-proof';
import type { HostProofRow } from './host-proof.query';

/** Stores a look-up of the record; the proof begins, goes on or ends with `holds`. */
export async function recordLookup(
  tx: Tx,
  before: Pick<HostProofRow, 'host' | 'isProven'>,
  { result, found }: RecordLookup,
  holds: boolean,
): Promise<void> {
  await tx.query(
    `UPDATE reseller_domain SET checked_at = now(), check_result = $2, check_found = $3,
       seen_at = CASE WHEN $2 = 'seen' THEN now() ELSE seen_at END,
       proven_at = CASE WHEN NOT $4 THEN NULL WHEN $5 THEN proven_at ELSE now() END
     WHERE host = $1`,
    [before.host, result, found, holds, before.isProven],
  );
}
