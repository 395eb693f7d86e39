import { insertRequestRecords } from '#product/audit';
import { NO_USAGE } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { signIn } from '../../support/people';
import { startSimulator, type Simulator } from '../../support/simulator';
import { aRecord, written } from '../../support/a-record';
import { sendJson } from '../web/from-page';
import { ask } from '../web/raw-exchange';
import { addHouse, askModel, type House, setQuality, signedIn } from './house';
import { until } from '../../support/until';

let app: TestApp;
let simulator: Simulator;
let house: House;

const open = (path: string, cookie: string) =>
  ask(app.url, { path, headers: { cookie, accept: 'text/html' } });
const data = async (cookie: string, days = 30) => {
  const path = `/dashboard/api/autorouter?days=${days}`;
  return JSON.parse((await ask(app.url, { path, headers: { cookie, accept: 'application/json' } })).body) as {
    totals: {
      decisions: number;
      away_from_reference: number;
      estimated_cost_ratio: number | null;
      measured: {
        pairs: number;
        quality_difference: { value: number; low: number; high: number } | null;
        cost_ratio: number | null;
        cost_ratio_interval: { low: number; high: number } | null;
      };
    };
    reasons: { reason: string; requests: number }[];
    by_week: { week: string; requests: number; away: number; estimated_cost_ratio: number | null }[];
    candidates: string[];
    dial_preview: {
      dial: number;
      pairs: number;
      away_from_reference: number | null;
      quality_difference: { value: number; low: number; high: number } | null;
      cost_ratio: { value: number } | null;
    }[];
    decisions: { request_id: string; chosen: string; reason: string }[];
    excluded: Record<string, number>;
    evaluation_spend_usd: string | null;
    policy: { levels: object };
  };
};

/** A request for auto that a cheaper model answered, and what the reference said to it. */
async function putRouted(
  index: number,
  { organisationId, userId, keyId }: House,
  judge = 'j',
  drift = 'calm',
): Promise<void> {
  const record = aRecord({
    ...NO_USAGE,
    keyId,
    userId,
    organisationId,
    model: 'auto',
    servedModel: 'sim-small',
    supplier: 'sandbox',
    region: 'local',
    priceId: null,
    costNano: 500n,
    latencyMs: 100,
    autoDecision: {
      alg: 'hkb-v1',
      ref: 'sim-large',
      chosen: 'sim-small',
      reason: 'similar_quality_cheaper',
      bucket: 'maths/short',
      drift,
      cost_ratio: 0.5,
      quality_difference: -0.01,
      session: { source: 'header', sticky: 'kept', since: null },
      novelty: 0.1,
      policy: { level: 'organisation', dial: 5, kappa: 0.06, z: 0.3 },
      candidates: [
        { model: 'sim-small', q: 0.8, lo: 0.7, hi: 0.9, n_eff: 40, cost_est: 500, lat_est: 100, u: 0.75 },
        { model: 'sim-large', q: 0.82, lo: 0.7, hi: 0.9, n_eff: 40, cost_est: 2_000, lat_est: 100, u: 0.74 },
      ],
      excluded: { region: 2 },
    },
  });
  await app.database.transaction((tx) => insertRequestRecords(tx, [written(record)]));
  await app.database.query(
    `INSERT INTO quality_sample (request_id, created_at, organisation_id, user_id, key_id, surface, requested_model,
       served_model, bucket, language, sampled_by, inclusion_prob, state)
     VALUES ($1, now(), $2, $3, $4, 'chat', 'auto', 'sim-small', 'maths/short', 'en', 'rate', 0.1, 'learned')`,
    [record.requestId, organisationId, userId, keyId],
  );
  const answers = [
    ['sim-small', 'served', 70 + (index % 3), 500],
    ['sim-large', 'replay', 72, 2_000],
  ] as const;
  for (const [model, role, total, cost] of answers)
    await app.database.query(
      `INSERT INTO quality_score (request_id, organisation_id, created_at, model, role, supplier, tokens_in, tokens_out,
         cost_nano, latency_ms, answer_length, judge_model, judge_version, rubric_version, verdict, score_total, judged_at)
       VALUES ($1, $2, now(), $3, $4, 'sandbox', 1, 1, $5, 100, 50, 'sim-large', $7, 'r1', 'ok', $6, now())`,
      [record.requestId, organisationId, model, role, cost, total, judge],
    );
}

