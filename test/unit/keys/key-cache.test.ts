import { fault } from '../../../src/kernel';
import type { Caller } from '../../../src/keys';
import { KeyCache } from '../../../src/keys/key-cache';
import { readKeyChange } from '../../../src/keys/key-change';

const admitted = (
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

test('the longest unused key makes room, and refusals only for refusals', () => {
  const cache = new KeyCache(3, 2);
  for (const id of [1, 2, 3]) cache.put(`key ${id}`, admitted(id));
  cache.get('key 1');
  cache.put('key 4', admitted(4));
  expect([1, 2, 3, 4].filter((id) => cache.get(`key ${id}`) !== undefined)).toEqual([1, 3, 4]);
  for (let made = 0; made < 100; made += 1) cache.put(`made up ${made}`, fault('invalid_api_key'));
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
])('the change "%s" leaves the keys it does not concern', (text, left) => {
  const cache = new KeyCache();
  const known = [
    admitted(1),
    admitted(2, { userId: 20 }),
    admitted(3, { organisationId: 30 }),
    admitted(4, { departmentId: 40 }),
    admitted(5, { projectId: 50 }),
    admitted(6, {}, 60),
  ];
  for (const one of known) cache.put(`key ${one.caller.keyId}`, one);
  cache.put('refused', fault('invalid_api_key'));
  cache.forget(readKeyChange(text));
  expect([1, 2, 3, 4, 5, 6].filter((id) => cache.get(`key ${id}`) !== undefined)).toEqual(left);
  expect(cache.get('refused')).toBeUndefined();
});
