import { insertRequestRecords } from '#product/audit';
import { NO_USAGE } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { signIn } from '../../support/users';
import { startSimulator, type Simulator } from '../../support/simulator';
import { createRecord, toWrittenRecord } from '../../support/record-fixture';
import { sendJson } from '../web/page-requests';
import { sendRaw } from '../web/raw-exchange';
import {
  addQualityFixture,
  askModel,
  type QualityFixture,
  setQuality,
  signInMember,
} from './quality-fixture';
import { until } from '../../support/until';

let app: TestApp;
let simulator: Simulator;
let fixture: QualityFixture;

const openAutoPage = (path: string, cookie: string) =>
  sendRaw(app.url, { path, headers: { cookie, accept: 'text/html' } });
const data = async (cookie: string, days = 30) => {
  const path = `/dashboard/api/autorouter?days=${days}`;
  return JSON.parse(
    (await sendRaw(app.url, { path, headers: { cookie, accept: 'application/json' } })).body,
  ) as {
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

/** Stores a request for auto that a cheaper model answered, with a scored replay by the reference model. */
async function insertRouted(
  index: number,
  { organisationId, userId, keyId }: QualityFixture,
  judge = 'j',
  drift = 'calm',
): Promise<void> {
  const record = createRecord({
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
  await app.database.transaction((tx) => insertRequestRecords(tx, [toWrittenRecord(record)]));
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
  fixture = await addQualityFixture(app, 'routed');
});
afterAll(async () => {
  await app.close();
  await simulator.stop();
});

test('the page lists a request for auto with its reason, and the learning progress', async () => {
  const cookie = await signIn(app, fixture.userId);
  expect((await openAutoPage('/dashboard/autorouter', cookie)).body).toContain('No decision yet');
  const messages = [{ role: 'user', content: 'Solve the equation.' }];
  expect((await askModel(app, fixture.key, { model: 'auto', messages }, '/v1/messages')).status).toBe(200);
  await until(async () => (await data(cookie)).totals.decisions === 1);
  const { body } = await openAutoPage('/dashboard/autorouter', cookie);
  expect(body).toContain('auto is learning: the reference model answers.');
  expect(body).toMatch(/0 of 500 answers are judged/);
  expect(body).toContain('action="/dashboard/autorouter/user"');
  expect(body).toContain('not enough data');
});

test('measured values need twenty pairs and are shown separately from estimates', async () => {
  fixture = await addQualityFixture(app, 'measured');
  const owner = await signInMember(app, fixture.organisationId, 'org_owner');
  const cookie = await signIn(app, fixture.userId);
  await setQuality(app, fixture.organisationId, { availability: 'everyone' });
  for (let index = 0; index < 19; index += 1) await insertRouted(index, fixture);
  const fewTotals = (await data(cookie)).totals;
  expect(fewTotals.measured).toEqual({
    pairs: 19,
    quality_difference: null,
    cost_ratio: null,
    cost_ratio_interval: null,
    latency_difference_ms: null,
  });
  expect(fewTotals.estimated_cost_ratio).toBeCloseTo(0.5);
  await insertRouted(19, fixture);
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
  // Evaluation cost is visible to administrators only.
  expect(spend).toBeNull();
  const { body } = await openAutoPage('/dashboard/autorouter', cookie);
  expect(body).toContain('similar quality, cheaper');
  expect(body).not.toMatch(/most expensive|saved/i);
  expect(body).toContain('estimate: $0.00001 instead of $0.00002');
  expect(totals.measured.cost_ratio_interval?.high).toBeGreaterThanOrEqual(0.25);
  expect((await openAutoPage('/dashboard/autorouter', owner)).status).toBe(200);
});

test('the dial preview is based on scored pairs and reports when there are too few', async () => {
  const cookie = await signIn(app, fixture.userId);
  const { dial_preview: dials, reasons, by_week: weeks, candidates } = await data(cookie);
  expect(dials.map(({ dial, pairs }) => [dial, pairs])).toEqual(
    Array.from({ length: 11 }, (_, dial) => [dial, 20]),
  );
  // The cheap model is on trial, so every position of the dial stays with the reference model.
  expect(dials[10]).toMatchObject({ away_from_reference: 0, quality_difference: { value: 0 } });
  expect(reasons).toEqual([{ reason: 'similar_quality_cheaper', requests: 20 }]);
  expect(weeks.reduce((sum, { requests }) => sum + requests, 0)).toBe(20);
  expect(candidates).toContain('sim-small');
  const { body } = await openAutoPage('/dashboard/autorouter', cookie);
  expect(body).toContain('What the dial would have done');
  expect(body).toContain('5 · balanced');
  expect(body).toContain('in force for you');
  expect(body).toContain('It has no supplier in the allowed regions');
  expect(body).toContain('None of your requests is used to try a model out');
  expect(body).toMatch(/<a href="\/dashboard\/request-log\?request_id(?:=|&#x3D;)[^"]+">/);
  expect(body).toMatch(/scatter-point/);
  const emptyFixture = await addQualityFixture(app, 'empty');
  await setQuality(app, emptyFixture.organisationId, { availability: 'everyone' });
  const emptyPage = await openAutoPage('/dashboard/autorouter', await signIn(app, emptyFixture.userId));
  expect(emptyPage.body).toContain('Nothing to preview yet');
  expect(emptyPage.body).toContain('The chart needs two models with at least 20 judged answers each.');
});

test('scores are visible as the organisation decides, and settings only to those who can change them', async () => {
  const hiddenFixture = await addQualityFixture(app, 'hidden');
  for (let index = 0; index < 20; index += 1) await insertRouted(index, hiddenFixture);
  await setQuality(app, hiddenFixture.organisationId, { availability: 'admins' });
  await app.database.query(
    `INSERT INTO engine_setting (engine, organisation_id, settings) VALUES ('autorouter', $1, '{"exclude": ["secret-*"]}')`,
    [hiddenFixture.organisationId],
  );
  const cookie = await signIn(app, hiddenFixture.userId);
  const memberData = await data(cookie);
  expect(memberData).toMatchObject({
    quality_reports: 'closed',
    by_model: [],
    by_bucket: [],
    dial_preview: [],
    calibration: [],
    totals: { decisions: 20, measured: { pairs: 0, quality_difference: null } },
  });
  expect(memberData.policy.levels).toEqual({});
  const { body } = await openAutoPage('/dashboard/autorouter', cookie);
  expect(body).toContain('Quality reports are for administrators');
  expect(body).not.toContain('What the dial would have done');
  expect(body).not.toMatch(/measured/);
  const ownerCookie = await signInMember(app, hiddenFixture.organisationId, 'org_owner');
  await sendJson({ url: app.url, cookie: ownerCookie }, '/dashboard/toggle-admin-mode', { admin_mode: 'on' });
  const owner = await data(ownerCookie);
  expect(owner).toMatchObject({ quality_reports: 'open', totals: { measured: { pairs: 20 } } });
  expect(owner.policy.levels).toEqual({ organisation: { exclude: ['secret-*'] } });
  await setQuality(app, hiddenFixture.organisationId, { availability: 'off' });
  expect(await data(cookie)).toMatchObject({ quality_reports: 'off', by_model: [] });
});

test('the page does not list a model that settings exclude as a candidate', async () => {
  const cookie = await signIn(app, fixture.userId);
  await app.database.query(
    `INSERT INTO engine_setting (engine, organisation_id, settings) VALUES ('autorouter', $1, '{"exclude": ["sim-sm*"]}')
     ON CONFLICT ON CONSTRAINT engine_setting_once DO UPDATE SET settings = EXCLUDED.settings`,
    [fixture.organisationId],
  );
  const { candidates } = await data(cookie);
  expect(candidates).toContain('sim-large');
  expect(candidates).not.toContain('sim-small');
});

test('scores of another judge are kept separate, and replace the old ones when there are enough', async () => {
  const cookie = await signIn(app, fixture.userId);
  await insertRouted(0, fixture, 'another');
  expect((await data(cookie)).totals.measured).toMatchObject({ pairs: 20 });
  expect((await openAutoPage('/dashboard/autorouter', cookie)).body).toContain('has scored too few answers');
  for (let index = 0; index < 21; index += 1) await insertRouted(index, fixture, 'another');
  expect((await data(cookie)).totals.measured).toMatchObject({ pairs: 22 });
  expect((await openAutoPage('/dashboard/autorouter', cookie)).body).not.toContain(
    'has scored too few answers',
  );
});

test('the page reports that most of the latest requests are unfamiliar', async () => {
  const changedFixture = await addQualityFixture(app, 'changed');
  const cookie = await signIn(app, changedFixture.userId);
  await insertRouted(0, changedFixture);
  await insertRouted(1, changedFixture, 'j', 'raised');
  expect((await openAutoPage('/dashboard/autorouter', cookie)).body).not.toContain(
    'Your traffic has changed.',
  );
  await insertRouted(2, changedFixture, 'j', 'reference');
  expect((await openAutoPage('/dashboard/autorouter', cookie)).body).toContain('Your traffic has changed.');
});

test('the page shows nothing of another organisation', async () => {
  const otherFixture = await addQualityFixture(app, 'elsewhere');
  expect((await data(await signIn(app, otherFixture.userId))).totals.decisions).toBe(0);
});
