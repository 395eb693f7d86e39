import { platformScope, uuidv7 } from '#product/kernel';
import { ScoreQuery } from '#product/quality';
import type { TestApp } from '../../support/app';
import { startTestApp } from '../../support/app';
import { startSimulator, type Simulator } from '../../support/simulator';
import { signIn } from '../../support/people';
import { openPage, sendJson } from '../web/from-page';
import { ask } from '../web/raw-exchange';
import { addHouse, addMember, askModel, evaluated, type House, setQuality, signedIn } from './house';

let app: TestApp;
let simulator: Simulator;
let house: House;
let other: House;

const everything = { availability: 'everyone', sampling_percent: 100, sample_named: true } as const;
const open = (path: string, cookie: string) => openPage({ url: app.url, cookie }, path);
const jsonAt = async (path: string, cookie: string) => {
  const { status, body } = await ask(app.url, { path, headers: { cookie, accept: 'application/json' } });
  return { status, json: JSON.parse(body) as Record<string, unknown> };
};
const asOwner = (path: string, cookie: string, form: object) =>
  sendJson({ url: app.url, cookie }, path, form);

/** A scored pair of answers, so and so many days ago. */
async function putPair(
  { organisationId, userId, keyId }: House,
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
  house = await addHouse(app, 'ours');
  other = await addHouse(app, 'theirs');
  await setQuality(app, house.organisationId, { ...everything, content_retention_days: 3 });
  await setQuality(app, other.organisationId, everything);
});
afterAll(async () => {
  await app.close();
  await simulator.stop();
});