beforeAll(async () => {
  simulator = await startSimulator();
  app = await startTestApp({ sandboxUrl: simulator.url });
  house = await addHouse(app, 'routed');
});
afterAll(async () => {
  await app.close();
  await simulator.stop();
});

test('a request for auto is on the page with its reason, and learning says how far it is', async () => {
  const cookie = await signIn(app, house.userId);
  expect((await open('/dashboard/autorouter', cookie)).body).toContain('No decision yet');
  const messages = [{ role: 'user', content: 'Solve the equation.' }];
  expect((await askModel(app, house.key, { model: 'auto', messages }, '/v1/messages')).status).toBe(200);
  await until(async () => (await data(cookie)).totals.decisions === 1);
  const { body } = await open('/dashboard/autorouter', cookie);
  expect(body).toContain('auto is learning: the reference model answers.');
  expect(body).toMatch(/0 of 500 answers are judged/);
  expect(body).toContain('action="/dashboard/autorouter/user"');
  expect(body).toContain('not enough data');
});

test('what is measured needs twenty pairs, and stands apart from what is estimated', async () => {
  house = await addHouse(app, 'measured');
  const owner = await signedIn(app, house.organisationId, 'org_owner');
  const cookie = await signIn(app, house.userId);
  await setQuality(app, house.organisationId, { availability: 'everyone' });
  for (let index = 0; index < 19; index += 1) await putRouted(index, house);
  const few = (await data(cookie)).totals;
  expect(few.measured).toEqual({
    pairs: 19,
    quality_difference: null,
    cost_ratio: null,
    cost_ratio_interval: null,
    latency_difference_ms: null,
  });
  expect(few.estimated_cost_ratio).toBeCloseTo(0.5);
  await putRouted(19, house);
  const { totals, excluded, decisions, evaluation_spend_usd: spend } = await data(cookie);
  expect(totals.away_from_reference).toBe(20);
  expect(totals.measured.pairs).toBe(20);
  expect(totals.measured.cost_ratio).toBeCloseTo(0.25);
  expect(totals.measured.quality_difference?.value).toBeLessThan(0);
  expect(totals.measured.quality_difference?.low).toBeLessThan(
    totals.measured.quality_difference?.high ?? NaN,
  );
  expect(excluded).toMatchObject({ region: 40 });
  expect(decisions[0]).toMatchObject({
    chosen: 'sim-small',
    reason: 'similar_quality_cheaper',
    explanation: { ref: 'sim-large', reason: 'similar_quality_cheaper' },
  });
  // The house's cost of evaluation is for those who run it.
  expect(spend).toBeNull();
  const { body } = await open('/dashboard/autorouter', cookie);
  expect(body).toContain('similar quality, cheaper');
  expect(body).not.toMatch(/most expensive|saved/i);
  expect(body).toContain('estimate: $0.00001 instead of $0.00002');
  expect(totals.measured.cost_ratio_interval?.high).toBeGreaterThanOrEqual(0.25);
  expect((await open('/dashboard/autorouter', owner)).status).toBe(200);
});

test('the dial is previewed by what was judged, and says where that is too little', async () => {
  const cookie = await signIn(app, house.userId);
  const { dial_preview: dials, reasons, by_week: weeks, candidates } = await data(cookie);
  expect(dials.map(({ dial, pairs }) => [dial, pairs])).toEqual(
    Array.from({ length: 11 }, (_, dial) => [dial, 20]),
  );
  // The cheap model is on trial for the router, so that every place of the dial stays with the reference.
  expect(dials[10]).toMatchObject({ away_from_reference: 0, quality_difference: { value: 0 } });
  expect(reasons).toEqual([{ reason: 'similar_quality_cheaper', requests: 20 }]);
  expect(weeks.reduce((sum, { requests }) => sum + requests, 0)).toBe(20);
  expect(candidates).toContain('sim-small');
  const { body } = await open('/dashboard/autorouter', cookie);
  expect(body).toContain('What the dial would have done');
  expect(body).toContain('5 · balanced');
  expect(body).toContain('in force for you');
  expect(body).toContain('It has no supplier in the allowed regions');
  expect(body).toContain('None of your requests is used to try a model out');
  expect(body).toMatch(/<a href="\/dashboard\/request-log\?request_id(?:=|&#x3D;)[^"]+">/);
  expect(body).toMatch(/scatter-point/);
  const fresh = await addHouse(app, 'empty');
  await setQuality(app, fresh.organisationId, { availability: 'everyone' });
  const empty = await open('/dashboard/autorouter', await signIn(app, fresh.userId));
  expect(empty.body).toContain('Nothing to preview yet');
  expect(empty.body).toContain('The chart needs two models with at least 20 judged answers each.');
});

