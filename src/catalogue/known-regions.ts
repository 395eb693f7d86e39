import { fault, normaliseRegion } from '../kernel';
import type { Tx } from '../platform';

const KNOWN_REGIONS = `
  SELECT lower(btrim(region)) AS region FROM lane WHERE removed_at IS NULL
   UNION SELECT lower(btrim(region)) FROM provider, unnest(regions) AS region WHERE removed_at IS NULL ORDER BY region`;

/** Throws if a region belongs to no lane and no provider: nothing could be served there. */
export async function refuseUnknownRegions(tx: Tx, param: string, regions: readonly string[]): Promise<void> {
  const rows = await tx.query<{ region: string }[]>(KNOWN_REGIONS);
  const knownRegions = rows.map(({ region }) => region);
  const unknown = regions.find((region) => !knownRegions.includes(normaliseRegion(region)));
  if (unknown === undefined) return;
  throw fault('invalid_request', {
    param,
    message: `Unknown region "${unknown}" in ${param}. Known regions: ${knownRegions.join(', ') || 'none'}.`,
  });
}
