import { fault } from '../../../src/kernel';
import type { Caller } from '../../../src/keys';
import { KeyCache } from '../../../src/keys/key-cache';
import { readKeyChange } from '../../../src/keys/key-change';

const admittedKey = (
  keyId: number,
  who: Partial<Caller['attribution']> = {},
  ...payerChain: readonly number[]
) => ({
  caller: {
    keyId,
    payerId: payerChain[0] ?? null,
    payerChain,
    attribution: {
      keyId,
      userId: null,
      organisationId: null,
      departmentId: null,
      projectId: null,
      walletId: null,
      ...who,
    },
  } as Caller,
  secretUntil: null,
});

test('least recently used key is evicted, and cached refusals only evict refusals', () => {
  const cache = new KeyCache(3, 2);
  for (const id of [1, 2, 3]) cache.put(`key ${id}`, admittedKey(id));
  cache.get('key 1');
  cache.put('key 4', admittedKey(4));
  expect([1, 2, 3, 4].filter((id) => cache.get(`key ${id}`) !== undefined)).toEqual([1, 3, 4]);
  for (let keyIndex = 0; keyIndex < 100; keyIndex += 1)
    cache.put(`made up ${keyIndex}`, fault('invalid_api_key'));
  expect(cache.size).toEqual({ admitted: 3, refused: 2 });
});

test.each([
  ['key 1', [2, 3, 4, 5, 6]],
  ['user_account 20', [1, 3, 4, 5, 6]],
  ['user_account 60', [1, 2, 3, 4, 5]],
  ['organisation 30', [1, 2, 4, 5, 6]],
  ['department 40', [1, 2, 3, 5, 6]],
  ['project 50', [1, 2, 3, 4, 6]],
  ['project 51', [1, 2, 3, 4, 5, 6]],
  ['anything 1', []],
  ['', []],
])('change "%s" keeps the keys it does not concern', (text, left) => {
  const cache = new KeyCache();
  const cachedKeys = [
    admittedKey(1),
    admittedKey(2, { userId: 20 }),
    admittedKey(3, { organisationId: 30 }),
    admittedKey(4, { departmentId: 40 }),
    admittedKey(5, { projectId: 50 }),
    admittedKey(6, {}, 60),
  ];
  for (const entry of cachedKeys) cache.put(`key ${entry.caller.keyId}`, entry);
  cache.put('refused', fault('invalid_api_key'));
  cache.forget(readKeyChange(text));
  expect([1, 2, 3, 4, 5, 6].filter((id) => cache.get(`key ${id}`) !== undefined)).toEqual(left);
  expect(cache.get('refused')).toBeUndefined();
});
