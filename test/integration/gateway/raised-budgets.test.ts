import { BudgetRaises, Limits } from '#product/billing';
import { Organisation, UserAccount } from '#product/identity';
import { parseUsd } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser } from '../../support/people';
import { startSimulator, type Simulator } from '../../support/simulator';
import { until } from '../../support/until';

let app: TestApp;
let supplier: Simulator;

beforeAll(async () => {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url });
});
afterAll(async () => {
  await app.close();
  await supplier.stop();
});

test('a budget of an organisation that is used up lets requests through while it is raised', async () => {
  const organisations = app.database.source.getRepository(Organisation);
  const made = organisations.create({ name: 'Acme', slug: 'acme' });
  await organisations.insert(made);
  const userId = await addUser(app);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId: made.id });
  const { text } = await addKey(app, userId);
  const scope = { kind: 'organisation', id: made.id } as const;
  const raises = app.application.get(BudgetRaises, { strict: false });
  const write = (work: Parameters<typeof app.database.transaction>[0]) =>
    app.database.transaction(work, { withoutActivity: 'test' });
  const ask = async (): Promise<number> =>
    (
      await fetch(`${app.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${text}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'sim-small',
          max_tokens: 8,
          messages: [{ role: 'user', content: 'Hello' }],
        }),
      })
    ).status;
  const rule = { limit: 1n, period: 'monthly' } as const;
  await write((tx) => app.application.get(Limits, { strict: false }).set(tx, scope, rule));
  expect(await ask()).toBe(402);
  const raise = {
    amount: parseUsd('1'),
    reason: 'A fair.',
    endsAt: new Date(Date.now() + 60_000),
    by: userId,
  };
  await write((tx) => raises.raise(tx, scope, raise));
  // Nodes hear of it by an announcement.
  await until(async () => (await ask()) === 200);
  await write((tx) => raises.endAll(tx, scope));
  await until(async () => (await ask()) === 402);
});
