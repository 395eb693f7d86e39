import { platformScope, uuidv7 } from '#product/kernel';
import { ScoreQuery } from '#product/quality';
import type { TestApp } from '../../support/app';
import { startTestApp } from '../../support/app';
import { startSimulator, type Simulator } from '../../support/simulator';
import { signIn } from '../../support/users';
import { openPage, sendJson } from '../web/page-requests';
import { sendRaw } from '../web/raw-exchange';
import {
  addQualityFixture,
  addMember,
  askModel,
  waitForEvaluation,
  type QualityFixture,
  setQuality,
  signInMember,
} from './quality-fixture';

let app: TestApp;
let simulator: Simulator;
let fixture: QualityFixture;
let otherFixture: QualityFixture;

const sampleEverything = { availability: 'everyone', sampling_percent: 100, sample_named: true } as const;
const openReport = (path: string, cookie: string) => openPage({ url: app.url, cookie }, path);
const jsonAt = async (path: string, cookie: string) => {
  const { status, body } = await sendRaw(app.url, { path, headers: { cookie, accept: 'application/json' } });
  return { status, json: JSON.parse(body) as Record<string, unknown> };
};
const submitAsOwner = (path: string, cookie: string, form: object) =>
  sendJson({ url: app.url, cookie }, path, form);

/** Stores a scored pair of answers from a given number of days ago. */
async function insertPair(
  { organisationId, userId, keyId }: QualityFixture,
  totals: { readonly served: number; readonly replay: number },
  { judge = 'judge-one', daysAgo = 1, supplier = 'sandbox' } = {},
): Promise<string> {
  const requestId = uuidv7();
  await app.database.query(
    `INSERT INTO quality_sample (request_id, created_at, organisation_id, user_id, key_id, surface, requested_model,
       served_model, bucket, language, sampled_by, inclusion_prob, state)
     VALUES ($1, now() - make_interval(days => $5), $2, $3, $4, 'chat', 'auto', 'sim-small', 'maths/short', 'en',
       'rate', 0.5, 'learned')`,
    [requestId, organisationId, userId, keyId, daysAgo],
  );
  for (const [model, role] of [
    ['sim-small', 'served'],
    ['sim-large', 'replay'],
  ] as const)
    await app.database.query(
      `INSERT INTO quality_score (request_id, organisation_id, created_at, model, role, supplier, tokens_in, tokens_out,
         cost_nano, latency_ms, answer_length, judge_model, judge_version, rubric_version, verdict, score_total, scores)
       SELECT $1, organisation_id, created_at, $2, $3, $6, 10, 20, 1000, 300, 80, 'sim-large', $4, 'r1', 'ok', $5,
              '{"correctness": 8, "instruction": 8, "completeness": 8, "clarity": 8, "safety": 10}'
         FROM quality_sample WHERE request_id = $1`,
      [requestId, model, role, judge, totals[role], supplier],
    );
  return requestId;
}

beforeAll(async () => {
  simulator = await startSimulator();
  app = await startTestApp({ sandboxUrl: simulator.url });
  fixture = await addQualityFixture(app, 'ours');
  otherFixture = await addQualityFixture(app, 'theirs');
  await setQuality(app, fixture.organisationId, { ...sampleEverything, content_retention_days: 3 });
  await setQuality(app, otherFixture.organisationId, sampleEverything);
});
afterAll(async () => {
  await app.close();
  await simulator.stop();
});

