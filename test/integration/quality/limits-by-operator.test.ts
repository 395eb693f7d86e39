import { startTestApp, type TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/users';
import { startSimulator, type Simulator } from '../../support/simulator';
import { openPage, sendJson } from '../web/page-requests';
import {
  addQualityFixture,
  askModel,
  waitForEvaluation,
  type QualityFixture,
  sampleOf,
  setQuality,
  signInMember,
} from './quality-fixture';

const path = '/dashboard/qualitative/settings';
const sampleEverything = { availability: 'everyone', sampling_percent: 100, sample_named: true } as const;

let app: TestApp;
let simulator: Simulator;
let operator: string;

beforeAll(async () => {
  simulator = await startSimulator();
  app = await startTestApp({ sandboxUrl: simulator.url });
  operator = await signIn(app, await addUser(app, 'platform_admin'));
});
afterEach(() => submitSettings(operator, { availability: 'everyone', monthly_budget: 100 }));
afterAll(async () => {
  await app.close();
  await simulator.stop();
});

const submitSettings = (cookie: string, form: object) => sendJson({ url: app.url, cookie }, path, form);
const settingsPage = async (cookie: string, at = path) => (await openPage({ url: app.url, cookie }, at)).body;
const sendAndEvaluate = async ({ key }: QualityFixture): Promise<string> => {
  const body = { model: 'sim-small', messages: [{ role: 'user', content: 'Solve the equation.' }] };
  return (await askModel(app, key, body)).headers.get('x-request-id') ?? '';
};

async function createFixture(slug: string): Promise<{ fixture: QualityFixture; owner: string }> {
  const fixture = await addQualityFixture(app, slug);
  await setQuality(app, fixture.organisationId, sampleEverything);
  return { fixture, owner: await signInMember(app, fixture.organisationId, 'org_owner') };
}

test("an organisation cannot set a budget above the operator's limit, which defaults to $100", async () => {
  const { owner } = await createFixture('thrifty');
  expect(await submitSettings(owner, { monthly_budget: 101 })).toMatchObject({
    status: 422,
    json: { param: 'monthly_budget', details: { reason: 'evaluation-budget', most: 100 } },
  });
  expect((await submitSettings(owner, { monthly_budget: 100 })).status).toBe(200);
  expect(await submitSettings(operator, { monthly_budget: 250 })).toMatchObject({
    json: { org_id: null, engine: 'on', settings: { availability: 'everyone', monthly_budget: 250 } },
  });
  expect((await submitSettings(owner, { monthly_budget: 250 })).status).toBe(200);
  expect(await settingsPage(owner)).toContain('at most 250');
  await submitSettings(operator, { monthly_budget: 20 });
  // A former value above the limit stays in the form and does not block other changes.
  expect((await submitSettings(owner, { monthly_budget: 250, sampling_percent: 50 })).status).toBe(200);
});

test('a lowered limit immediately applies to budgets that organisations set before', async () => {
  const { fixture } = await createFixture('spender');
  await submitSettings(operator, { monthly_budget: 0 });
  const overBudgetId = await sendAndEvaluate(fixture);
  await submitSettings(operator, { monthly_budget: 20 });
  const withinBudgetId = await sendAndEvaluate(fixture);
  expect(await waitForEvaluation(app, withinBudgetId)).toMatchObject({ state: 'learned' });
  expect(await sampleOf(app, overBudgetId)).toBeUndefined();
});

test('the operator can switch evaluation off for everyone, including pending samples and stored texts', async () => {
  const { fixture, owner } = await createFixture('switched');
  await setQuality(app, fixture.organisationId, { content_retention_days: 2 });
  const storedId = await sendAndEvaluate(fixture);
  expect(await waitForEvaluation(app, storedId)).toMatchObject({
    state: 'learned',
    content: expect.any(Buffer),
  });
  expect(await submitSettings(operator, { availability: 'off' })).toMatchObject({
    status: 200,
    json: { engine: 'off' },
  });
  expect(await sampleOf(app, storedId)).toMatchObject({ state: 'learned', content: null });
  expect(await submitSettings(owner, { availability: 'everyone', sampling_percent: 99 })).toMatchObject({
    json: { engine: 'off', settings: { availability: 'everyone' } },
  });
  expect(await settingsPage(owner)).toContain('They are switched off on this platform');
  expect(await settingsPage(owner, '/dashboard/qualitative')).toContain('Nothing is judged here');
  const unsampledId = await sendAndEvaluate(fixture);
  await submitSettings(operator, { availability: 'everyone' });
  await setQuality(app, fixture.organisationId, sampleEverything);
  await waitForEvaluation(app, await sendAndEvaluate(fixture));
  expect(await sampleOf(app, unsampledId)).toBeUndefined();
});

test('reports that the operator limits to administrators are closed to other users', async () => {
  const { fixture } = await createFixture('managed');
  await submitSettings(operator, { availability: 'admins' });
  const reader = await signInMember(app, fixture.organisationId, 'user');
  expect(await settingsPage(reader, '/dashboard/qualitative')).toContain('for administrators');
});

test('the platform cannot change any other setting of an organisation', async () => {
  expect(await submitSettings(operator, { sampling_percent: 5 })).toMatchObject({
    status: 422,
    json: { param: 'sampling_percent', details: { reason: 'choose-organisation' } },
  });
  const page = await settingsPage(operator);
  expect(page).toContain('Highest monthly cost of evaluation');
  expect(page).not.toContain('name="sampling_percent"');
});
