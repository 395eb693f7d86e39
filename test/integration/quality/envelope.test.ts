import { startTestApp, type TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/people';
import { startSimulator, type Simulator } from '../../support/simulator';
import { openPage, sendJson } from '../web/from-page';
import { addHouse, askModel, evaluated, type House, sampleOf, setQuality, signedIn } from './house';

const path = '/dashboard/qualitative/settings';
const everything = { availability: 'everyone', sampling_percent: 100, sample_named: true } as const;

let app: TestApp;
let simulator: Simulator;
let operator: string;

beforeAll(async () => {
  simulator = await startSimulator();
  app = await startTestApp({ sandboxUrl: simulator.url });
  operator = await signIn(app, await addUser(app, 'platform_admin'));
});
afterEach(() => setAs(operator, { availability: 'everyone', monthly_budget: 100 }));
afterAll(async () => {
  await app.close();
  await simulator.stop();
});

const setAs = (cookie: string, form: object) => sendJson({ url: app.url, cookie }, path, form);
const pageOf = async (cookie: string, at = path) => (await openPage({ url: app.url, cookie }, at)).body;
const askedOf = async ({ key }: House): Promise<string> => {
  const body = { model: 'sim-small', messages: [{ role: 'user', content: 'Solve the equation.' }] };
  return (await askModel(app, key, body)).headers.get('x-request-id') ?? '';
};

async function newHouse(slug: string): Promise<{ house: House; owner: string }> {
  const house = await addHouse(app, slug);
  await setQuality(app, house.organisationId, everything);
  return { house, owner: await signedIn(app, house.organisationId, 'org_owner') };
}

test('an organisation sets no budget above what the operator allows; a hundred dollars unless it says otherwise', async () => {
  const { owner } = await newHouse('thrifty');
  expect(await setAs(owner, { monthly_budget: 101 })).toMatchObject({
    status: 422,
    json: { param: 'monthly_budget', details: { reason: 'evaluation-budget', most: 100 } },
  });
  expect((await setAs(owner, { monthly_budget: 100 })).status).toBe(200);
  expect(await setAs(operator, { monthly_budget: 250 })).toMatchObject({
    json: { org_id: null, engine: 'on', settings: { availability: 'everyone', monthly_budget: 250 } },
  });
  expect((await setAs(owner, { monthly_budget: 250 })).status).toBe(200);
  expect(await pageOf(owner)).toContain('at most 250');
  await setAs(operator, { monthly_budget: 20 });
  // An earlier setting stays in the form, and is no fault of another change.
  expect((await setAs(owner, { monthly_budget: 250, sampling_percent: 50 })).status).toBe(200);
});

test('a lowered budget counts at once for what organisations set before', async () => {
  const { house } = await newHouse('spender');
  await setAs(operator, { monthly_budget: 0 });
  const unpaid = await askedOf(house);
  await setAs(operator, { monthly_budget: 20 });
  const paid = await askedOf(house);
  expect(await evaluated(app, paid)).toMatchObject({ state: 'learned' });
  expect(await sampleOf(app, unpaid)).toBeUndefined();
});

test('the operator switches evaluation off for everyone, with what is under way and kept', async () => {
  const { house, owner } = await newHouse('switched');
  await setQuality(app, house.organisationId, { content_retention_days: 2 });
  const kept = await askedOf(house);
  expect(await evaluated(app, kept)).toMatchObject({ state: 'learned', content: expect.any(Buffer) });
  expect(await setAs(operator, { availability: 'off' })).toMatchObject({
    status: 200,
    json: { engine: 'off' },
  });
  expect(await sampleOf(app, kept)).toMatchObject({ state: 'learned', content: null });
  expect(await setAs(owner, { availability: 'everyone', sampling_percent: 99 })).toMatchObject({
    json: { engine: 'off', settings: { availability: 'everyone' } },
  });
  expect(await pageOf(owner)).toContain('They are switched off on this platform');
  expect(await pageOf(owner, '/dashboard/qualitative')).toContain('Nothing is judged here');
  const unsampled = await askedOf(house);
  await setAs(operator, { availability: 'everyone' });
  await setQuality(app, house.organisationId, everything);
  await evaluated(app, await askedOf(house));
  expect(await sampleOf(app, unsampled)).toBeUndefined();
});

test('reports that the operator opens to administrators alone are closed to people', async () => {
  const { house } = await newHouse('managed');
  await setAs(operator, { availability: 'admins' });
  const reader = await signedIn(app, house.organisationId, 'user');
  expect(await pageOf(reader, '/dashboard/qualitative')).toContain('for administrators');
});

test('the platform decides nothing else for organisations', async () => {
  expect(await setAs(operator, { sampling_percent: 5 })).toMatchObject({
    status: 422,
    json: { param: 'sampling_percent', details: { reason: 'choose-organisation' } },
  });
  const page = await pageOf(operator);
  expect(page).toContain('Highest monthly cost of evaluation');
  expect(page).not.toContain('name="sampling_percent"');
});
