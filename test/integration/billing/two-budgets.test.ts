import { budgetsOfUser, type LimitRef } from '#product/billing';
import { parseUsd, uuidv7 } from '#product/kernel';
import { until } from '../../support/until';
import { outcomeOf, expectMoneyToAddUp, MoneyFixture, wallet } from './money-fixture';

/** Two nodes serve a user with a budget from the platform and one from the organisation. */
let fixture: MoneyFixture;
beforeAll(async () => (fixture = await MoneyFixture.open()));
afterAll(() => fixture.close());

const call = parseUsd('0.01');

test('a hundred concurrent calls stay within the platform budget while the organisation changes its own', async () => {
  const personId = 7;
  const refs: readonly LimitRef[] = [...budgetsOfUser(personId), wallet(personId)];
  await fixture.credit(personId, parseUsd('100'));
  const [platform, organisation] = budgetsOfUser(personId);
  const setBudget = (
    scope: typeof platform | typeof organisation,
    limit: string,
    period: 'monthly' | 'daily',
  ) =>
    fixture.database.transaction((tx) => fixture.limits.set(tx, scope, { limit: parseUsd(limit), period }));
  await setBudget(platform, '0.4', 'monthly');
  const nodes = [await fixture.node(), await fixture.node()];
  const codes: string[] = [];
  for (const [round, [limit, period]] of (
    [
      ['50', 'daily'],
      ['0.2', 'monthly'],
      ['90', 'daily'],
      [null, null],
    ] as const
  ).entries()) {
    const budgetChanges =
      limit === null
        ? fixture.database.transaction((tx) => fixture.limits.remove(tx, organisation))
        : setBudget(organisation, limit, period);
    const calls = Array.from({ length: 25 }, async (_, place) => {
      const hold = await nodes[(place + round) % 2]!.escrow.hold({ requestId: uuidv7(), amount: call, refs });
      await hold.settle(outcomeOf(call, [...refs, { kind: 'user', id: personId }]));
    });
    await budgetChanges;
    for (const outcome of await Promise.allSettled(calls))
      codes.push(outcome.status === 'fulfilled' ? 'ok' : (outcome.reason as { code: string }).code);
  }
  await until(() => nodes.every((node) => node.pending === 0));
  const [monthly] = await fixture.limits.states(budgetsOfUser(personId));
  expect(monthly?.spent).toBe(call * BigInt(codes.filter((code) => code === 'ok').length));
  expect(monthly!.spent <= parseUsd('0.4')).toBe(true);
  expect(new Set(codes)).not.toContain('billing_unavailable');
  await expectMoneyToAddUp(fixture.database);
});

test('a call counts towards both budgets, and the first one used up refuses it', async () => {
  const personId = 8;
  const refs: readonly LimitRef[] = [...budgetsOfUser(personId), wallet(personId)];
  await fixture.credit(personId, parseUsd('100'));
  const [platform, organisation] = budgetsOfUser(personId);
  await fixture.database.transaction(async (tx) => {
    await fixture.limits.set(tx, platform, { limit: parseUsd('0.05'), period: 'monthly' });
    await fixture.limits.set(tx, organisation, { limit: parseUsd('0.02'), period: 'daily' });
  });
  const node = await fixture.node();
  const sendCall = async () => {
    const hold = await node.escrow.hold({ requestId: uuidv7(), amount: call, refs });
    await hold.settle(outcomeOf(call, refs));
  };
  await sendCall();
  await sendCall();
  await until(() => node.pending === 0);
  await expect(sendCall()).rejects.toMatchObject({
    code: 'budget_exceeded',
    options: { details: { scope: 'user_budget' } },
  });
  expect(await fixture.limits.states(budgetsOfUser(personId))).toMatchObject([
    { spent: 2n * call, remaining: parseUsd('0.03') },
    { spent: 2n * call, remaining: 0n },
  ]);
  await fixture.database.transaction((tx) => fixture.limits.remove(tx, organisation));
  await sendCall();
  await until(() => node.pending === 0);
  await expectMoneyToAddUp(fixture.database);
});
