import type { Scope } from '../../kernel';
import type { KeyRegister } from '../../keys';

/** Replaces the public id of a query's key by its row id. */
export async function resolveKeyId<Query extends { readonly key?: number | string }>(
  keys: KeyRegister,
  scope: Scope,
  { key, ...query }: Query,
): Promise<Omit<Query, 'key'> & { readonly key?: number }> {
  return key === undefined ? query : { ...query, key: await keys.resolveId(scope, key) };
}
