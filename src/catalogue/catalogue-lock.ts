import { type Fault, fault } from '../kernel';
import type { Tx } from '../platform';
import { Model, ModelAlias } from './entities';

/** Serialises changes until their commit, so that what one has checked stays true while it writes. */
export async function lockCatalogue(tx: Tx): Promise<void> {
  await tx.query("SELECT pg_advisory_xact_lock(hashtext('switchboard.catalogue'))");
}

/** It finds the model by its own name; throws `model_not_found`. */
export async function modelNamed(tx: Tx, name: string): Promise<Model> {
  const model = await tx.findOneBy(Model, { name });
  if (model === null) throw noSuchModel(name);
  return model;
}

export const noSuchModel = (name: string): Fault =>
  fault('model_not_found', { param: 'model', details: { model: name } });

/** It finds the model by its own name or an alias; throws `model_not_found`. */
export async function modelCalled(tx: Tx, name: string): Promise<Model> {
  const alias = await tx.findOneBy(ModelAlias, { name });
  return alias === null ? modelNamed(tx, name) : tx.findOneByOrFail(Model, { id: alias.modelId });
}

/** It returns only the given fields: an omitted field is never overwritten. */
export function given<Fields extends object>(fields: Fields): Partial<Fields> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Partial<Fields>;
}
