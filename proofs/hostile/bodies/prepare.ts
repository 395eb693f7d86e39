import type { Credential, LaneView, ModelView, ProviderView } from '../../../src/catalogue';
import { describeCall } from '#inside/gateway/intake/describe';
import type { HeldCall } from '../../../src/gateway/admission/hold';
import type { Inbound } from '../../../src/gateway/intake/inbound';
import { type OutboundRequest, createOutbound } from '#inside/gateway/attempt/outbound';
import { isPassThrough, operations } from '#inside/gateway/operations/operation';
import { type ParsedJsonObject, readJsonObject } from '#product/kernel';
import { SupplierStyles } from '#product/routing';
import { profiles } from '#inside/routing/suppliers/openai-style/profiles';
import { UNKNOWN_FACTS } from '#product/vendors';
import type { Understood } from './agreement';
import { type Route, routes } from './make-body';

export const UPSTREAM = 'sim-upstream';
const OUTPUT_BOUND = 4_096;

/** One kind of supplier that serves a route. */
export interface Way {
  readonly route: Route;
  readonly lane: LaneView;
  /** It gets the body as it came, but for the edits. */
  readonly passes: boolean;
  readonly validates: boolean;
}

export interface Prepared {
  readonly text: string;
  readonly understood: Understood;
}

const styles = new SupplierStyles();
const model = { capabilities: new Set() } as unknown as ModelView;

const credentials: Readonly<Record<string, Credential>> = {
  bearer: { kind: 'bearer', id: 'c', token: 't' },
  header: { kind: 'header', id: 'c', value: 't' },
  sigv4: { kind: 'sigv4', id: 'c', accessKeyId: 'a', secretAccessKey: 's' },
  'oauth-pool': { kind: 'oauth-pool', id: 'c', accessToken: 't' },
};

const suppliers: readonly (readonly [style: string, settings: ProviderView['settings']])[] = [
  ...Object.keys(profiles).map((profile) => ['openai-style', { profile }] as const),
  ['openai-style', { profile: 'generic', extra_fields: ['tomorrow'] }],
  ['messages-style', {}],
  ['messages-style', { profile: 'anthropic' }],
  ['gemini', {}],
  ['bedrock', {}],
  ['cohere-rerank', {}],
  ['native-oauth', {}],
  ['sandbox', {}],
];

export const ways: readonly Way[] = suppliers.flatMap(([style, settings], id) => {
  const provider: ProviderView = {
    id,
    name: `${style}-${id}`,
    style,
    baseUrl: 'https://supplier.example',
    regions: [],
    visible: true,
    settings,
    timeouts: {},
    breaker: {},
  };
  const route = { upstreamModel: UPSTREAM, region: 'local', priority: 0, weight: 1, retries: 0 };
  const lane = { id, provider, ...route, facts: UNKNOWN_FACTS, wire: null };
  const { validates } = styles.of(provider).fields(provider);
  return routes.flatMap((route) => {
    const wire = styles.dialectFor(provider, route);
    return wire === undefined ? [] : [{ route, lane, validates, passes: isPassThrough(operations[route], wire) }];
  });
});

/** The way of a body through the stages that read and write it, up to the bytes for the supplier. Refusals are thrown. */
export function prepareFor({ route, lane, passes }: Way, bytes: Buffer, isCapped: boolean): Prepared | null {
  const operation = operations[route];
  const text = readJsonObject(bytes) as ParsedJsonObject;
  const inbound = { ...text, headers: {}, form: null } as unknown as Inbound;
  const call = describeCall(inbound, operation);
  const { provider } = lane;
  const style = styles.of(provider);
  const cap = isCapped && call.maxOutputTokens === null && route !== 'native' ? 77 : null;
  const held = {
    cappedOutput: cap,
    outputBound: call.maxOutputTokens ?? cap ?? OUTPUT_BOUND,
    forwardsUnknown: false,
  } as HeldCall;
  const { body, wire } = createOutbound({ call, model, held }, lane, styles) as OutboundRequest;
  const prepared = style.prepare({
    operation: route,
    wire,
    lane,
    credential: credentials[style.credential] ?? null,
    body,
    stream: call.stream,
    maxOutputTokens: cap ?? undefined,
    headers: {},
    sessionKey: null,
    now: () => new Date(0),
  });
  const isInPath = provider.style === 'gemini' || provider.style === 'bedrock';
  return {
    text: prepared.body.toString(),
    understood: {
      model: isInPath ? null : UPSTREAM,
      stream: call.stream,
      choices: call.choices,
      limit: call.maxOutputTokens ?? cap ?? (passes ? null : OUTPUT_BOUND),
    },
  };
}
