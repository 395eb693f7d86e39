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
import type { UnderstoodBody } from './agreement';
import { type ComparedRoute, routes } from './make-body';

export const UPSTREAM = 'sim-upstream';
const OUTPUT_BOUND = 4_096;

/** A kind of supplier that serves a route. */
export interface SupplierRoute {
  readonly route: ComparedRoute;
  readonly lane: LaneView;
  /** The body is passed through except for the edits. */
  readonly isPassedThrough: boolean;
  readonly validates: boolean;
}

export interface ForwardedBody {
  readonly text: string;
  readonly understood: UnderstoodBody;
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

export const supplierRoutes: readonly SupplierRoute[] = suppliers.flatMap(([style, settings], id) => {
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
    return wire === undefined
      ? []
      : [{ route, lane, validates, isPassedThrough: isPassThrough(operations[route], wire) }];
  });
});

/** Runs a body through all stages up to the bytes for the supplier. Throws refusals. */
export function prepareFor(
  { route, lane, isPassedThrough: passes }: SupplierRoute,
  bytes: Buffer,
  isCapped: boolean,
): ForwardedBody | null {
  const operation = operations[route];
  const text = readJsonObject(bytes) as ParsedJsonObject;
  const inbound = { ...text, headers: {}, form: null } as unknown as Inbound;
  const call = describeCall(inbound, operation);
  const { provider } = lane;
  const style = styles.of(provider);
  const cap = isCapped && call.maxOutputTokens === null && route !== 'native' ? 77 : null;
  const heldTokens = {
    cappedOutput: cap,
    outputBound: call.maxOutputTokens ?? cap ?? OUTPUT_BOUND,
    forwardsUnknown: false,
  } as HeldCall;
  const { body, wire } = createOutbound({ call, model, held: heldTokens }, lane, styles) as OutboundRequest;
  const preparedRequest = style.prepare({
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
    text: preparedRequest.body.toString(),
    understood: {
      model: isInPath ? null : UPSTREAM,
      stream: call.stream,
      choices: call.choices,
      limit: call.maxOutputTokens ?? cap ?? (passes ? null : OUTPUT_BOUND),
    },
  };
}
