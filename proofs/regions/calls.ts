import type { ModelKind } from '../../src/catalogue';
import type { Chance } from '../../test/system/chance';
import { both, type Named, type Region, regions, type World, type WorldKey } from './world';

/** One call and, by the rule alone, where it may be answered: key ∩ organisation ∩ call ∩ where the model is. */
export interface RegionCall {
  readonly surface: keyof typeof bodies;
  readonly key: WorldKey;
  readonly named: Named;
  readonly region: string | null;
  readonly stream: boolean;
  readonly session: string;
  readonly permitted: ReadonlySet<Region>;
}

export interface Outcome {
  readonly call: RegionCall;
  readonly status: number;
  readonly code: string | null;
  /** The answer's own word says that this region answered. */
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
const sessions = Array.from({ length: 12 }, (_, place) => `session-${place}`);
const MOST_UNMET = 0.2;

/** A call that may be answered within the given regions at most. */
export function planCall(world: World, within: ReadonlySet<Region>, chance: Chance): RegionCall {
  const mayBeUnmet = within.size === 0 || chance.flip(MOST_UNMET);
  for (;;) {
    const call = drawCall(world, chance);
    const isWithin = [...call.permitted].every((region) => within.has(region));
    if (isWithin && (mayBeUnmet || call.permitted.size > 0)) return call;
  }
}

function drawCall({ names, keys }: World, chance: Chance): RegionCall {
  const named = chance.pick(names);
  const key = chance.pick(keys);
  const region = chance.flip(0.6) ? null : chance.pick([...regions, 'mars']);
  const asked =
    region === null ? key.allowed : new Set([...key.allowed].filter((allowed) => allowed === region));
  const surface = chance.pick(surfaceOf[named.kind] ?? []);
  return {
    surface,
    key,
    named,
    region,
    stream: named.kind === 'chat' && chance.flip(),
    session: chance.pick(sessions),
    permitted: both(asked, named.homes),
  };
}

export async function makeCall(url: string, call: RegionCall): Promise<Outcome> {
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

/** A call was answered as the rule says, independent of other failures. */
export function staysInRegion({ call, status, code, region }: Outcome): boolean {
  if (call.region !== null && !regions.some((known) => known === call.region))
    return status === 400 && code === 'invalid_request';
  if (isUnmet(call)) return status === 503 && code === 'sovereign_route_unavailable';
  if (status !== 200) return code !== 'sovereign_route_unavailable';
  return [...call.permitted].some((permitted) => permitted === region);
}
