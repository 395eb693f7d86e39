import { type Database, readRows, type TableRow, type Tx } from '../../platform';
import { isProven } from './host-proof';

const OWN_COLUMNS =
  'd.host, d.organisation_id, d.proof_value, d.proven_at, d.seen_at, d.checked_at, d.check_result, d.check_found';
const SELECTION = `SELECT ${OWN_COLUMNS}, ${isProven('d')} AS is_proven FROM reseller_domain d`;

const MAX_HOSTS = 1_000;

export type HostProofRow = TableRow<'reseller_domain', typeof OWN_COLUMNS> & { readonly isProven: boolean };

export function listHostProofs(database: Database, organisationId: number): Promise<HostProofRow[]> {
  return database.rows<HostProofRow>(
    `${SELECTION} WHERE d.organisation_id = $1 ORDER BY d.host LIMIT ${MAX_HOSTS}`,
    [organisationId],
  );
}

/** Hosts that were checked longest ago come first. */
export function listHostsToCheck(database: Database): Promise<HostProofRow[]> {
  return database.rows<HostProofRow>(
    `${SELECTION} ORDER BY d.checked_at NULLS FIRST, d.host LIMIT ${MAX_HOSTS}`,
  );
}

export async function findHostProof(
  database: Database,
  host: string,
  organisationId: number,
): Promise<HostProofRow | undefined> {
  const [row] = await database.rows<HostProofRow>(
    `${SELECTION} WHERE d.host = $1 AND d.organisation_id = $2`,
    [host, organisationId],
  );
  return row;
}

export async function lockHostProof(
  tx: Tx,
  { host, proofValue }: Pick<HostProofRow, 'host' | 'proofValue'>,
): Promise<HostProofRow | undefined> {
  const [row] = await readRows<HostProofRow>(
    tx,
    `${SELECTION} WHERE d.host = $1 AND d.proof_value = $2 FOR UPDATE`,
    [host, proofValue],
  );
  return row;
}

/**
 * With a user, checks that their organisation has proven the host, and locks the proof. Without one, any organisation's
 * proof counts.
 */
export async function isProvenPortal(
  tx: Pick<Tx, 'query'>,
  host: string,
  user: { readonly organisationId: number | null } | null,
): Promise<boolean> {
  const rows = await tx.query<object[]>(
    `SELECT 1 FROM reseller_domain d WHERE d.host = $1 AND ${isProven('d')}
        AND ($2::boolean OR d.organisation_id = $3) ${user === null ? '' : 'FOR SHARE'}`,
    [host, user === null, user?.organisationId ?? null],
  );
  return rows.length > 0;
}
