import type { Tx } from '../platform';

const KNOWN_REGIONS = `
  SELECT lower(btrim(region)) AS region FROM lane WHERE removed_at IS NULL
   UNION SELECT lower(btrim(region)) FROM provider, unnest(regions) AS region WHERE removed_at IS NULL ORDER BY region`;

/** Regions of all lanes and providers, in alphabetical order. */
export async function listKnownRegions(tx: Tx): Promise<string[]> {
  return (await tx.query<{ region: string }[]>(KNOWN_REGIONS)).map(({ region }) => region);
}
