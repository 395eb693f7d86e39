import type { Tx } from '../../platform';
import type { Accents } from './accent';

export interface DomainFields {
  readonly name: string;
  readonly accents: Accents | null;
  /** A PNG; null removes the logo, undefined keeps it. */
  readonly logo?: Buffer | null | undefined;
}

/** Adds a host or changes its branding; an undefined logo keeps the stored one. */
export async function upsertDomain(
  tx: Tx,
  organisationId: number,
  host: string,
  { name, accents, logo }: DomainFields,
): Promise<void> {
  await tx.query(
    `INSERT INTO reseller_domain AS d (host, organisation_id, name, accent, accent_dark, logo)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (host) DO UPDATE SET name = $3, accent = $4, accent_dark = $5,
       logo = CASE WHEN $7 THEN excluded.logo ELSE d.logo END, changed_at = clock_timestamp()`,
    [
      host,
      organisationId,
      name,
      accents?.light ?? null,
      accents?.dark ?? null,
      logo ?? null,
      logo !== undefined,
    ],
  );
}

/** Returns false if the organisation has no such host. */
export async function deleteDomain(tx: Tx, organisationId: number, host: string): Promise<boolean> {
  const [, affected] = await tx.query<[unknown, number]>(
    'DELETE FROM reseller_domain WHERE host = $1 AND organisation_id = $2',
    [host, organisationId],
  );
  return affected > 0;
}
