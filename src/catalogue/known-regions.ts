import { fault, normaliseRegion } from '../kernel';
import type { Tx } from '../platform';
import { listKnownRegions } from './known-region.query';

/** Throws if a region belongs to no lane and no provider: nothing could be served there. */
export async function refuseUnknownRegions(tx: Tx, param: string, regions: readonly string[]): Promise<void> {
  const knownRegions = await listKnownRegions(tx);
  const unknown = regions.find((region) => !knownRegions.includes(normaliseRegion(region)));
  if (unknown === undefined) return;
  throw fault('invalid_request', {
    param,
    message: `Unknown region "${unknown}" in ${param}. Known regions: ${knownRegions.join(', ') || 'none'}.`,
  });
}
