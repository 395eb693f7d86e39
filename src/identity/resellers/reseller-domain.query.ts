import { type Database, readRows, type TableRow, type Tx } from '../../platform';
import { closestAddress, hasAddress } from '../account-address';
import { isProven } from './host-proof';

const COLUMNS = 'd.host, d.organisation_id, d.name, d.accent, d.accent_dark, d.changed_at';

export type ResellerDomainRow = TableRow<'reseller_domain', typeof COLUMNS> & {
  readonly hasLogo: boolean;
  readonly ssoOnly: boolean;
  readonly isProven: boolean;
};

const SELECTION = `
  SELECT ${COLUMNS}, d.logo IS NOT NULL AS has_logo, o.sso_only, ${isProven('d')} AS is_proven
    FROM reseller_domain d JOIN organisation o ON o.id = d.organisation_id`;

export const MAX_DOMAINS = 1_000;

export function listDomains(database: Database): Promise<ResellerDomainRow[]> {
  return database.rows(`${SELECTION} ORDER BY d.created_at LIMIT ${MAX_DOMAINS}`);
}

export function listDomainsOf(database: Database, organisationId: number): Promise<ResellerDomainRow[]> {
  return database.rows(
    `${SELECTION} WHERE d.organisation_id = $1 ORDER BY d.created_at, d.host LIMIT ${MAX_DOMAINS}`,
    [organisationId],
  );
}

export async function findDomain(tx: Tx, host: string): Promise<ResellerDomainRow | undefined> {
  const [row] = await readRows<ResellerDomainRow>(tx, `${SELECTION} WHERE d.host = $1`, [host]);
  return row;
}

export async function lockDomain(tx: Tx, host: string): Promise<ResellerDomainRow | undefined> {
  const [row] = await readRows<ResellerDomainRow>(tx, `${SELECTION} WHERE d.host = $1 FOR UPDATE OF d`, [
    host,
  ]);
  return row;
}

/** The oldest proven host of the account's organisation; none for platform administrators. */
export function findPortalOfUser(database: Database, userId: number): Promise<ResellerDomainRow | undefined> {
  return findPortal(database, '$1', userId);
}

export function findPortalOfAddress(
  database: Database,
  email: string,
): Promise<ResellerDomainRow | undefined> {
  const account = `SELECT a.id FROM user_account a WHERE ${hasAddress('a.email', '$1')}
                    ORDER BY ${closestAddress('a.email', '$1')} LIMIT 1`;
  return findPortal(database, `(${account})`, email);
}

async function findPortal(
  database: Database,
  account: string,
  value: unknown,
): Promise<ResellerDomainRow | undefined> {
  const [row] = await database.rows<ResellerDomainRow>(
    `${SELECTION} JOIN user_account u ON u.organisation_id = d.organisation_id
      WHERE u.id = ${account} AND u.role NOT IN ('platform_admin', 'platform_owner') AND ${isProven('d')}
      ORDER BY d.created_at, d.host LIMIT 1`,
    [value],
  );
  return row;
}

export async function readLogo(database: Database, host: string): Promise<Buffer | null> {
  const [row] = await database.query<TableRow<'reseller_domain', 'logo'>>(
    'SELECT logo FROM reseller_domain WHERE host = $1',
    [host],
  );
  return row?.logo ?? null;
}

export async function countDomains(tx: Tx): Promise<number> {
  const [row] = await tx.query<{ count: number }[]>('SELECT count(*)::integer AS count FROM reseller_domain');
  return row?.count ?? 0;
}
