import { type Fault, fault } from '../kernel';
import type { Tx } from '../platform';
import { Model, ModelAlias } from './entities';

/** Serialises catalogue changes until commit, so that checks stay valid while the transaction writes. */
export async function lockCatalogue(tx: Tx): Promise<void> {
  await tx.query("SELECT pg_advisory_xact_lock(hashtext('switchboard.catalogue'))");
}

/** Throws `model_not_found`. */
export async function getModelByName(tx: Tx, name: string): Promise<Model> {
  const model = await tx.findOneBy(Model, { name });
  if (model === null) throw modelNotFoundError(name);
  return model;
}

export const modelNotFoundError = (name: string): Fault =>
  fault('model_not_found', { param: 'model', details: { model: name } });

/** Accepts a model's name or an alias; throws `model_not_found`. */
export async function getModelByNameOrAlias(tx: Tx, name: string): Promise<Model> {
  const alias = await tx.findOneBy(ModelAlias, { name });
  return alias === null ? getModelByName(tx, name) : tx.findOneByOrFail(Model, { id: alias.modelId });
}

/** Omits undefined fields, so that an update never overwrites them. */
export function definedFields<Fields extends object>(fields: Fields): Partial<Fields> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Partial<Fields>;
}
