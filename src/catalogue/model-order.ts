import { fault } from '../kernel';
import type { Tx } from '../platform';
import { lockCatalogue } from './catalogue-lock';
import { listModelOrder, setModelOrder } from './model-order.store';

/** Rearranges the requested names within the positions that they occupy together; all others stay. */
export function reorderModels(current: readonly string[], requested: readonly string[]): string[] {
  const requestedNames = new Set(requested);
  if (requestedNames.size !== requested.length)
    throw fault('validation_error', { param: 'order', message: 'A model is listed twice.' });
  const currentNames = new Set(current);
  const unknown = requested.find((name) => !currentNames.has(name));
  if (unknown !== undefined) throw fault('model_not_found', { param: 'order', details: { model: unknown } });
  const next = requested.values();
  return current.map((name) => (requestedNames.has(name) ? (next.next().value ?? name) : name));
}

/** Moves a model to a position counted from one; positions beyond the end mean the end. */
export function moveModel(current: readonly string[], name: string, position: number): string[] {
  const others = current.filter((one) => one !== name);
  if (others.length === current.length)
    throw fault('model_not_found', { param: 'model', details: { model: name } });
  others.splice(Math.max(0, position - 1), 0, name);
  return others;
}

/** Deleted models keep their numbers and are not counted. Returns the renumbered models. */
export async function writeModelOrder(
  tx: Tx,
  change: (current: readonly string[]) => readonly string[],
): Promise<readonly string[]> {
  await lockCatalogue(tx);
  const rows = await listModelOrder(tx);
  const before = new Map(rows.map(({ name, displayOrder: order }) => [name, order]));
  const after = change([...before.keys()]);
  const changed = after.flatMap((name, index) =>
    before.get(name) === index + 1 ? [] : [{ name, order: index + 1 }],
  );
  if (changed.length > 0) await setModelOrder(tx, changed);
  const previousIndex = new Map([...before.keys()].map((name, index) => [name, index]));
  return after.filter((name, index) => previousIndex.get(name) !== index);
}
