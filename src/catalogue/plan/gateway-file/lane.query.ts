import type { TableRow, Tx } from '../../../platform';
import { routeName } from '../field-texts';
import type { DesiredLane } from './desired';

/** Regions are compared as the catalogue stores and prints them, in lower case and without spaces around. */
export async function findLaneId(tx: Tx, model: string, lane: DesiredLane): Promise<number> {
  const [row] = await tx.query<TableRow<'lane', 'id'>[]>(
    `SELECT l.id FROM lane l JOIN model m ON m.id = l.model_id JOIN provider p ON p.id = l.provider_id
      WHERE m.name = $1 AND p.name = $2 AND l.upstream_model = $3 AND lower(btrim(l.region)) = $4 AND l.removed_at IS NULL`,
    [model, lane.provider, lane.upstreamModel, lane.region],
  );
  if (row === undefined) throw new Error(`${routeName(lane)} is not there`);
  return row.id;
}
