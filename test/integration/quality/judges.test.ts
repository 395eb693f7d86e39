import { CatalogueService } from '#product/catalogue';
import { startTestApp, type TestApp } from '../../support/app';
import { signIn } from '../../support/users';
import { startSimulator, type Simulator } from '../../support/simulator';
import { openPage, sendJson } from '../web/page-requests';
import {
  addQualityFixture,
  askModel,
  waitForEvaluation,
  type QualityFixture,
  setQuality,
  signInMember,
} from './quality-fixture';

let app: TestApp;
let simulator: Simulator;

const settingsPath = '/dashboard/qualitative/settings';
const sampleEverything = { availability: 'everyone', sampling_percent: 100, sample_named: true } as const;
const rows = <Row>(sql: string, ...values: unknown[]) => app.database.query<Row>(sql, values);

beforeAll(async () => {
  simulator = await startSimulator();
  app = await startTestApp({ sandboxUrl: simulator.url });
});
afterEach(() =>
  changeCatalogue(`UPDATE model SET restricted = false, replay_included = true, owned_by = 'one'`),
);
afterAll(async () => {
  await app.close();
  await simulator.stop();
});

/** Changes the catalogue and reloads it on the node. */
async function changeCatalogue(sql: string): Promise<void> {
  await rows(sql);
  await app.application.get(CatalogueService).reload();
}

async function createFixture(slug: string, settings: object = {}, key: object = {}): Promise<QualityFixture> {
  const fixture = await addQualityFixture(app, slug, key);
  await setQuality(app, fixture.organisationId, { ...sampleEverything, ...settings });
  return fixture;
}

async function evaluateRequest({ key }: QualityFixture): Promise<string> {
  const body = { model: 'sim-small', messages: [{ role: 'user', content: 'Solve the equation.' }] };
  const requestId = (await askModel(app, key, body)).headers.get('x-request-id') ?? '';
  await waitForEvaluation(app, requestId);
  return requestId;
}

async function judgesOf(fixture: QualityFixture): Promise<{ judge_model: string; self_family: boolean }[]> {
  const requestId = await evaluateRequest(fixture);
  return rows(
    'SELECT DISTINCT judge_model, self_family FROM quality_score WHERE request_id = $1 ORDER BY self_family',
    requestId,
  );
}

describe('The automatic judge', () => {
  test('is of another vendor than the judged model, even if a more expensive one', async () => {
    await changeCatalogue(`UPDATE model SET owned_by = 'two', replay_included = false WHERE name = 'sim-8k'`);
    expect(await judgesOf(await createFixture('stranger'))).toEqual([
      { judge_model: 'sim-8k', self_family: false },
    ]);
  });

  test('is marked on each score when it is of the same vendor as the judged model', async () => {
    const fixture = await createFixture('relatives');
    await changeCatalogue(`UPDATE model SET owned_by = 'one'`);
    const [judge] = await judgesOf(fixture);
    expect(judge).toMatchObject({ self_family: true });
    const reader = { url: app.url, cookie: await signIn(app, fixture.userId) };
    const list = await openPage(reader, '/dashboard/qualitative');
    expect(list.body).toContain('of the same family as the model it judged');
  });

  test('stays the first choice when a better one becomes available', async () => {
    await changeCatalogue(`UPDATE model SET restricted = true WHERE name = 'sim-8k'`);
    const fixture = await createFixture('steady');
    const firstJudges = await judgesOf(fixture);
    await changeCatalogue(
      `UPDATE model SET restricted = false, owned_by = 'two', replay_included = false WHERE name = 'sim-8k'`,
    );
    expect(await judgesOf(fixture)).toEqual(firstJudges);
    // A new organisation gets the better judge.
    expect(await judgesOf(await createFixture('later'))).toEqual([
      { judge_model: 'sim-8k', self_family: false },
    ]);
    // Naming a judge and clearing the field again resets the automatic choice.
    const owner = { url: app.url, cookie: await signInMember(app, fixture.organisationId, 'org_owner') };
    expect((await sendJson(owner, settingsPath, { judge_model: 'sim-small' })).status).toBe(200);
    expect((await sendJson(owner, settingsPath, { judge_model: '' })).status).toBe(200);
    expect(await judgesOf(fixture)).toEqual([{ judge_model: 'sim-8k', self_family: false }]);
  });

  test('sends texts only to suppliers that the organisation uses and the key is allowed to call', async () => {
    await changeCatalogue(
      `WITH other AS (
         INSERT INTO provider SELECT (jsonb_populate_record(p, '{"id": 99001, "name": "elsewhere"}')).*
           FROM provider p WHERE name = 'sandbox' RETURNING id)
       UPDATE lane SET provider_id = other.id FROM other, model m
        WHERE m.id = lane.model_id AND m.name = 'sim-8k'`,
    );
    await changeCatalogue(`UPDATE model SET owned_by = 'two', replay_included = false WHERE name = 'sim-8k'`);
    const judgeOf = async (fixture: QualityFixture) =>
      (await judgesOf(fixture)).map(({ judge_model: judge }) => judge);
    expect(await judgeOf(await createFixture('local'))).not.toContain('sim-8k');
    const narrowFixture = await createFixture('narrow', {}, { allowedModels: ['sim-small', 'sim-large'] });
    // Simulates that other keys of the organisation have used this supplier.
    await rows(
      `INSERT INTO quality_judge (organisation_id, model) VALUES ($1, 'sim-8k')`,
      narrowFixture.organisationId,
    );
    expect(await judgeOf(narrowFixture)).not.toContain('sim-8k');
    await changeCatalogue(
      `UPDATE lane SET provider_id = (SELECT id FROM provider WHERE name = 'sandbox') WHERE provider_id = 99001`,
    );
  });
});

test('no evaluation is paid when the judge is not allowed, and the settings explain why', async () => {
  const fixture = await createFixture('closed-judge', { judge_model: 'sim-reason' });
  const owner = { url: app.url, cookie: await signInMember(app, fixture.organisationId, 'org_owner') };
  await changeCatalogue(`UPDATE model SET restricted = true WHERE name = 'sim-reason'`);
  const requestId = await evaluateRequest(fixture);
  expect(await rows('SELECT closed_by FROM quality_sample WHERE request_id = $1', requestId)).toEqual([
    { closed_by: 'no_judge' },
  ]);
  expect(await rows('SELECT FROM evaluation_call WHERE request_id = $1', requestId)).toEqual([]);
  const { body } = await openPage(owner, settingsPath);
  expect(body).toContain('No model may judge');
  // A model that is closed to the organisation is not listed.
  expect(body).not.toContain('value="sim-reason"');
  expect(body).toContain('value="sim-large"');
  expect(await sendJson(owner, settingsPath, { judge_model: 'sim-reason' })).toMatchObject({
    status: 422,
    json: { param: 'judge_model', details: { reason: 'chat-model' } },
  });
});
