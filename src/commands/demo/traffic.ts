import { randomUUID } from 'node:crypto';
import {
  type AttemptRecord,
  insertRequestRecords,
  type RecordAttributes,
  serialiseRecord,
} from '../../audit';
import { ratesOf, type StoredRates } from '../../catalogue';
import { costOf, DAY_MS, NO_USAGE, type PriceRates, type UsageCounts } from '../../kernel';
import type { Database, TableRow, Tx } from '../../platform';
import type { DemoKey, DemoOrganisation } from './organisation';

const BATCH_SIZE = 2_000;

export interface PricedModel {
  readonly name: string;
  readonly priceId: number;
  readonly rates: PriceRates;
}

const lanes = [
  { supplier: 'northcloud', region: 'eu-central' },
  { supplier: 'direct', region: 'us-east' },
] as const;

const styles = {
  agent: {
    models: ['sim-large', 'sim-reason', 'sim-small'],
    prompt: 9_000,
    answer: 700,
    cached: 0.6,
    stream: true,
  },
  batch: { models: ['sim-small', 'sim-large'], prompt: 2_500, answer: 350, cached: 0.1, stream: false },
  chat: { models: ['sim-small', 'sim-reason'], prompt: 1_200, answer: 260, cached: 0.3, stream: true },
  search: {
    models: ['sim-embed', 'sim-rerank', 'sim-small'],
    prompt: 600,
    answer: 180,
    cached: 0,
    stream: false,
  },
} as const;

const surfaces: Readonly<Record<string, string>> = { 'sim-embed': 'embeddings', 'sim-rerank': 'rerank' };

export async function createTraffic(
  database: Database,
  organisation: DemoOrganisation,
  models: ReadonlyMap<string, PricedModel>,
  span: { days: number; requests: number; now: number },
  progress: (count: number) => void,
): Promise<void> {
  const since = span.now - span.days * DAY_MS;
  await database.query('SELECT ensure_request_record_partitions($1::date, $2)', [
    new Date(since).toISOString(),
    Math.ceil(span.days / 28) + 1,
  ]);
  const instants = randomInstants(since, span.now, span.requests);
  for (let from = 0; from < instants.length; from += BATCH_SIZE) {
    const batch = instants.slice(from, from + BATCH_SIZE);
    const records = batch.map((at) => {
      const key = pickKey(organisation.keys);
      return serialiseRecord(randomUUID(), at, attributesOf(key, organisation.id, models));
    });
    await database.transaction(async (tx: Tx) => void (await insertRequestRecords(tx, records)));
    progress(from + batch.length);
  }
}

/** Models of the sandbox by name; empty if it has never run or is retired. */
export async function pricedModels(database: Database): Promise<ReadonlyMap<string, PricedModel>> {
  const models = await database.rows<TableRow<'model', 'name'> & { readonly priceId: number }>(
    `SELECT DISTINCT ON (m.id) m.name, p.id AS price_id FROM model m JOIN price p ON p.model_id = m.id
      WHERE m.name LIKE 'sim-%' AND p.lane_id IS NULL AND p.valid_from <= now()
      ORDER BY m.id, p.valid_from DESC, p.id DESC`,
  );
  const rows = await database.source.getRepository<StoredRates & { id: number }>('Price').find();
  const prices = new Map(rows.map((row) => [Number(row.id), ratesOf(row)]));
  return new Map(
    models.flatMap(({ name, priceId }) => {
      const rates = prices.get(priceId);
      return rates === undefined ? [] : [[name, { name, priceId, rates }]];
    }),
  );
}

/** More requests by day than by night, fewer at weekends, and slightly more every week. */
function randomInstants(since: number, until: number, count: number): number[] {
  const instants: number[] = [];
  while (instants.length < count) {
    const at = since + Math.random() * (until - since);
    const date = new Date(at);
    const hour = date.getUTCHours() + date.getUTCMinutes() / 60;
    const dayFactor = 0.12 + 0.88 * Math.max(0, Math.sin(((hour - 5) / 16) * Math.PI));
    const weekFactor = [0, 6].includes(date.getUTCDay()) ? 0.25 : 1;
    const growth = 0.5 + (0.5 * (at - since)) / (until - since);
    if (Math.random() < dayFactor * weekFactor * growth) instants.push(at);
  }
  return instants.sort((a, b) => a - b);
}

