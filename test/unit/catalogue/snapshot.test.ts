import { CatalogueSnapshot, type CatalogueRows } from '../../../src/catalogue/snapshot';
import type { Resolution } from '../../../src/catalogue/views';
import { alias, lane, model, price, provider, rows, schedule } from './catalogue-fixture';

const at = (text: string): number => new Date(text).getTime();
const now = at('2026-06-01T00:00:00Z');

const resolve = (fields: Partial<CatalogueRows>, name = 'm', instant = now): Resolution =>
  new CatalogueSnapshot(rows(fields)).resolve(name, instant);

/** Each outcome is one word a thing: the names on the way, or the code of the refusal. */
function outcome(resolution: Resolution): readonly string[] | string {
  return resolution.kind === 'found' ? resolution.names : resolution.code;
}

/** Lane id and price id of every lane offered, in order. */
function offered(resolution: Resolution): number[][] {
  if (resolution.kind !== 'found') throw new Error(resolution.code);
  return resolution.lanes.map(({ lane: { id }, price: { id: priceId } }) => [id, priceId]);
}

describe('names', () => {
  test('a model answers to its name and to its aliases', () => {
    const aliases = [alias('other'), alias('third')];
    expect(outcome(resolve({ aliases }))).toEqual(['m']);
    expect(outcome(resolve({ aliases }, 'third'))).toEqual(['third', 'm']);
    expect(outcome(resolve({ aliases }, 'M'))).toBe('model_not_found');
    expect(outcome(resolve({ aliases }, '__proto__'))).toBe('model_not_found');
  });

  test('redirects are followed over five hops and no further', () => {
    const chain = (length: number): Partial<CatalogueRows> => ({
      models: Array.from({ length: length + 1 }, (_, index) =>
        model({ id: index + 1, name: `m${index}`, redirectTo: index === length ? null : index + 2 }),
      ),
      lanes: [lane({ modelId: length + 1 })],
      prices: [price({ modelId: length + 1 })],
    });
    expect(outcome(resolve(chain(5), 'm0'))).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm5']);
    expect(outcome(resolve(chain(6), 'm0'))).toBe('max_hops_exceeded');
  });

  test('a circle ends', () => {
    const models = [model({ redirectTo: 2 }), model({ id: 2, name: 'n', redirectTo: 1 })];
    expect(outcome(resolve({ models }))).toBe('max_hops_exceeded');
  });

  test('a deleted model still leads to its successor', () => {
    const models = [model({ id: 2, name: 'old', state: 'deleted', redirectTo: 1 }), model()];
    expect(outcome(resolve({ models, aliases: [alias('older', 2)] }, 'older'))).toEqual([
      'older',
      'old',
      'm',
    ]);
  });
});

describe('states', () => {
  test.each([
    ['active', ['m']],
    ['hidden', ['m']],
    ['paused', 'model_not_available'],
    ['deleted', 'model_not_found'],
  ] as const)('%s', (state, expected) => {
    expect(outcome(resolve({ models: [model({ state })] }))).toEqual(expected);
  });

  test('a model that retires answers until its date, and from then on only through a redirect', () => {
    const retiresAt = new Date(now);
    const models = [model({ retiresAt })];
    expect(outcome(resolve({ models }, 'm', now - 1))).toEqual(['m']);
    expect(outcome(resolve({ models }, 'm', now))).toBe('model_not_available');
    const led = [model({ id: 2, name: 'old', retiresAt, redirectTo: 1 }), model()];
    expect(outcome(resolve({ models: led }, 'old'))).toEqual(['old', 'm']);
    const intoOne = [model({ id: 2, name: 'old', redirectTo: 1 }), model({ retiresAt })];
    expect(outcome(resolve({ models: intoOne }, 'old'))).toBe('model_not_available');
  });
});

describe('lanes', () => {
  test('stand in order of priority, without those that are switched off', () => {
    const lanes = [
      lane({ id: 1, priority: 2 }),
      lane({ id: 2, priority: 0, enabled: false }),
      lane({ id: 3, priority: 1 }),
      lane({ id: 4, priority: 0 }),
    ];
    expect(offered(resolve({ lanes }))).toEqual([
      [4, 1],
      [3, 1],
      [1, 1],
    ]);
  });

  test('hiding a provider moves the backups up', () => {
    const providers = [provider({ visible: false }), provider({ id: 2, name: 'south' })];
    const lanes = [lane(), lane({ id: 2, providerId: 2, priority: 1 })];
    expect(offered(resolve({ providers, lanes }))).toEqual([[2, 1]]);
    expect(outcome(resolve({ providers, lanes: [lane()] }))).toBe('model_not_configured');
  });

  test('none at all', () => expect(outcome(resolve({ lanes: [] }))).toBe('model_not_configured'));
});