test('scores are for those whom the organisation chose, and settings for those who make them', async () => {
  const hidden = await addHouse(app, 'hidden');
  for (let index = 0; index < 20; index += 1) await putRouted(index, hidden);
  await setQuality(app, hidden.organisationId, { availability: 'admins' });
  await app.database.query(
    `INSERT INTO engine_setting (engine, organisation_id, settings) VALUES ('autorouter', $1, '{"exclude": ["secret-*"]}')`,
    [hidden.organisationId],
  );
  const cookie = await signIn(app, hidden.userId);
  const seen = await data(cookie);
  expect(seen).toMatchObject({
    quality_reports: 'closed',
    by_model: [],
    by_bucket: [],
    dial_preview: [],
    calibration: [],
    totals: { decisions: 20, measured: { pairs: 0, quality_difference: null } },
  });
  expect(seen.policy.levels).toEqual({});
  const { body } = await open('/dashboard/autorouter', cookie);
  expect(body).toContain('Quality reports are for administrators');
  expect(body).not.toContain('What the dial would have done');
  expect(body).not.toMatch(/measured/);
  const ownerCookie = await signedIn(app, hidden.organisationId, 'org_owner');
  await sendJson({ url: app.url, cookie: ownerCookie }, '/dashboard/toggle-admin-mode', { admin_mode: 'on' });
  const owner = await data(ownerCookie);
  expect(owner).toMatchObject({ quality_reports: 'open', totals: { measured: { pairs: 20 } } });
  expect(owner.policy.levels).toEqual({ organisation: { exclude: ['secret-*'] } });
  await setQuality(app, hidden.organisationId, { availability: 'off' });
  expect(await data(cookie)).toMatchObject({ quality_reports: 'off', by_model: [] });
});

test('a model that settings exclude is no candidate of the page', async () => {
  const cookie = await signIn(app, house.userId);
  await app.database.query(
    `INSERT INTO engine_setting (engine, organisation_id, settings) VALUES ('autorouter', $1, '{"exclude": ["sim-sm*"]}')
     ON CONFLICT ON CONSTRAINT engine_setting_once DO UPDATE SET settings = EXCLUDED.settings`,
    [house.organisationId],
  );
  const { candidates } = await data(cookie);
  expect(candidates).toContain('sim-large');
  expect(candidates).not.toContain('sim-small');
});

test('pairs of another judge are never added to them, and replace them when they are enough', async () => {
  const cookie = await signIn(app, house.userId);
  await putRouted(0, house, 'another');
  expect((await data(cookie)).totals.measured).toMatchObject({ pairs: 20 });
  expect((await open('/dashboard/autorouter', cookie)).body).toContain('has scored too few answers');
  for (let index = 0; index < 21; index += 1) await putRouted(index, house, 'another');
  expect((await data(cookie)).totals.measured).toMatchObject({ pairs: 22 });
  expect((await open('/dashboard/autorouter', cookie)).body).not.toContain('has scored too few answers');
});

test('the page says when most of the latest requests are of changed traffic', async () => {
  const changed = await addHouse(app, 'changed');
  const cookie = await signIn(app, changed.userId);
  await putRouted(0, changed);
  await putRouted(1, changed, 'j', 'raised');
  expect((await open('/dashboard/autorouter', cookie)).body).not.toContain('Your traffic has changed.');
  await putRouted(2, changed, 'j', 'reference');
  expect((await open('/dashboard/autorouter', cookie)).body).toContain('Your traffic has changed.');
});

test('nothing of it is for others', async () => {
  const other = await addHouse(app, 'elsewhere');
  expect((await data(await signIn(app, other.userId))).totals.decisions).toBe(0);
});
