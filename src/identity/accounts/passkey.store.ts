import type { Tx } from '../../platform';
import type { Passkey } from './passkey.entity';

const MAX_SIGN_COUNT = 0xffff_ffff;

/** Counts in a single statement, so that the second of two responses with the same counter is refused. */
export async function countSignature(
  writer: Pick<Tx, 'query'>,
  { credentialId }: Passkey,
  count: number,
): Promise<boolean> {
  const [, affected] = await writer.query<[unknown, number]>(
    `UPDATE passkey SET sign_count = $2, last_used_at = now()
     WHERE credential_id = $1 AND (sign_count < $2 OR (sign_count = 0 AND $2 = 0))`,
    [credentialId, Math.min(count, MAX_SIGN_COUNT)],
  );
  return affected === 1;
}
