import { BudgetRaises, Limits } from '#product/billing';
import { Organisation, UserAccount } from '#product/identity';
import { parseUsd } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser } from '../../support/users';
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

test('exhausted organisation budget accepts requests while it is raised', async () => {
  const organisations = app.database.source.getRepository(Organisation);
  const organisation = organisations.create({ name: 'Acme', slug: 'acme' });
  await organisations.insert(organisation);
  const userId = await addUser(app);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId: organisation.id });
  const { text } = await addKey(app, userId);
  const scope = { kind: 'organisation', id: organisation.id } as const;
  const raises = app.application.get(BudgetRaises, { strict: false });
  const inTransaction = (work: Parameters<typeof app.database.transaction>[0]) =>
    app.database.transaction(work, { withoutActivity: 'test' });
  const sendRequest = async (): Promise<number> =>
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
  await inTransaction((tx) => app.application.get(Limits, { strict: false }).set(tx, scope, rule));
  expect(await sendRequest()).toBe(402);
  const raise = {
    amount: parseUsd('1'),
    reason: 'A fair.',
    endsAt: new Date(Date.now() + 60_000),
    by: userId,
  };
  await inTransaction((tx) => raises.raise(tx, scope, raise));
  // Nodes learn of the raise by an announcement.
  await until(async () => (await sendRequest()) === 200);
  await inTransaction((tx) => raises.endAll(tx, scope));
  await until(async () => (await sendRequest()) === 402);
});
