import { readRows, type TableRow, type Tx } from '../platform';

/** Models that are not deleted, in their order. */
export function listModelOrder(tx: Tx): Promise<TableRow<'model', 'name, display_order'>[]> {
  return readRows(
    tx,
    `SELECT name, display_order FROM model WHERE state <> 'deleted' ORDER BY display_order, name COLLATE "C"`,
  );
}

export async function setModelOrder(
  tx: Tx,
  models: readonly { readonly name: string; readonly order: number }[],
): Promise<void> {
  await tx.query(
    `UPDATE model SET display_order = wanted.place
       FROM unnest($1::text[], $2::integer[]) AS wanted (name, place) WHERE model.name = wanted.name`,
    [models.map(({ name }) => name), models.map(({ order }) => order)],
  );
}
