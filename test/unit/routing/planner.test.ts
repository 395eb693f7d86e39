import fc from 'fast-check';
import type { PricedLane } from '../../../src/catalogue';
import { priceRates } from '../../../src/kernel';
import type { BreakerState } from '../../../src/routing/health/breaker';
import { planRoute, type PlanInput } from '../../../src/routing/planner';
import { UNKNOWN_FACTS } from '../../../src/vendors';

const laneOf = (id: number, priority: number, region: string, weight = 1): PricedLane => ({
  lane: {
    id,
    provider: {
      id,
      name: `supplier-${id}`,
      style: 'openai-style',
      baseUrl: 'https://supplier.example',
      regions: [region],
      visible: true,
      settings: {},
      timeouts: {},
      breaker: {},
    },
    upstreamModel: 'model',
    region,
    priority,
    weight,
    retries: 0,
    facts: UNKNOWN_FACTS,
    wire: null,
  },
  price: {
    id,
    modelId: 1,
    laneId: null,
    rates: priceRates({ input: 1n, output: 1n }),
    validFrom: 0,
    source: 'test',
  },
});

const plan = (input: Partial<PlanInput> & Pick<PlanInput, 'lanes'>) =>
  planRoute({
    regions: null,
    stickyLaneId: null,
    order: 'weight',
    latencyOf: () => null,
    stateOf: () => 'closed',
    random: () => 0,
    ...input,
  });

const idsOf = (input: Parameters<typeof plan>[0]): number[] => plan(input).lanes.map(({ lane }) => lane.id);

const [primary, backup, elsewhere] = [laneOf(1, 0, 'eu'), laneOf(2, 1, 'eu'), laneOf(3, 2, 'us')];

test('lanes are ordered by priority, primary first', () => {
  expect(idsOf({ lanes: [primary, backup, elsewhere] })).toEqual([1, 2, 3]);
});

test('lanes of equal priority are ordered by price or latency, never ahead of a better priority', () => {
  const withOutputPrice = (lane: PricedLane, output: bigint): PricedLane => ({
    ...lane,
    price: { ...lane.price, rates: priceRates({ input: 1n, output }) },
  });
  const lanes = [
    withOutputPrice(laneOf(1, 0, 'eu'), 9n),
    withOutputPrice(laneOf(2, 0, 'eu'), 5n),
    withOutputPrice(laneOf(3, 1, 'eu'), 1n),
  ];
  expect(idsOf({ lanes, order: 'price' })).toEqual([2, 1, 3]);
  const latencies: Record<number, number | null> = { 1: 80, 2: 300, 3: 5 };
  const latencyOf = ({ id }: PricedLane['lane']): number | null => latencies[id] ?? null;
  expect(idsOf({ lanes, order: 'latency', latencyOf })).toEqual([1, 2, 3]);
  latencies[2] = null;
  expect(idsOf({ lanes, order: 'latency', latencyOf })).toEqual([2, 1, 3]);
});

test('session returns to its lane unless the lane is unhealthy', () => {
  const lanes = [primary, backup];
  expect(idsOf({ lanes, stickyLaneId: 2 })).toEqual([2, 1]);
  expect(idsOf({ lanes, stickyLaneId: 2, stateOf: (lane) => (lane.id === 2 ? 'open' : 'closed') })).toEqual([
    1, 2,
  ]);
  expect(
    idsOf({ lanes, stickyLaneId: 2, stateOf: (lane) => (lane.id === 2 ? 'half-open' : 'closed') }),
  ).toEqual([1, 2]);
});

test('lanes of equal priority are chosen by weight', () => {
  const lanes = [laneOf(1, 0, 'eu', 3), laneOf(2, 0, 'eu', 1)];
  expect(idsOf({ lanes, random: () => 0.74 })[0]).toBe(1);
  expect(idsOf({ lanes, random: () => 0.76 })[0]).toBe(2);
});

test('property: a plan contains every lane of the allowed regions exactly once', () => {
  const lane = fc.record({
    priority: fc.integer({ min: 0, max: 3 }),
    region: fc.constantFrom('eu', 'us', 'ap'),
    weight: fc.integer({ min: 1, max: 9 }),
    state: fc.constantFrom<BreakerState>('closed', 'open', 'half-open'),
  });
  const regions = fc.option(fc.subarray(['eu', 'us', 'ap']));
  fc.assert(
    fc.property(
      fc.array(lane, { maxLength: 8 }),
      regions,
      fc.nat(9),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (shapes, allowed, sticky, point) => {
        const lanes = shapes.map(({ priority, region, weight }, id) => laneOf(id, priority, region, weight));
        const ids = idsOf({
          lanes,
          regions: allowed === null ? null : new Set(allowed),
          stickyLaneId: sticky,
          stateOf: ({ id }) => shapes[id]?.state ?? 'closed',
          random: () => point,
        });
        const expected = lanes
          .filter(({ lane: { region } }) => allowed?.includes(region) ?? true)
          .map((each) => each.lane.id);
        expect([...ids].sort()).toEqual(expected.sort());
        const states = ids.map((id) => shapes[id]?.state === 'open');
        expect(states.indexOf(true) === -1 || !states.slice(states.indexOf(true)).includes(false)).toBe(true);
      },
    ),
  );
});