describe('prices', () => {
  const start = at('2026-06-01T12:00:00Z');
  const end = at('2026-06-01T13:00:00Z');
  const pinned = (fields: Partial<CatalogueRows>, instant: number): number | undefined =>
    offered(resolve(fields, 'm', instant))[0]?.[1];

  test('without any, a model is refused, never free', () => {
    expect(outcome(resolve({ prices: [] }))).toBe('supplier_price_unresolved');
    expect(outcome(resolve({ prices: [price({ validFrom: null })] }))).toBe('supplier_price_unresolved');
    expect(outcome(resolve({ prices: [price({ laneId: 9 })] }))).toBe('supplier_price_unresolved');
  });

  test('a lane without a price is not offered', () => {
    const lanes = [lane(), lane({ id: 2, priority: 1 })];
    expect(offered(resolve({ lanes, prices: [price({ laneId: 2 })] }))).toEqual([[2, 1]]);
  });

  test('a version holds from its very instant, and the later of two that begin together', () => {
    const prices = [
      price(),
      price({ id: 2, validFrom: new Date(start) }),
      price({ id: 3, validFrom: new Date(start) }),
    ];
    expect(pinned({ prices }, start - 1)).toBe(1);
    expect(pinned({ prices }, start)).toBe(3);
  });

  test("a lane's own price goes before the model's, even an older one", () => {
    const prices = [price({ id: 1, laneId: 1 }), price({ id: 2, validFrom: new Date(start) })];
    const lanes = [lane(), lane({ id: 2, priority: 1 })];
    expect(offered(resolve({ prices, lanes }, 'm', start))).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  test('a schedule flips at its exact instants and needs no reload to do so', () => {
    const prices = [price(), price({ id: 2, validFrom: null })];
    const schedules = [schedule({ priceId: 2, startsAt: new Date(start), endsAt: new Date(end) })];
    const snapshot = new CatalogueSnapshot(rows({ prices, schedules }));
    const pinnedAt = (instant: number): number | undefined => offered(snapshot.resolve('m', instant))[0]?.[1];
    expect([start - 1, start, end - 1, end].map(pinnedAt)).toEqual([1, 2, 2, 1]);
  });

  test('one schedule ends where the next begins', () => {
    const prices = [price(), price({ id: 2, validFrom: null }), price({ id: 3, validFrom: null })];
    const schedules = [
      schedule({ id: 2, priceId: 3, startsAt: new Date(end) }),
      schedule({ id: 1, priceId: 2, startsAt: new Date(start), endsAt: new Date(end) }),
    ];
    expect([end - 1, end, end + 1e12].map((instant) => pinned({ prices, schedules }, instant))).toEqual([
      2, 3, 3,
    ]);
  });

  test("a schedule for one lane leaves the others' prices alone", () => {
    const prices = [price(), price({ id: 2, laneId: 2, validFrom: null })];
    const lanes = [lane(), lane({ id: 2, priority: 1 })];
    expect(offered(resolve({ prices, lanes, schedules: [schedule({ priceId: 2 })] }))).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  test('a pinned price is found when another is long in force', () => {
    const prices = [price({ input: 5n }), price({ id: 2, validFrom: new Date(start) })];
    expect(new CatalogueSnapshot(rows({ prices })).price(1)?.rates.input).toBe(5n);
  });

  test('stored tiers come back as rates', () => {
    const tiers = [{ aboveInputTokens: 200, input: '999999999999999', cacheRead: null }];
    const snapshot = new CatalogueSnapshot(rows({ prices: [price({ tiers })] }));
    expect(snapshot.price(1)?.rates.tiers[0]).toMatchObject({
      aboveInputTokens: 200,
      input: 999_999_999_999_999n,
      output: null,
    });
  });
});

describe('a model is open to some', () => {
  const inside = { organisationId: 4, departmentId: 8 };
  const open = (restricted: boolean, fields: Partial<CatalogueRows>): boolean => {
    const snapshot = new CatalogueSnapshot(rows({ models: [model({ restricted })], ...fields }));
    return snapshot.isOpenTo(snapshot.models[0]!, inside);
  };
  const organisation = (granted: boolean, enabled: boolean): Partial<CatalogueRows> => ({
    organisationAccess: [{ modelId: 1, organisationId: 4, granted, enabled, denied: false }],
  });
  const department = (allowed: boolean): Partial<CatalogueRows> => ({
    departmentAccess: [{ modelId: 1, departmentId: 8, allowed }],
  });

  test('an open model is open until somebody closes it', () => {
    expect(open(false, {})).toBe(true);
    expect(open(false, organisation(false, true))).toBe(true);
    expect(open(false, organisation(false, false))).toBe(false);
    expect(open(false, department(false))).toBe(false);
    expect(open(false, department(true))).toBe(true);
  });

  test('a restricted model needs the grant, and the organisation may still switch it off', () => {
    expect(open(true, {})).toBe(false);
    expect(open(true, organisation(false, true))).toBe(false);
    expect(open(true, organisation(true, true))).toBe(true);
    expect(open(true, organisation(true, false))).toBe(false);
    expect(open(true, { ...organisation(true, true), ...department(false) })).toBe(false);
    expect(open(true, department(true))).toBe(false);
  });

  test("another organisation's word does not count", () => {
    const snapshot = new CatalogueSnapshot(
      rows({ models: [model({ restricted: true })], ...organisation(true, true) }),
    );
    expect(snapshot.isOpenTo(snapshot.models[0]!, { organisationId: 5, departmentId: null })).toBe(false);
    expect(snapshot.isOpenTo(snapshot.models[0]!, { organisationId: null, departmentId: null })).toBe(false);
  });
});

test('models are listed in the order set for them, and nothing in a snapshot can be changed', () => {
  const models = [
    model({ id: 1, name: 'b' }),
    model({ id: 2, name: 'z', displayOrder: -1 }),
    model({ id: 3, name: 'a' }),
  ];
  const snapshot = new CatalogueSnapshot(rows({ models }));
  expect(snapshot.models.map(({ name }) => name)).toEqual(['z', 'a', 'b']);
  expect(() => Object.assign(snapshot.models[0]!, { name: 'q' })).toThrow(TypeError);
  expect(() => Object.assign(snapshot.models[2]!.lanes[0]!, { weight: 9 })).toThrow(TypeError);
  expect(() => Object.assign(snapshot.price(1)!, { id: 9 })).toThrow(TypeError);
});
