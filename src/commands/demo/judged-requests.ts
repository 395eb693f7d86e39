import { insertRequestRecords, type RecordAttributes, serialiseRecord } from '../../audit';
import { costOf, DAY_MS, NO_USAGE, uuidv7 } from '../../kernel';
import type { Database, Tx } from '../../platform';
import {
  type AutoLearner,
  type AutoSalts,
  calibrate,
  type Candidate,
  decide,
  emptyState,
  estimate,
  type Example,
  type Explanation,
  extractFeatures,
  familiarity,
  type Features,
  learn,
  type RouterState,
  type WordSalt,
} from '../../autorouter';
import { judgeVersion, RUBRIC_VERSION } from '../../quality';
import { randomTask, scoreOf, type DemoTask } from './judged-tasks';
import type { DemoKey, DemoOrganisation } from './organisation';
import type { PricedModel } from './traffic';

const REQUESTS = 420;
const MAX_DAYS = 30;
const INCLUSION = 0.05;
const REFERENCE = 'sim-large';
/** The sandbox's default judge: its scores of later requests join these. */
const JUDGE = 'sim-large';
const MODELS = ['sim-small', 'sim-large', 'sim-reason', 'sim-8k'] as const;
const PRIOR = 0.5;

interface DemoReply {
  readonly model: PricedModel;
  readonly score: number;
  readonly tokensOut: number;
  readonly latencyMs: number;
  readonly costNano: bigint;
  readonly predicted: { readonly quality: number; readonly doubt: number } | null;
}

interface JudgedRequest {
  readonly requestId: string;
  readonly at: number;
  readonly key: DemoKey;
  readonly features: Features;
  readonly tokensIn: number;
  readonly answers: readonly DemoReply[];
  readonly served: DemoReply;
  readonly explanation: Explanation;
  readonly stateVersion: number;
}

/**
 * Creates recent requests for `auto`, each answered by all models of the sandbox and scored. The router chooses among
 * them as it learns; skills and scores are invented, and every row is marked as simulated.
 */
export async function createJudgedRequests(
  database: Database,
  { learner, salts }: { readonly learner: AutoLearner; readonly salts: AutoSalts },
  organisation: DemoOrganisation,
  models: ReadonlyMap<string, PricedModel>,
  { days, now }: { days: number; now: number },
): Promise<number> {
  const chat = MODELS.flatMap((name) => models.get(name) ?? []);
  if (chat.length < MODELS.length) return 0;
  const salt = await salts.of(organisation.id);
  const state = emptyState();
  const span = Math.min(days, MAX_DAYS) * DAY_MS;
  for (let index = 0; index < REQUESTS; index += 1) {
    const at = now - span + ((index + Math.random()) / REQUESTS) * span;
    const request = simulateRequest(Math.floor(at), organisation, chat, state, salt);
    const example = exampleOf(request);
    await database.transaction((tx) => write(tx, organisation.id, request), {
      withoutActivity: 'a demonstration is no change by a person',
    });
    await learner.learn(organisation.id, request.key.userId, example);
    learn(state, example);
    if (index % 100 === 99) state.calibration = calibrate(state);
  }
  await enableEngines(database, organisation.id);
  return REQUESTS;
}