describe('Quality reports', () => {
  test('show a mean with its interval only for enough answers, and keep judges separate', async () => {
    const reader = await signIn(app, fixture.userId);
    for (let made = 0; made < 19; made += 1)
      await insertPair(fixture, { served: 60 + (made % 3), replay: 80 });
    const fewPage = (await openReport('/dashboard/qualitative', reader)).body;
    expect(fewPage).toContain('not enough data');
    expect(fewPage).not.toMatch(/\[\d+\.\d, \d+\.\d\]/);
    await insertPair(fixture, { served: 61, replay: 80 });
    for (let made = 0; made < 20; made += 1)
      await insertPair(fixture, { served: 10, replay: 20 }, { judge: 'judge-two', daysAgo: 3 });
    const { body } = await openReport('/dashboard/qualitative', reader);
    expect(body).toContain('judge judge-one');
    expect(body).toContain('judge judge-two');
    expect(body).toContain('The judge changed.');
    expect(body).toMatch(/sim-large<\/th>[^]*?80\.0 \[80\.0, 80\.0\]/);
    // An average over both judges would be near 50.
    expect(body).not.toMatch(/50\.0 \[/);
    expect(body).toMatch(/\+19\.\d \[\+1\d\.\d, \+\d\d\.\d\] \* \(20\)/);
    expect(body).toContain('Scored: 40 of');
  });

  test("use the weeks of the reader's time zone", async () => {
    const requestId = await insertPair(otherFixture, { served: 1, replay: 2 });
    // A Sunday evening in Europe is a Monday in New Zealand.
    await app.database.query(
      `UPDATE quality_score SET created_at = date_trunc('week', now(), 'UTC') - interval '1 hour' WHERE request_id = $1`,
      [requestId],
    );
    const weekIn = async (zone: string): Promise<string | undefined> =>
      (
        await app.application
          .get(ScoreQuery, { strict: false })
          .listScored(platformScope, { from: new Date(Date.now() - 20 * 86_400_000) }, zone)
      ).find((row) => row.requestId === requestId)?.week;
    const [here, there] = [await weekIn('UTC'), await weekIn('Pacific/Auckland')];
    expect(Date.parse(there ?? '') - Date.parse(here ?? '')).toBe(7 * 86_400_000);
  });

  test('compare with the reference model named in the auto settings', async () => {
    const reader = await signIn(app, fixture.userId);
    const referenceOnPage = async (): Promise<string | undefined> =>
      /<th scope="row">([^<]+)<\/th>(?:(?!<\/tr>)[^])*?<td[^>]*>reference</.exec(
        (await openReport('/dashboard/qualitative', reader)).body,
      )?.[1];
    expect(await referenceOnPage()).toBe('sim-small');
    await app.database.query(
      `INSERT INTO engine_setting (engine, organisation_id, settings)
       VALUES ('autorouter', $1, '{"reference_model": "sim-large"}')`,
      [fixture.organisationId],
    );
    expect(await referenceOnPage()).toBe('sim-large');
    await app.database.query(
      `DELETE FROM engine_setting WHERE engine = 'autorouter' AND organisation_id = $1`,
      [fixture.organisationId],
    );
  });

  test('explain every figure and describe signals in words', async () => {
    const reader = await signIn(app, fixture.userId);
    const requestId = await insertPair(fixture, { served: 12.5, replay: 100 });
    await app.database.query(
      `UPDATE quality_score SET objective_flags = '{truncated}' WHERE request_id = $1 AND role = 'served'`,
      [requestId],
    );
    await app.database.query(
      `INSERT INTO answer_feedback (request_id, organisation_id, user_id, model, verdict, retried_at)
       VALUES ($1, $2, $3, 'sim-small', 'down', now())`,
      [requestId, fixture.organisationId, fixture.userId],
    );
    const { body } = await openReport('/dashboard/qualitative', reader);
    expect(body).toContain('* marks differences that stand when all of them are taken together');
    expect(body).toContain('won / tied / lost against the served answer');
    expect(body).toContain('cut off at the length limit, thumb down, asked again at once');
    // Every score has one decimal, so that the column aligns.
    expect(body).toContain('12.5');
    expect(body).toContain('100.0');
    expect(body).toMatch(new RegExp(`request_id(=|&#x3D;)${requestId}`));
    const file = (await openReport('/dashboard/qualitative/export?days=7', reader)).body;
    expect(file).toMatch(new RegExp(`${requestId}.*truncated thumb_down retried`));
  });

  test('distinguish a filter without matches from an empty report', async () => {
    const reader = await signIn(app, fixture.userId);
    const unmatchedPage = (await openReport('/dashboard/qualitative?verdict=judge_error', reader)).body;
    expect(unmatchedPage).toContain('Nothing matches these filters');
    const emptyFixture = await addQualityFixture(app, 'nothing-yet');
    await setQuality(app, emptyFixture.organisationId, sampleEverything);
    const emptyPage = (await openReport('/dashboard/qualitative', await signIn(app, emptyFixture.userId)))
      .body;
    expect(emptyPage).toContain('No answer was scored');
    expect(emptyPage).not.toContain('Nothing matches these filters');
  });

  test('can be filtered by URL and paged', async () => {
    const reader = await signIn(app, fixture.userId);
    const replaysPage = (await openReport('/dashboard/qualitative?role=replay', reader)).body;
    expect(replaysPage).toContain('replayed');
    expect(replaysPage).not.toMatch(/<td[^>]*>served</);
    const firstPage = (await openReport('/dashboard/qualitative', reader)).body;
    const olderPath =
      /href="([^"]*cursor[^"]*)"/.exec(firstPage)?.[1]?.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&') ??
      '';
    expect((await openReport(olderPath, reader)).status).toBe(200);
    expect((await openReport('/dashboard/qualitative?days=8', reader)).status).toBe(422);
  });

  test('are visible as the organisation decides, and only within the organisation', async () => {
    const otherCookie = await signIn(app, otherFixture.userId);
    const otherRequestId = await insertPair(otherFixture, { served: 33, replay: 44 });
    expect((await openReport('/dashboard/qualitative', otherCookie)).body).toContain('44');
    const reader = await signIn(app, fixture.userId);
    expect((await jsonAt(`/dashboard/qualitative/detail/${otherRequestId}`, reader)).status).toBe(404);
    await setQuality(app, otherFixture.organisationId, { availability: 'admins' });
    expect((await openReport('/dashboard/qualitative', otherCookie)).body).toContain('for administrators');
    expect((await jsonAt(`/dashboard/qualitative/detail/${otherRequestId}`, otherCookie)).status).toBe(404);
    await setQuality(app, otherFixture.organisationId, { availability: 'off' });
    expect((await openReport('/dashboard/qualitative', otherCookie)).body).toContain(
      'Nothing is judged here',
    );
    expect(
      (await openReport('/dashboard/qualitative/export', otherCookie)).body.trim().split('\r\n'),
    ).toHaveLength(1);
  });

  test('are exported without texts, with escaped formulas and a note when truncated', async () => {
    await insertPair(fixture, { served: 1, replay: 2 }, { supplier: '=cmd|calc' });
    const { status, body, headers } = await openReport(
      '/dashboard/qualitative/export?days=7',
      await signIn(app, fixture.userId),
    );
    expect([status, headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(headers['x-svc-export-capped-at']).toMatch(/^\d+$/);
    const [head, ...rows] = body.trim().split('\r\n');
    expect(head).toContain('score_total,verdict');
    expect(head).not.toMatch(/content,|prompt|answer/);
    expect(body).toContain(`'=cmd|calc`);
    expect(rows.every((row) => row.includes(`,${fixture.organisationId},`))).toBe(true);
  });
});

describe('Score details', () => {
  test('show stored texts to the user and to administrators, and log each view', async () => {
    const answer = await askModel(app, fixture.key, {
      model: 'sim-small',
      messages: [{ role: 'user', content: 'Solve the riddle of the lighthouse.' }],
    });
    const requestId = answer.headers.get('x-request-id') ?? '';
    expect((await waitForEvaluation(app, requestId)).state).toBe('learned');
    const path = `/dashboard/qualitative/detail/${requestId}`;
    const ownDetail = await jsonAt(path, await signIn(app, fixture.userId));
    expect(JSON.stringify(ownDetail.json)).toContain('lighthouse');
    expect(ownDetail.json).toMatchObject({ reason: null, row: { role: 'served', is_simulated: true } });
    expect((ownDetail.json.pair as unknown[]).length).toBe(3);
    // The request named its model, so there is no choice to explain.
    expect(ownDetail.json.explanation).toBeNull();
    const viewEntries = await app.database.query(
      `SELECT object_id FROM activity WHERE action = 'qualitative.content-viewed' AND organisation_id = $1`,
      [fixture.organisationId],
    );
    expect(viewEntries).toEqual([{ object_id: requestId }]);
    const autoAnswer = await askModel(app, fixture.key, {
      model: 'auto',
      messages: [{ role: 'user', content: 'Solve the riddle of the harbour.' }],
    });
    const autoRequestId = autoAnswer.headers.get('x-request-id') ?? '';
    await waitForEvaluation(app, autoRequestId);
    const explainedDetail = await jsonAt(
      `/dashboard/qualitative/detail/${autoRequestId}`,
      await signIn(app, fixture.userId),
    );
    expect(explainedDetail.json.explanation).toMatchObject({
      alg: 'hkb-v1',
      reason: 'shadow_mode',
      pacing: null,
    });
    const replayDetail = await jsonAt(`${path}?model=sim-large`, await signIn(app, fixture.userId));
    expect(replayDetail.json).toMatchObject({
      row: { model: 'sim-large', role: 'replay', pair_model: 'sim-small' },
    });
  });

  test('explain why no text is stored', async () => {
    const requestId = await insertPair(fixture, { served: 5, replay: 6 });
    const { json } = await jsonAt(
      `/dashboard/qualitative/detail/${requestId}`,
      await signIn(app, fixture.userId),
    );
    expect(json).toMatchObject({ content: null, reason: 'retention_off' });
  });

  test.each(['nothing', '00000000-0000-7000-8000-000000000000'])(
    'return 404 for a request of %s',
    async (id) => {
      expect(
        (await jsonAt(`/dashboard/qualitative/detail/${id}`, await signIn(app, fixture.userId))).status,
      ).toBe(404);
    },
  );
});

describe('Evaluation settings', () => {
  const path = '/dashboard/qualitative/settings';

  test('are switched on by the organisation and apply immediately', async () => {
    const newFixture = await addQualityFixture(app, 'fresh');
    const owner = await signInMember(app, newFixture.organisationId, 'org_owner');
    const submitResult = await submitAsOwner(path, owner, {
      availability: 'everyone',
      sampling_percent: 100,
      sample_named: 'on',
    });
    expect(submitResult).toMatchObject({
      status: 200,
      json: { engine: 'on', settings: { monthly_budget: 10 } },
    });
    const answer = await askModel(app, newFixture.key, {
      model: 'sim-small',
      messages: [{ role: 'user', content: 'Solve it.' }],
    });
    expect((await waitForEvaluation(app, answer.headers.get('x-request-id'))).state).toBe('learned');
    expect((await openReport(path, owner)).body).toMatch(/name="monthly_budget"[^>]* value="10"/);
  });

  test('can exclude a key', async () => {
    const owner = await signInMember(app, fixture.organisationId, 'org_owner');
    const { json } = await submitAsOwner(path, owner, { key_id: fixture.keyId, excluded: 'on' });
    expect(json).toMatchObject({ key_id: fixture.keyId, settings: { excluded: true } });
    await submitAsOwner(path, owner, { key_id: fixture.keyId, excluded: 'off' });
    const otherKeyResult = await submitAsOwner(path, owner, { key_id: otherFixture.keyId, excluded: 'on' });
    expect(otherKeyResult.status).toBe(404);
  });

  test('can be changed for a key by its owner on the page of the key', async () => {
    const reader = await signIn(app, fixture.userId);
    const page = `/dashboard/keys/${fixture.keyId}`;
    const isExcluded = () =>
      app.database.query<{ excluded: boolean }>(
        `SELECT (settings->'excluded')::boolean AS excluded FROM engine_setting WHERE key_id = $1`,
        [fixture.keyId],
      );
    expect((await openReport(page, reader)).body).toContain('Keep this key out');
    expect((await submitAsOwner(page, reader, { action: 'exclude' })).status).toBe(200);
    expect(await isExcluded()).toEqual([{ excluded: true }]);
    expect((await openReport(page, reader)).body).toContain('Let this key take part again');
    const otherCookie = await signIn(app, otherFixture.userId);
    expect((await submitAsOwner(page, otherCookie, { action: 'include' })).status).toBe(404);
    expect((await submitAsOwner(page, reader, { action: 'include' })).status).toBe(200);
    expect(await isExcluded()).toEqual([{ excluded: false }]);
  });

  test.each([
    [{ judge_model: 'no-such-model' }, 'judge_model'],
    [{ judge_model: 'sim-embed' }, 'judge_model'],
    [{ monthly_budget: -1 }, 'monthly_budget'],
    [{ content_retention_days: 31 }, 'content_retention_days'],
  ])('refuse %o', async (form, param) => {
    const owner = await signInMember(app, fixture.organisationId, 'org_owner');
    const { status, json } = await submitAsOwner(path, owner, form);
    expect(status).toBe(422);
    expect(JSON.stringify(json)).toContain(param);
  });

  test('can be changed by administrators only', async () => {
    const user = await signIn(app, await addMember(app, fixture.organisationId));
    expect((await submitAsOwner(path, user, { availability: 'off' })).status).toBe(403);
  });
});