function attributesOf(
  key: DemoKey,
  organisationId: number,
  models: ReadonlyMap<string, PricedModel>,
): RecordAttributes {
  const style = styles[key.style];
  const model = models.get(pickSkewed(style.models));
  if (model === undefined) throw new Error(`the sandbox lacks ${key.style} models: start the service once`);
  const refusal = refusalOf();
  const usage = refusal === null ? usageOf(style, model.name) : NO_USAGE;
  const attempts = refusal === null ? attemptsOf(model.name) : [];
  const last = attempts.at(-1);
  const latencyMs =
    attempts.reduce((sum, { milliseconds }) => sum + milliseconds, 0) + Math.ceil(Math.random() * 9);
  const isStreamed = style.stream && surfaces[model.name] === undefined;
  return {
    ...usage,
    keyId: key.id,
    userId: key.userId,
    organisationId,
    departmentId: key.departmentId,
    projectId: key.projectId,
    walletId: null,
    surface: surfaces[model.name] ?? 'chat',
    model: model.name,
    servedModel: last === undefined ? null : model.name,
    supplier: last?.supplier ?? null,
    region: last?.region ?? null,
    priceId: last === undefined ? null : model.priceId,
    usageSource: last === undefined ? 'none' : 'supplier',
    costNano: last === undefined ? 0n : costOf(usage, model.rates),
    status: refusal?.status ?? 200,
    code: refusal?.code ?? null,
    stream: isStreamed,
    failover: attempts.length > 1,
    attempts: attempts.length > 1 ? attempts : null,
    latencyMs,
    firstTokenMs:
      isStreamed && last !== undefined ? Math.round(latencyMs * (0.15 + 0.2 * Math.random())) : null,
    finishReason: last === undefined ? null : 'stop',
    sessionKey: null,
    dropped: null,
    endUser: null,
    tags: null,
    keyModelId: null,
    priceFactor: null,
    autoDecision: null,
    clientRequestId: null,
    surcharges: null,
    gates: null,
    excess: null,
  };
}

function usageOf(style: (typeof styles)[DemoKey['style']], model: string): UsageCounts {
  const prompt = vary(style.prompt);
  if (model === 'sim-embed') return { ...NO_USAGE, inputTokens: prompt };
  if (model === 'sim-rerank') return { ...NO_USAGE, calls: 1 };
  const cacheReadTokens = Math.random() < style.cached ? Math.round(prompt * 0.7) : 0;
  const answer = vary(style.answer);
  const reasoningTokens = model === 'sim-reason' ? answer * 2 : 0;
  return {
    ...NO_USAGE,
    inputTokens: prompt - cacheReadTokens,
    cacheReadTokens,
    outputTokens: answer,
    reasoningTokens,
  };
}

/** Every fortieth request fails over, because the first supplier was limited or failed. */
function attemptsOf(model: string): AttemptRecord[] {
  const [first, second] = lanes;
  const attempt = { ...first, model, status: 200, milliseconds: vary(900), outcome: 'served' };
  if (Math.random() >= 1 / 40) return [attempt];
  const isLimited = Math.random() < 0.7;
  return [
    {
      ...first,
      model,
      status: isLimited ? 429 : 503,
      milliseconds: vary(180),
      outcome: isLimited ? 'limited' : 'failed',
    },
    { ...attempt, ...second },
  ];
}

const refusals = [
  { status: 429, code: 'rate_limit_exceeded' },
  { status: 402, code: 'budget_exceeded' },
  { status: 400, code: 'invalid_request' },
] as const;

const refusalOf = (): (typeof refusals)[number] | null =>
  Math.random() < 0.015 ? pickSkewed(refusals) : null;

const vary = (typical: number): number =>
  Math.max(
    1,
    Math.round(typical * Math.exp(0.6 * (Math.random() + Math.random() + Math.random() - 1.5) * 2)),
  );

function pickSkewed<T>(list: readonly T[]): T {
  const item = list[Math.floor(Math.random() ** 1.8 * list.length)];
  if (item === undefined) throw new Error('nothing to choose from');
  return item;
}

function pickKey(keys: readonly DemoKey[]): DemoKey {
  let remaining = Math.random() * keys.reduce((sum, { weight }) => sum + weight, 0);
  for (const key of keys) {
    remaining -= key.weight;
    if (remaining < 0) return key;
  }
  throw new Error('the organisation has no keys');
}
