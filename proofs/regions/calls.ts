import type { ModelKind } from '../../src/catalogue';
import type { SeededRandom } from '../../test/system/seeded-random';
import {
  intersection,
  type RegionalName,
  type Region,
  regions,
  type RegionWorld,
  type RegionKey,
} from './world';

/** A call and the regions allowed by the rule alone: key ∩ organisation ∩ call ∩ lanes of the model. */
export interface RegionCall {
  readonly surface: keyof typeof bodies;
  readonly key: RegionKey;
  readonly named: RegionalName;
  readonly region: string | null;
  readonly stream: boolean;
  readonly session: string;
  readonly permitted: ReadonlySet<Region>;
}

export interface RegionOutcome {
  readonly call: RegionCall;
  readonly status: number;
  readonly code: string | null;
  /** Region named by the response. */
  readonly region: string | null;
  readonly failover: boolean;
}

const DEADLINE_MS = 30_000;
const message = [{ role: 'user', content: 'Hello [[tokens=24]]' }];

const bodies = {
  chat: { path: '/v1/chat/completions', fields: { messages: message, max_tokens: 100 } },
  messages: { path: '/v1/messages', fields: { messages: message, max_tokens: 100 } },
  responses: { path: '/v1/responses', fields: { input: message } },
  embeddings: { path: '/v1/embeddings', fields: { input: 'Hello' } },
  rerank: { path: '/v1/rerank', fields: { query: 'Hello', documents: ['Good day', 'Good night'] } },
  speech: { path: '/v1/audio/speech', fields: { input: 'Hello', voice: 'alloy' } },
} as const;
const surfaceOf: Partial<Readonly<Record<ModelKind, readonly (keyof typeof bodies)[]>>> = {
  chat: ['chat', 'messages', 'responses'],
  embedding: ['embeddings'],
  rerank: ['rerank'],
  speech: ['speech'],
};
const sessions = Array.from({ length: 12 }, (_, index) => `session-${index}`);
const MAX_UNMET_SHARE = 0.2;

/** A random call that can be answered only within the given regions, if at all. */
export function planCall(world: RegionWorld, within: ReadonlySet<Region>, chance: SeededRandom): RegionCall {
  const canBeUnmet = within.size === 0 || chance.flip(MAX_UNMET_SHARE);
  for (;;) {
    const call = drawCall(world, chance);
    const isWithin = [...call.permitted].every((region) => within.has(region));
    if (isWithin && (canBeUnmet || call.permitted.size > 0)) return call;
  }
}

function drawCall({ names, keys }: RegionWorld, chance: SeededRandom): RegionCall {
  const named = chance.pick(names);
  const key = chance.pick(keys);
  const region = chance.flip(0.6) ? null : chance.pick([...regions, 'mars']);
  const requestedRegions =
    region === null ? key.allowed : new Set([...key.allowed].filter((allowed) => allowed === region));
  const surface = chance.pick(surfaceOf[named.kind] ?? []);
  return {
    surface,
    key,
    named,
    region,
    stream: named.kind === 'chat' && chance.flip(),
    session: chance.pick(sessions),
    permitted: intersection(requestedRegions, named.homes),
  };
}

export async function makeCall(url: string, call: RegionCall): Promise<RegionOutcome> {
  const { path, fields } = bodies[call.surface];
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${call.key.text}`,
      'content-type': 'application/json',
      'x-session-id': call.session,
    },
    body: JSON.stringify({
      model: call.named.name,
      ...fields,
      ...(call.stream ? { stream: true } : {}),
      ...(call.region === null ? {} : { region: call.region }),
    }),
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  const text = await answer.text();
  return {
    call,
    status: answer.status,
    code:
      answer.status === 200 ? null : ((JSON.parse(text) as { error: { code: string } }).error.code ?? null),
    region: answer.headers.get('x-svc-region'),
    failover: answer.headers.get('x-svc-failover') === 'true',
  };
}

export const isUnmet = ({ permitted }: RegionCall): boolean => permitted.size === 0;

/** Tells whether the region obeys the rule, regardless of other failures. */
export function staysInRegion({ call, status, code, region }: RegionOutcome): boolean {
  if (call.region !== null && !regions.some((known) => known === call.region))
    return status === 400 && code === 'invalid_request';
  if (isUnmet(call)) return status === 503 && code === 'sovereign_route_unavailable';
  if (status !== 200) return code !== 'sovereign_route_unavailable';
  return [...call.permitted].some((permitted) => permitted === region);
}
