import type { Scope } from '../../kernel';
import type { KeyRegister } from '../../keys';

/** The query of a page, with its key by number. */
export async function withKeyNumber<Query extends { readonly key?: number | string }>(
  keys: KeyRegister,
  scope: Scope,
  { key, ...query }: Query,
): Promise<Omit<Query, 'key'> & { readonly key?: number }> {
  return key === undefined ? query : { ...query, key: await keys.numberOf(scope, key) };
}
