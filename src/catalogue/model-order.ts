import { fault } from '../kernel';
import { readRows, type Row, type Tx } from '../platform';
import { lockCatalogue } from './catalogue-lock';

/** The given names take the places that they occupy together, in their new order; all others stay. */
export function reordered(current: readonly string[], wanted: readonly string[]): string[] {
  const asked = new Set(wanted);
  if (asked.size !== wanted.length)
    throw fault('validation_error', { param: 'order', message: 'A model is listed twice.' });
  const known = new Set(current);
  const unknown = wanted.find((name) => !known.has(name));
  if (unknown !== undefined) throw fault('model_not_found', { param: 'order', details: { model: unknown } });
  const next = wanted.values();
  return current.map((name) => (asked.has(name) ? (next.next().value ?? name) : name));
}

/** Moves a model to a place counted from one; a place beyond the end is the end. */
export function moved(current: readonly string[], name: string, place: number): string[] {
  const others = current.filter((one) => one !== name);
  if (others.length === current.length)
    throw fault('model_not_found', { param: 'model', details: { model: name } });
  others.splice(Math.max(0, place - 1), 0, name);
  return others;
}

/** Deleted models keep their numbers and are not counted. Returns the renumbered models. */
export async function writeModelOrder(
  tx: Tx,
  change: (current: readonly string[]) => readonly string[],
): Promise<readonly string[]> {
  await lockCatalogue(tx);
  const rows = await readRows<Row<'model', 'name, display_order'>>(
    tx,
    `SELECT name, display_order FROM model WHERE state <> 'deleted' ORDER BY display_order, name COLLATE "C"`,
  );
  const before = new Map(rows.map(({ name, displayOrder: order }) => [name, order]));
  const after = change([...before.keys()]);
  const changed = after.flatMap((name, place) =>
    before.get(name) === place + 1 ? [] : [{ name, order: place + 1 }],
  );
  if (changed.length > 0) {
    await tx.query(
      `UPDATE model SET display_order = wanted.place
         FROM unnest($1::text[], $2::integer[]) AS wanted (name, place) WHERE model.name = wanted.name`,
      [changed.map(({ name }) => name), changed.map(({ order }) => order)],
    );
  }
  const places = new Map([...before.keys()].map((name, place) => [name, place]));
  return after.filter((name, place) => places.get(name) !== place);
}