function simulateRequest(
  at: number,
  { keys }: DemoOrganisation,
  models: readonly PricedModel[],
  state: RouterState,
  salt: WordSalt,
): JudgedRequest {
  const task = randomTask();
  const tokensIn = Math.ceil(task.prompt.length / 4) + 40;
  const features = extractFeatures(
    {
      text: task.prompt,
      tokens: tokensIn,
      turns: 1,
      tools: 0,
      hasToolResult: false,
      hasImage: false,
      hasDocument: false,
      jsonMode: false,
      systemLength: 0,
      stream: false,
    },
    salt,
  );
  const similarity = familiarity(state, features, at);
  const answers = models.map((model) =>
    simulateReply(model, task, tokensIn, () => {
      if (!state.models.has(model.name)) return null;
      return estimate(state, features, similarity, { model: model.name, prior: PRIOR });
    }),
  );
  const decision = decide(state, {
    features,
    candidates: models.map(candidateOf),
    policy: { algorithm: 'hkb-v1', mode: 'on', dial: 5, level: 'organisation', referenceModel: REFERENCE },
    now: at,
  });
  if (decision.kind === 'none') throw new Error('the demonstration has no model to choose');
  const served = answers.find(({ model }) => model.name === decision.chosen);
  const key = keys[Math.floor(Math.random() * keys.length)];
  if (served === undefined || key === undefined) throw new Error('the demonstration lacks models or keys');
  const { explanation } = decision;
  return {
    requestId: uuidv7(at),
    at,
    key,
    features,
    tokensIn,
    answers,
    served,
    explanation,
    stateVersion: state.version,
  };
}

function simulateReply(
  model: PricedModel,
  task: DemoTask,
  tokensIn: number,
  predict: () => DemoReply['predicted'],
): DemoReply {
  const tokensOut = Math.round(120 + 160 * Math.random());
  const usage = { ...NO_USAGE, inputTokens: tokensIn, outputTokens: tokensOut };
  return {
    model,
    score: scoreOf(model.name, task),
    tokensOut,
    latencyMs: Math.round((model.name === 'sim-small' ? 400 : 900) * (0.7 + 0.6 * Math.random())),
    costNano: costOf(usage, model.rates),
    predicted: predict(),
  };
}

const candidateOf = ({ name, rates }: PricedModel): Candidate => ({
  model: name,
  provider: 'sandbox',
  inputRate: Number(rates.input),
  outputRate: Number(rates.output),
});

const exampleOf = ({ requestId, at, features, tokensIn, answers }: JudgedRequest): Example => ({
  id: requestId,
  at,
  weight: 1,
  bucket: features.bucket,
  tokensIn,
  structure: features.structure,
  hashes: features.hashes,
  counts: features.counts,
  outcomes: answers.map(({ model, score, tokensOut, latencyMs }) => ({
    model: model.name,
    score: score / 100,
    tokensOut,
    latencyMs,
  })),
});

async function write(tx: Tx, organisationId: number, request: JudgedRequest): Promise<void> {
  const { requestId, at, key, features, answers, served } = request;
  await insertRequestRecords(tx, [serialiseRecord(requestId, at, attributesOf(organisationId, request))]);
  await tx.query(
    `INSERT INTO quality_sample (request_id, created_at, organisation_id, department_id, project_id, user_id, key_id,
       surface, requested_model, served_model, bucket, language, sampled_by, inclusion_prob, state)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 'messages', 'auto', $8, $9, 'en', 'rate', ${INCLUSION}, 'learned')`,
    [
      requestId,
      new Date(at),
      organisationId,
      key.departmentId,
      key.projectId,
      key.userId,
      key.id,
      served.model.name,
      features.bucket,
    ],
  );
  await tx.query(insertScores, [
    requestId,
    organisationId,
    new Date(at),
    JSON.stringify(answers.map((answer) => scoreRow(answer, request))),
    JUDGE,
    judgeVersion(JUDGE, [JUDGE]),
    RUBRIC_VERSION,
  ]);
  await tx.query(insertCalls, [requestId, organisationId, new Date(at), JSON.stringify(callsOf(request))]);
}

