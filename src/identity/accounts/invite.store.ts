import { readRows, type TableRow, type Tx } from '../../platform';
import { hasAddress } from '../account-address';

const ACCEPTED_COLUMNS = 'id, role, organisation_id, department_id, invited_by';
const REVOKED_COLUMNS = 'id, email, organisation_id, department_id';
const OPEN = 'accepted_at IS NULL AND revoked_at IS NULL';

export type AcceptedInvite = TableRow<'invite', typeof ACCEPTED_COLUMNS>;

/** Only one of two concurrent calls gets the invitation. */
export async function acceptInvite(
  tx: Tx,
  tokenHash: Buffer,
  email: string,
): Promise<AcceptedInvite | undefined> {
  const [invite] = await readRows<AcceptedInvite>(
    tx,
    `UPDATE invite SET accepted_at = now()
     WHERE token_hash = $1 AND ${hasAddress('email', '$2')} AND ${OPEN} AND expires_at > now()
     RETURNING ${ACCEPTED_COLUMNS}`,
    [tokenHash, email],
  );
  return invite;
}

export function revokeInvitesBy(
  tx: Tx,
  senderId: number,
): Promise<TableRow<'invite', typeof REVOKED_COLUMNS>[]> {
  return readRows(
    tx,
    `UPDATE invite SET revoked_at = now() WHERE invited_by = $1 AND ${OPEN} AND expires_at > now()
     RETURNING ${REVOKED_COLUMNS}`,
    [senderId],
  );
}

/** Returns the ids of the revoked invitations. */
export async function revokeInvitesTo(tx: Tx, organisationId: number, email: string): Promise<number[]> {
  const rows = await readRows<TableRow<'invite', 'id'>>(
    tx,
    `UPDATE invite SET revoked_at = now()
      WHERE organisation_id = $1 AND ${hasAddress('email', '$2')} AND ${OPEN} RETURNING id`,
    [organisationId, email],
  );
  return rows.map(({ id }) => id);
}
