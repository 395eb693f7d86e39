import { CatalogueSnapshot, type CatalogueRows } from '../../../src/catalogue/snapshot';
import type { Resolution } from '../../../src/catalogue/views';
import { alias, lane, model, price, provider, rows, schedule } from './catalogue-fixture';

const timeOf = (text: string): number => new Date(text).getTime();
const now = timeOf('2026-06-01T00:00:00Z');

const resolve = (fields: Partial<CatalogueRows>, name = 'm', instant = now): Resolution =>
  new CatalogueSnapshot(rows(fields)).resolve(name, instant);

/** Returns the resolved names in order, or the code of the refusal. */
function outcomeOf(resolution: Resolution): readonly string[] | string {
  return resolution.kind === 'found' ? resolution.names : resolution.code;
}

/** Returns lane id and price id of every offered lane, in order. */
function offeredLanes(resolution: Resolution): number[][] {
  if (resolution.kind !== 'found') throw new Error(resolution.code);
  return resolution.lanes.map(({ lane: { id }, price: { id: priceId } }) => [id, priceId]);
}

describe('Model names', () => {
  test('model resolves by its name and its aliases', () => {
    const aliasRows = [alias('other'), alias('third')];
    expect(outcomeOf(resolve({ aliases: aliasRows }))).toEqual(['m']);
    expect(outcomeOf(resolve({ aliases: aliasRows }, 'third'))).toEqual(['third', 'm']);
    expect(outcomeOf(resolve({ aliases: aliasRows }, 'M'))).toBe('model_not_found');
    expect(outcomeOf(resolve({ aliases: aliasRows }, '__proto__'))).toBe('model_not_found');
  });

  test('redirects are followed over at most five hops', () => {
    const chain = (length: number): Partial<CatalogueRows> => ({
      models: Array.from({ length: length + 1 }, (_, index) =>
        model({ id: index + 1, name: `m${index}`, redirectTo: index === length ? null : index + 2 }),
      ),
      lanes: [lane({ modelId: length + 1 })],
      prices: [price({ modelId: length + 1 })],
    });
    expect(outcomeOf(resolve(chain(5), 'm0'))).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm5']);
    expect(outcomeOf(resolve(chain(6), 'm0'))).toBe('max_hops_exceeded');
  });

  test('redirect loop ends with an error', () => {
    const models = [model({ redirectTo: 2 }), model({ id: 2, name: 'n', redirectTo: 1 })];
    expect(outcomeOf(resolve({ models }))).toBe('max_hops_exceeded');
  });

  test('deleted model still leads to its successor', () => {
    const models = [model({ id: 2, name: 'old', state: 'deleted', redirectTo: 1 }), model()];
    expect(outcomeOf(resolve({ models, aliases: [alias('older', 2)] }, 'older'))).toEqual([
      'older',
      'old',
      'm',
    ]);
  });
});

describe('Model states', () => {
  test.each([
    ['active', ['m']],
    ['hidden', ['m']],
    ['paused', 'model_not_available'],
    ['deleted', 'model_not_found'],
  ] as const)('%s model is served or refused according to its state', (state, expected) => {
    expect(outcomeOf(resolve({ models: [model({ state })] }))).toEqual(expected);
  });

  test('retiring model serves until its date and afterwards only through a redirect', () => {
    const retiresAt = new Date(now);
    const models = [model({ retiresAt })];
    expect(outcomeOf(resolve({ models }, 'm', now - 1))).toEqual(['m']);
    expect(outcomeOf(resolve({ models }, 'm', now))).toBe('model_not_available');
    const redirectedModels = [model({ id: 2, name: 'old', retiresAt, redirectTo: 1 }), model()];
    expect(outcomeOf(resolve({ models: redirectedModels }, 'old'))).toEqual(['old', 'm']);
    const retiringTarget = [model({ id: 2, name: 'old', redirectTo: 1 }), model({ retiresAt })];
    expect(outcomeOf(resolve({ models: retiringTarget }, 'old'))).toBe('model_not_available');
  });
});

describe('Lane order', () => {
  test('lanes are ordered by priority without disabled ones', () => {
    const lanes = [
      lane({ id: 1, priority: 2 }),
      lane({ id: 2, priority: 0, enabled: false }),
      lane({ id: 3, priority: 1 }),
      lane({ id: 4, priority: 0 }),
    ];
    expect(offeredLanes(resolve({ lanes }))).toEqual([
      [4, 1],
      [3, 1],
      [1, 1],
    ]);
  });

  test('hiding a provider promotes its backups', () => {
    const providers = [provider({ visible: false }), provider({ id: 2, name: 'south' })];
    const lanes = [lane(), lane({ id: 2, providerId: 2, priority: 1 })];
    expect(offeredLanes(resolve({ providers, lanes }))).toEqual([[2, 1]]);
    expect(outcomeOf(resolve({ providers, lanes: [lane()] }))).toBe('model_not_configured');
  });

  test('model without lanes is refused', () =>
    expect(outcomeOf(resolve({ lanes: [] }))).toBe('model_not_configured'));
});

