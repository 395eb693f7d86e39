import { CatalogueService } from '#product/catalogue';
import { startTestApp, type TestApp } from '../../support/app';
import { signIn } from '../../support/people';
import { startSimulator, type Simulator } from '../../support/simulator';
import { openPage, sendJson } from '../web/from-page';
import { addHouse, askModel, evaluated, type House, setQuality, signedIn } from './house';

let app: TestApp;
let simulator: Simulator;

const settingsPath = '/dashboard/qualitative/settings';
const everything = { availability: 'everyone', sampling_percent: 100, sample_named: true } as const;
const rows = <Row>(sql: string, ...values: unknown[]) => app.database.query<Row>(sql, values);

beforeAll(async () => {
  simulator = await startSimulator();
  app = await startTestApp({ sandboxUrl: simulator.url });
});
afterEach(() => change(`UPDATE model SET restricted = false, replay_included = true, owned_by = 'one'`));
afterAll(async () => {
  await app.close();
  await simulator.stop();
});

/** Of the catalogue, and known to the node. */
async function change(sql: string): Promise<void> {
  await rows(sql);
  await app.application.get(CatalogueService).reload();
}

async function newHouse(slug: string, settings: object = {}, key: object = {}): Promise<House> {
  const house = await addHouse(app, slug, key);
  await setQuality(app, house.organisationId, { ...everything, ...settings });
  return house;
}

async function sampled({ key }: House): Promise<string> {
  const body = { model: 'sim-small', messages: [{ role: 'user', content: 'Solve the equation.' }] };
  const requestId = (await askModel(app, key, body)).headers.get('x-request-id') ?? '';
  await evaluated(app, requestId);
  return requestId;
}

async function judgesOf(house: House): Promise<{ judge_model: string; self_family: boolean }[]> {
  const requestId = await sampled(house);
  return rows(
    'SELECT DISTINCT judge_model, self_family FROM quality_score WHERE request_id = $1 ORDER BY self_family',
    requestId,
  );
}

describe('without a judge that is named', () => {
  test('one of another family than the judged is taken, though another is dearer', async () => {
    await change(`UPDATE model SET owned_by = 'two', replay_included = false WHERE name = 'sim-8k'`);
    expect(await judgesOf(await newHouse('stranger'))).toEqual([
      { judge_model: 'sim-8k', self_family: false },
    ]);
  });

  test('where all are of one family, it is said of each score', async () => {
    const house = await newHouse('relatives');
    await change(`UPDATE model SET owned_by = 'one'`);
    const [judge] = await judgesOf(house);
    expect(judge).toMatchObject({ self_family: true });
    const reader = { url: app.url, cookie: await signIn(app, house.userId) };
    const list = await openPage(reader, '/dashboard/qualitative');
    expect(list.body).toContain('of the same family as the model it judged');
  });

  test('the one that was taken first stays when another would be better', async () => {
    await change(`UPDATE model SET restricted = true WHERE name = 'sim-8k'`);
    const house = await newHouse('steady');
    const first = await judgesOf(house);
    await change(
      `UPDATE model SET restricted = false, owned_by = 'two', replay_included = false WHERE name = 'sim-8k'`,
    );
    expect(await judgesOf(house)).toEqual(first);
    // Another organisation takes it.
    expect(await judgesOf(await newHouse('later'))).toEqual([{ judge_model: 'sim-8k', self_family: false }]);
    // An owner who names a judge and takes the name back lets the choice go.
    const owner = { url: app.url, cookie: await signedIn(app, house.organisationId, 'org_owner') };
    expect((await sendJson(owner, settingsPath, { judge_model: 'sim-small' })).status).toBe(200);
    expect((await sendJson(owner, settingsPath, { judge_model: '' })).status).toBe(200);
    expect(await judgesOf(house)).toEqual([{ judge_model: 'sim-8k', self_family: false }]);
  });

  test('texts go to no supplier that the organisation does not use, or that the key may not call', async () => {
    await change(
      `WITH other AS (
         INSERT INTO provider SELECT (jsonb_populate_record(p, '{"id": 99001, "name": "elsewhere"}')).*
           FROM provider p WHERE name = 'sandbox' RETURNING id)
       UPDATE lane SET provider_id = other.id FROM other, model m
        WHERE m.id = lane.model_id AND m.name = 'sim-8k'`,
    );
    await change(`UPDATE model SET owned_by = 'two', replay_included = false WHERE name = 'sim-8k'`);
    const judgeOf = async (house: House) => (await judgesOf(house)).map(({ judge_model: judge }) => judge);
    expect(await judgeOf(await newHouse('local'))).not.toContain('sim-8k');
    const narrow = await newHouse('narrow', {}, { allowedModels: ['sim-small', 'sim-large'] });
    // As if other keys of the organisation had brought it there.
    await rows(
      `INSERT INTO quality_judge (organisation_id, model) VALUES ($1, 'sim-8k')`,
      narrow.organisationId,
    );
    expect(await judgeOf(narrow)).not.toContain('sim-8k');
    await change(
      `UPDATE lane SET provider_id = (SELECT id FROM provider WHERE name = 'sandbox') WHERE provider_id = 99001`,
    );
  });
});

test('nothing is asked and paid where the judge may not be called; the settings say why nothing is learned', async () => {
  const house = await newHouse('closed-judge', { judge_model: 'sim-reason' });
  const owner = { url: app.url, cookie: await signedIn(app, house.organisationId, 'org_owner') };
  await change(`UPDATE model SET restricted = true WHERE name = 'sim-reason'`);
  const requestId = await sampled(house);
  expect(await rows('SELECT closed_by FROM quality_sample WHERE request_id = $1', requestId)).toEqual([
    { closed_by: 'no_judge' },
  ]);
  expect(await rows('SELECT FROM evaluation_call WHERE request_id = $1', requestId)).toEqual([]);
  const { body } = await openPage(owner, settingsPath);
  expect(body).toContain('No model may judge');
  // A model that is closed to the organisation does not exist for it.
  expect(body).not.toContain('value="sim-reason"');
  expect(body).toContain('value="sim-large"');
  expect(await sendJson(owner, settingsPath, { judge_model: 'sim-reason' })).toMatchObject({
    status: 422,
    json: { param: 'judge_model', details: { reason: 'chat-model' } },
  });
});
