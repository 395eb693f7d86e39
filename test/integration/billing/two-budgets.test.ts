import { budgetsOfUser, type LimitRef } from '#product/billing';
import { parseUsd, uuidv7 } from '#product/kernel';
import { until } from '../../support/until';
import { costing, expectMoneyToAddUp, MoneyHouse, wallet } from './money-support';

/** Two nodes serve a person whom the platform and their organisation each give a budget. */
let house: MoneyHouse;
beforeAll(async () => (house = await MoneyHouse.open()));
afterAll(() => house.close());

const call = parseUsd('0.01');

test('a hundred calls at once, while the organisation sets its budget as it likes: never above the platform’s', async () => {
  const person = 7;
  const refs: readonly LimitRef[] = [...budgetsOfUser(person), wallet(person)];
  await house.credit(person, parseUsd('100'));
  const [platform, organisation] = budgetsOfUser(person);
  const set = (scope: typeof platform | typeof organisation, limit: string, period: 'monthly' | 'daily') =>
    house.database.transaction((tx) => house.limits.set(tx, scope, { limit: parseUsd(limit), period }));
  await set(platform, '0.4', 'monthly');
  const nodes = [await house.node(), await house.node()];
  const codes: string[] = [];
  for (const [round, [limit, period]] of (
    [
      ['50', 'daily'],
      ['0.2', 'monthly'],
      ['90', 'daily'],
      [null, null],
    ] as const
  ).entries()) {
    const changing =
      limit === null
        ? house.database.transaction((tx) => house.limits.remove(tx, organisation))
        : set(organisation, limit, period);
    const calls = Array.from({ length: 25 }, async (_, place) => {
      const hold = await nodes[(place + round) % 2]!.escrow.hold({ requestId: uuidv7(), amount: call, refs });
      await hold.settle(costing(call, [...refs, { kind: 'user', id: person }]));
    });
    await changing;
    for (const outcome of await Promise.allSettled(calls))
      codes.push(outcome.status === 'fulfilled' ? 'ok' : (outcome.reason as { code: string }).code);
  }
  await until(() => nodes.every((node) => node.pending === 0));
  const [monthly] = await house.limits.states(budgetsOfUser(person));
  expect(monthly?.spent).toBe(call * BigInt(codes.filter((code) => code === 'ok').length));
  expect(monthly!.spent <= parseUsd('0.4')).toBe(true);
  expect(new Set(codes)).not.toContain('billing_unavailable');
  await expectMoneyToAddUp(house.database);
});

test('a call counts in both, and the first that is spent refuses', async () => {
  const person = 8;
  const refs: readonly LimitRef[] = [...budgetsOfUser(person), wallet(person)];
  await house.credit(person, parseUsd('100'));
  const [platform, organisation] = budgetsOfUser(person);
  await house.database.transaction(async (tx) => {
    await house.limits.set(tx, platform, { limit: parseUsd('0.05'), period: 'monthly' });
    await house.limits.set(tx, organisation, { limit: parseUsd('0.02'), period: 'daily' });
  });
  const node = await house.node();
  const ask = async () => {
    const hold = await node.escrow.hold({ requestId: uuidv7(), amount: call, refs });
    await hold.settle(costing(call, refs));
  };
  await ask();
  await ask();
  await until(() => node.pending === 0);
  await expect(ask()).rejects.toMatchObject({
    code: 'budget_exceeded',
    options: { details: { scope: 'user_budget' } },
  });
  expect(await house.limits.states(budgetsOfUser(person))).toMatchObject([
    { spent: 2n * call, remaining: parseUsd('0.03') },
    { spent: 2n * call, remaining: 0n },
  ]);
  await house.database.transaction((tx) => house.limits.remove(tx, organisation));
  await ask();
  await until(() => node.pending === 0);
  await expectMoneyToAddUp(house.database);
});