describe('Effective prices', () => {
  const start = timeOf('2026-06-01T12:00:00Z');
  const end = timeOf('2026-06-01T13:00:00Z');
  const pinnedPrice = (fields: Partial<CatalogueRows>, instant: number): number | undefined =>
    offeredLanes(resolve(fields, 'm', instant))[0]?.[1];

  test('model without a price is refused and never free', () => {
    expect(outcomeOf(resolve({ prices: [] }))).toBe('supplier_price_unresolved');
    expect(outcomeOf(resolve({ prices: [price({ validFrom: null })] }))).toBe('supplier_price_unresolved');
    expect(outcomeOf(resolve({ prices: [price({ laneId: 9 })] }))).toBe('supplier_price_unresolved');
  });

  test('lane without a price is not offered', () => {
    const lanes = [lane(), lane({ id: 2, priority: 1 })];
    expect(offeredLanes(resolve({ lanes, prices: [price({ laneId: 2 })] }))).toEqual([[2, 1]]);
  });

  test('price version applies from its exact instant, and the later of two simultaneous ones wins', () => {
    const prices = [
      price(),
      price({ id: 2, validFrom: new Date(start) }),
      price({ id: 3, validFrom: new Date(start) }),
    ];
    expect(pinnedPrice({ prices }, start - 1)).toBe(1);
    expect(pinnedPrice({ prices }, start)).toBe(3);
  });

  test("price of a lane takes precedence over the model's, even if it is older", () => {
    const prices = [price({ id: 1, laneId: 1 }), price({ id: 2, validFrom: new Date(start) })];
    const lanes = [lane(), lane({ id: 2, priority: 1 })];
    expect(offeredLanes(resolve({ prices, lanes }, 'm', start))).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  test('schedule switches at its exact instants without a reload', () => {
    const prices = [price(), price({ id: 2, validFrom: null })];
    const schedules = [schedule({ priceId: 2, startsAt: new Date(start), endsAt: new Date(end) })];
    const snapshot = new CatalogueSnapshot(rows({ prices, schedules }));
    const pinnedPriceAt = (instant: number): number | undefined =>
      offeredLanes(snapshot.resolve('m', instant))[0]?.[1];
    expect([start - 1, start, end - 1, end].map(pinnedPriceAt)).toEqual([1, 2, 2, 1]);
  });

  test('schedule ends when the next one begins', () => {
    const prices = [price(), price({ id: 2, validFrom: null }), price({ id: 3, validFrom: null })];
    const schedules = [
      schedule({ id: 2, priceId: 3, startsAt: new Date(end) }),
      schedule({ id: 1, priceId: 2, startsAt: new Date(start), endsAt: new Date(end) }),
    ];
    expect([end - 1, end, end + 1e12].map((instant) => pinnedPrice({ prices, schedules }, instant))).toEqual([
      2, 3, 3,
    ]);
  });

  test('schedule for one lane does not change the prices of others', () => {
    const prices = [price(), price({ id: 2, laneId: 2, validFrom: null })];
    const lanes = [lane(), lane({ id: 2, priority: 1 })];
    expect(offeredLanes(resolve({ prices, lanes, schedules: [schedule({ priceId: 2 })] }))).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  test('pinned price is found when another has long been in effect', () => {
    const prices = [price({ input: 5n }), price({ id: 2, validFrom: new Date(start) })];
    expect(new CatalogueSnapshot(rows({ prices })).price(1)?.rates.input).toBe(5n);
  });

  test('stored tiers are restored as rates', () => {
    const tiers = [{ aboveInputTokens: 200, input: '999999999999999', cacheRead: null }];
    const snapshot = new CatalogueSnapshot(rows({ prices: [price({ tiers })] }));
    expect(snapshot.price(1)?.rates.tiers[0]).toMatchObject({
      aboveInputTokens: 200,
      input: 999_999_999_999_999n,
      output: null,
    });
  });
});

describe('Model access', () => {
  const caller = { organisationId: 4, departmentId: 8 };
  const isOpen = (restricted: boolean, fields: Partial<CatalogueRows>): boolean => {
    const snapshot = new CatalogueSnapshot(rows({ models: [model({ restricted })], ...fields }));
    return snapshot.isOpenTo(snapshot.models[0]!, caller);
  };
  const organisation = (granted: boolean, enabled: boolean): Partial<CatalogueRows> => ({
    organisationAccess: [{ modelId: 1, organisationId: 4, granted, enabled, denied: false }],
  });
  const department = (allowed: boolean): Partial<CatalogueRows> => ({
    departmentAccess: [{ modelId: 1, departmentId: 8, allowed }],
  });

  test('unrestricted model is available unless a policy denies it', () => {
    expect(isOpen(false, {})).toBe(true);
    expect(isOpen(false, organisation(false, true))).toBe(true);
    expect(isOpen(false, organisation(false, false))).toBe(false);
    expect(isOpen(false, department(false))).toBe(false);
    expect(isOpen(false, department(true))).toBe(true);
  });

  test('restricted model needs a grant, and the organisation can still deny it', () => {
    expect(isOpen(true, {})).toBe(false);
    expect(isOpen(true, organisation(false, true))).toBe(false);
    expect(isOpen(true, organisation(true, true))).toBe(true);
    expect(isOpen(true, organisation(true, false))).toBe(false);
    expect(isOpen(true, { ...organisation(true, true), ...department(false) })).toBe(false);
    expect(isOpen(true, department(true))).toBe(false);
  });

  test('policies of another organisation are ignored', () => {
    const snapshot = new CatalogueSnapshot(
      rows({ models: [model({ restricted: true })], ...organisation(true, true) }),
    );
    expect(snapshot.isOpenTo(snapshot.models[0]!, { organisationId: 5, departmentId: null })).toBe(false);
    expect(snapshot.isOpenTo(snapshot.models[0]!, { organisationId: null, departmentId: null })).toBe(false);
  });
});

test('models are listed in their configured order, and the snapshot is immutable', () => {
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