const insertScores = `
  INSERT INTO quality_score (request_id, organisation_id, created_at, model, role, supplier, region, tokens_in,
    tokens_out, cost_nano, latency_ms, finish_reason, answer_length, judge_model, judge_version, rubric_version, verdict,
    score_total, scores, pair_preference, order_swapped, self_family, is_simulated, judge_cost_nano, judge_latency_ms,
    judged_at, predicted_q, predicted_sd, state_version)
  SELECT $1, $2, $3, a.model, a.role, 'sandbox', 'local', a.tokens_in, a.tokens_out, a.cost_nano, a.latency_ms, 'stop',
         a.tokens_out * 4, $5, $6, $7, 'ok', a.total, a.scores, a.preference,
         a.preference IS NOT NULL, true, true, 90000, 600, $3, a.predicted_q, a.predicted_sd, a.state_version
    FROM jsonb_to_recordset($4::jsonb) AS a (model text, role text, tokens_in bigint, tokens_out bigint,
         cost_nano bigint, latency_ms integer, total float8, scores jsonb, preference text, predicted_q float8,
         predicted_sd float8, state_version bigint)`;

const insertCalls = `
  INSERT INTO evaluation_call (call_id, organisation_id, request_id, purpose, model, expected_nano, cost_nano, made_at)
  SELECT gen_random_uuid(), $2, $1, c.purpose, c.model, c.cost, c.cost, $3
    FROM jsonb_to_recordset($4::jsonb) AS c (purpose text, model text, cost bigint)`;

function scoreRow({ model, score, ...answer }: DemoReply, { served, tokensIn, stateVersion }: JudgedRequest) {
  const isServed = model.name === served.model.name;
  const lead = score - served.score;
  const tenths = Math.round(score) / 10;
  return {
    model: model.name,
    role: isServed ? 'served' : 'replay',
    tokens_in: tokensIn,
    tokens_out: answer.tokensOut,
    cost_nano: answer.costNano.toString(),
    latency_ms: answer.latencyMs,
    total: score,
    scores: { correctness: tenths, instruction: tenths, completeness: tenths, clarity: tenths, safety: 10 },
    preference: isServed ? null : Math.abs(lead) < 5 ? 'tie' : lead > 0 ? 'b' : 'a',
    predicted_q: answer.predicted?.quality ?? null,
    predicted_sd: answer.predicted?.doubt ?? null,
    state_version: stateVersion,
  };
}

const callsOf = ({ answers, served }: JudgedRequest) =>
  answers.flatMap(({ model, costNano }) => [
    { purpose: 'judge', model: 'sim-large', cost: '90000' },
    ...(model.name === served.model.name
      ? []
      : [{ purpose: 'replay', model: model.name, cost: costNano.toString() }]),
  ]);

function attributesOf(
  organisationId: number,
  { key, tokensIn, served, explanation }: JudgedRequest,
): RecordAttributes {
  return {
    ...NO_USAGE,
    inputTokens: tokensIn,
    outputTokens: served.tokensOut,
    keyId: key.id,
    userId: key.userId,
    organisationId,
    departmentId: key.departmentId,
    projectId: key.projectId,
    walletId: null,
    surface: 'messages',
    model: 'auto',
    servedModel: served.model.name,
    supplier: 'sandbox',
    region: 'local',
    priceId: served.model.priceId,
    usageSource: 'supplier',
    costNano: served.costNano,
    status: 200,
    code: null,
    stream: false,
    failover: false,
    attempts: null,
    latencyMs: served.latencyMs,
    firstTokenMs: null,
    finishReason: 'stop',
    sessionKey: null,
    dropped: null,
    endUser: null,
    tags: null,
    keyModelId: null,
    priceFactor: null,
    autoDecision: explanation,
    clientRequestId: null,
    surcharges: null,
    gates: null,
    excess: null,
  };
}

async function enableEngines(database: Database, organisationId: number): Promise<void> {
  const settings = [
    ['qualitative', { availability: 'everyone', sampling_percent: 20, sample_named: true }],
    ['autorouter', { mode: 'on', dial: 5, reference_model: REFERENCE }],
  ] as const;
  for (const [engine, values] of settings)
    await database.query(
      `INSERT INTO engine_setting (engine, organisation_id, settings) VALUES ($1, $2, $3::jsonb)
       ON CONFLICT ON CONSTRAINT engine_setting_once DO NOTHING`,
      [engine, organisationId, JSON.stringify(values)],
    );
}