describe('reports', () => {
  test('give a mean with its interval only of enough answers, and keep judges apart', async () => {
    const reader = await signIn(app, house.userId);
    for (let made = 0; made < 19; made += 1) await putPair(house, { served: 60 + (made % 3), replay: 80 });
    const few = (await open('/dashboard/qualitative', reader)).body;
    expect(few).toContain('not enough data');
    expect(few).not.toMatch(/\[\d+\.\d, \d+\.\d\]/);
    await putPair(house, { served: 61, replay: 80 });
    for (let made = 0; made < 20; made += 1)
      await putPair(house, { served: 10, replay: 20 }, { judge: 'judge-two', daysAgo: 3 });
    const { body } = await open('/dashboard/qualitative', reader);
    expect(body).toContain('judge judge-one');
    expect(body).toContain('judge judge-two');
    expect(body).toContain('The judge changed.');
    expect(body).toMatch(/sim-large<\/th>[^]*?80\.0 \[80\.0, 80\.0\]/);
    // An average over both judges would be near 50.
    expect(body).not.toMatch(/50\.0 \[/);
    expect(body).toMatch(/\+19\.\d \[\+1\d\.\d, \+\d\d\.\d\] \* \(20\)/);
    expect(body).toContain('Scored: 40 of');
  });

  test('have the weeks of the reader', async () => {
    const requestId = await putPair(other, { served: 1, replay: 2 });
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

  test('compare with the model that auto leans on, where settings name one', async () => {
    const reader = await signIn(app, house.userId);
    const referenceIn = async (): Promise<string | undefined> =>
      /<th scope="row">([^<]+)<\/th>(?:(?!<\/tr>)[^])*?<td[^>]*>reference</.exec(
        (await open('/dashboard/qualitative', reader)).body,
      )?.[1];
    expect(await referenceIn()).toBe('sim-small');
    await app.database.query(
      `INSERT INTO engine_setting (engine, organisation_id, settings)
       VALUES ('autorouter', $1, '{"reference_model": "sim-large"}')`,
      [house.organisationId],
    );
    expect(await referenceIn()).toBe('sim-large');
    await app.database.query(
      `DELETE FROM engine_setting WHERE engine = 'autorouter' AND organisation_id = $1`,
      [house.organisationId],
    );
  });

  test('say for what each figure stands, and name signals in words', async () => {
    const reader = await signIn(app, house.userId);
    const requestId = await putPair(house, { served: 12.5, replay: 100 });
    await app.database.query(
      `UPDATE quality_score SET objective_flags = '{truncated}' WHERE request_id = $1 AND role = 'served'`,
      [requestId],
    );
    await app.database.query(
      `INSERT INTO answer_feedback (request_id, organisation_id, user_id, model, verdict, retried_at)
       VALUES ($1, $2, $3, 'sim-small', 'down', now())`,
      [requestId, house.organisationId, house.userId],
    );
    const { body } = await open('/dashboard/qualitative', reader);
    expect(body).toContain('* marks differences that stand when all of them are taken together');
    expect(body).toContain('won / tied / lost against the served answer');
    expect(body).toContain('cut off at the length limit, thumb down, asked again at once');
    // Every score has one decimal, so that they stand below one another.
    expect(body).toContain('12.5');
    expect(body).toContain('100.0');
    expect(body).toMatch(new RegExp(`request_id(=|&#x3D;)${requestId}`));
    const file = (await open('/dashboard/qualitative/export?days=7', reader)).body;
    expect(file).toMatch(new RegExp(`${requestId}.*truncated thumb_down retried`));
  });

  test('tell a filter that finds nothing from having nothing', async () => {
    const reader = await signIn(app, house.userId);
    const none = (await open('/dashboard/qualitative?verdict=judge_error', reader)).body;
    expect(none).toContain('Nothing matches these filters');
    const fresh = await addHouse(app, 'nothing-yet');
    await setQuality(app, fresh.organisationId, everything);
    const empty = (await open('/dashboard/qualitative', await signIn(app, fresh.userId))).body;
    expect(empty).toContain('No answer was scored');
    expect(empty).not.toContain('Nothing matches these filters');
  });

  test('are filtered by their address, page by page', async () => {
    const reader = await signIn(app, house.userId);
    const replays = (await open('/dashboard/qualitative?role=replay', reader)).body;
    expect(replays).toContain('replayed');
    expect(replays).not.toMatch(/<td[^>]*>served</);
    const first = (await open('/dashboard/qualitative', reader)).body;
    const older =
      /href="([^"]*cursor[^"]*)"/.exec(first)?.[1]?.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&') ?? '';
    expect((await open(older, reader)).status).toBe(200);
    expect((await open('/dashboard/qualitative?days=8', reader)).status).toBe(422);
  });

  test('are shown to those whom the organisation chose, and of their own organisation', async () => {
    const stranger = await signIn(app, other.userId);
    const foreign = await putPair(other, { served: 33, replay: 44 });
    expect((await open('/dashboard/qualitative', stranger)).body).toContain('44');
    const reader = await signIn(app, house.userId);
    expect((await jsonAt(`/dashboard/qualitative/detail/${foreign}`, reader)).status).toBe(404);
    await setQuality(app, other.organisationId, { availability: 'admins' });
    expect((await open('/dashboard/qualitative', stranger)).body).toContain('for administrators');
    expect((await jsonAt(`/dashboard/qualitative/detail/${foreign}`, stranger)).status).toBe(404);
    await setQuality(app, other.organisationId, { availability: 'off' });
    expect((await open('/dashboard/qualitative', stranger)).body).toContain('Nothing is judged here');
    expect((await open('/dashboard/qualitative/export', stranger)).body.trim().split('\r\n')).toHaveLength(1);
  });

  test('are exported without a text, safe for a spreadsheet, and noted as capped', async () => {
    await putPair(house, { served: 1, replay: 2 }, { supplier: '=cmd|calc' });
    const { status, body, headers } = await open(
      '/dashboard/qualitative/export?days=7',
      await signIn(app, house.userId),
    );
    expect([status, headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(headers['x-svc-export-capped-at']).toMatch(/^\d+$/);
    const [head, ...rows] = body.trim().split('\r\n');
    expect(head).toContain('score_total,verdict');
    expect(head).not.toMatch(/content,|prompt|answer/);
    expect(body).toContain(`'=cmd|calc`);
    expect(rows.every((row) => row.includes(`,${house.organisationId},`))).toBe(true);
  });
});

describe('the detail of a score', () => {
  test('has the texts where they are kept, for the person and for administrators, and each look is on record', async () => {
    const answer = await askModel(app, house.key, {
      model: 'sim-small',
      messages: [{ role: 'user', content: 'Solve the riddle of the lighthouse.' }],
    });
    const requestId = answer.headers.get('x-request-id') ?? '';
    expect((await evaluated(app, requestId)).state).toBe('learned');
    const path = `/dashboard/qualitative/detail/${requestId}`;
    const own = await jsonAt(path, await signIn(app, house.userId));
    expect(JSON.stringify(own.json)).toContain('lighthouse');
    expect(own.json).toMatchObject({ reason: null, row: { role: 'served', is_simulated: true } });
    expect((own.json.pair as unknown[]).length).toBe(3);
    // It named its model: nothing was chosen.
    expect(own.json.explanation).toBeNull();
    const viewed = await app.database.query(
      `SELECT object_id FROM activity WHERE action = 'qualitative.content-viewed' AND organisation_id = $1`,
      [house.organisationId],
    );
    expect(viewed).toEqual([{ object_id: requestId }]);
    const auto = await askModel(app, house.key, {
      model: 'auto',
      messages: [{ role: 'user', content: 'Solve the riddle of the harbour.' }],
    });
    const chosenId = auto.headers.get('x-request-id') ?? '';
    await evaluated(app, chosenId);
    const explained = await jsonAt(
      `/dashboard/qualitative/detail/${chosenId}`,
      await signIn(app, house.userId),
    );
    expect(explained.json.explanation).toMatchObject({ alg: 'hkb-v1', reason: 'shadow_mode', pacing: null });
    const replayed = await jsonAt(`${path}?model=sim-large`, await signIn(app, house.userId));
    expect(replayed.json).toMatchObject({
      row: { model: 'sim-large', role: 'replay', pair_model: 'sim-small' },
    });
  });

  test('has none where nothing is kept, and says why', async () => {
    const requestId = await putPair(house, { served: 5, replay: 6 });
    const { json } = await jsonAt(
      `/dashboard/qualitative/detail/${requestId}`,
      await signIn(app, house.userId),
    );
    expect(json).toMatchObject({ content: null, reason: 'retention_off' });
  });

  test.each(['nothing', '00000000-0000-7000-8000-000000000000'])('of %s is not found', async (id) => {
    expect(
      (await jsonAt(`/dashboard/qualitative/detail/${id}`, await signIn(app, house.userId))).status,
    ).toBe(404);
  });
});

describe('settings', () => {
  const path = '/dashboard/qualitative/settings';

  test('are on when the organisation says so, and take effect at once', async () => {
    const fresh = await addHouse(app, 'fresh');
    const owner = await signedIn(app, fresh.organisationId, 'org_owner');
    const set = await asOwner(path, owner, {
      availability: 'everyone',
      sampling_percent: 100,
      sample_named: 'on',
    });
    expect(set).toMatchObject({ status: 200, json: { engine: 'on', settings: { monthly_budget: 10 } } });
    const answer = await askModel(app, fresh.key, {
      model: 'sim-small',
      messages: [{ role: 'user', content: 'Solve it.' }],
    });
    expect((await evaluated(app, answer.headers.get('x-request-id'))).state).toBe('learned');
    expect((await open(path, owner)).body).toMatch(/name="monthly_budget"[^>]* value="10"/);
  });

  test('keep a key out', async () => {
    const owner = await signedIn(app, house.organisationId, 'org_owner');
    const { json } = await asOwner(path, owner, { key_id: house.keyId, excluded: 'on' });
    expect(json).toMatchObject({ key_id: house.keyId, settings: { excluded: true } });
    await asOwner(path, owner, { key_id: house.keyId, excluded: 'off' });
    const foreign = await asOwner(path, owner, { key_id: other.keyId, excluded: 'on' });
    expect(foreign.status).toBe(404);
  });

  test('of a key are the choice of its owner too, on its page', async () => {
    const reader = await signIn(app, house.userId);
    const page = `/dashboard/keys/${house.keyId}`;
    const excluded = () =>
      app.database.query<{ excluded: boolean }>(
        `SELECT (settings->'excluded')::boolean AS excluded FROM engine_setting WHERE key_id = $1`,
        [house.keyId],
      );
    expect((await open(page, reader)).body).toContain('Keep this key out');
    expect((await asOwner(page, reader, { action: 'exclude' })).status).toBe(200);
    expect(await excluded()).toEqual([{ excluded: true }]);
    expect((await open(page, reader)).body).toContain('Let this key take part again');
    const stranger = await signIn(app, other.userId);
    expect((await asOwner(page, stranger, { action: 'include' })).status).toBe(404);
    expect((await asOwner(page, reader, { action: 'include' })).status).toBe(200);
    expect(await excluded()).toEqual([{ excluded: false }]);
  });

  test.each([
    [{ judge_model: 'no-such-model' }, 'judge_model'],
    [{ judge_model: 'sim-embed' }, 'judge_model'],
    [{ monthly_budget: -1 }, 'monthly_budget'],
    [{ content_retention_days: 31 }, 'content_retention_days'],
  ])('refuse %o', async (form, param) => {
    const owner = await signedIn(app, house.organisationId, 'org_owner');
    const { status, json } = await asOwner(path, owner, form);
    expect(status).toBe(422);
    expect(JSON.stringify(json)).toContain(param);
  });

  test('are for administrators', async () => {
    const user = await signIn(app, await addMember(app, house.organisationId));
    expect((await asOwner(path, user, { availability: 'off' })).status).toBe(403);
  });
});
