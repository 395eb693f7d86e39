import type { LaneView } from '../../catalogue';
import {
  ATTRIBUTE,
  type CallKind,
  type CallSeries,
  type ModelMetrics,
  type SpanAttributes,
} from '../../platform';
import type { GatewayOperation } from '../operations/operation';
import { OWN_ATTRIBUTE } from './own-attributes';

export interface LaneIdentity {
  readonly name: string;
  readonly shared: SpanAttributes;
  /** Null if no metrics are sent. */
  readonly series: CallSeries | null;
}

/**
 * The well-known values of `gen_ai.provider.name`, by the hosts of their interfaces:
 * https://github.com/open-telemetry/semantic-conventions-genai, docs/registry/attributes/gen-ai.md
 */
const providersByHost: readonly (readonly [host: RegExp, provider: string])[] = [
  [/(^|\.)openai\.azure\.com$/, 'azure.ai.openai'],
  [/\.(services|inference|models)\.ai\.azure\.com$/, 'azure.ai.inference'],
  [/(^|\.)openai\.com$/, 'openai'],
  [/(^|\.)anthropic\.com$/, 'anthropic'],
  [/(^|\.)amazonaws\.com$/, 'aws.bedrock'],
  [/^generativelanguage\.googleapis\.com$/, 'gcp.gemini'],
  [/(^|[.-])aiplatform\.googleapis\.com$/, 'gcp.vertex_ai'],
  [/(^|\.)cohere\.(com|ai)$/, 'cohere'],
  [/(^|\.)deepseek\.com$/, 'deepseek'],
  [/(^|\.)groq\.com$/, 'groq'],
  [/(^|\.)ml\.cloud\.ibm\.com$/, 'ibm.watsonx.ai'],
  [/(^|\.)mistral\.ai$/, 'mistral_ai'],
  [/(^|\.)moonshot\.(ai|cn)$/, 'moonshot_ai'],
  [/(^|\.)perplexity\.ai$/, 'perplexity'],
  [/(^|\.)x\.ai$/, 'x_ai'],
];

const providersByStyle: Readonly<Record<string, string>> = {
  'openai-style': 'openai',
  'messages-style': 'anthropic',
  gemini: 'gcp.gen_ai',
  bedrock: 'aws.bedrock',
  'cohere-rerank': 'cohere',
};

/** Services that others sell with an OpenAI-compatible API have their own profile. */
const providersByProfile: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  mistral: 'mistral_ai',
  groq: 'groq',
  deepseek: 'deepseek',
};

function providerOf({ provider: { style, settings } }: LaneView, host: string): string {
  const byHost = providersByHost.find(([pattern]) => pattern.test(host))?.[1];
  const { profile } = settings;
  const byProfile = typeof profile === 'string' ? (providersByProfile[profile] ?? undefined) : undefined;
  // The style of an extension is its own name.
  return byHost ?? byProfile ?? providersByStyle[style] ?? style;
}

/** Well-known values of `gen_ai.operation.name`; other operations keep our name. */
function operationOf({ name }: GatewayOperation, { provider: { style } }: LaneView): string {
  if (name === 'completions') return 'text_completion';
  const isConversation = name === 'chat' || name === 'messages' || name === 'responses' || name === 'native';
  if (!isConversation) return name;
  return style === 'gemini' ? 'generate_content' : 'chat';
}

const kindOf = (operation: string): CallKind =>
  operation === 'embeddings'
    ? 'embeddings'
    : ['chat', 'generate_content', 'text_completion'].includes(operation)
      ? 'inference'
      : 'other';

const defaultPort = (protocol: string): number => (protocol === 'http:' ? 80 : 443);

export class LaneIdentities {
  private readonly identities = new WeakMap<LaneView, Map<string, LaneIdentity>>();

  constructor(private readonly metrics: ModelMetrics | null) {}

  get(lane: LaneView, operation: GatewayOperation): LaneIdentity {
    let laneIdentities = this.identities.get(lane);
    if (laneIdentities === undefined)
      this.identities.set(lane, (laneIdentities = new Map<string, LaneIdentity>()));
    let identity = laneIdentities.get(operation.name);
    if (identity === undefined) laneIdentities.set(operation.name, (identity = this.create(lane, operation)));
    return identity;
  }

  private create(lane: LaneView, requestOperation: GatewayOperation): LaneIdentity {
    const { hostname, port, protocol } = new URL(lane.provider.baseUrl);
    const operation = operationOf(requestOperation, lane);
    const labels = {
      [ATTRIBUTE.operation]: operation,
      [ATTRIBUTE.provider]: providerOf(lane, hostname),
      [ATTRIBUTE.requestModel]: lane.upstreamModel,
      [ATTRIBUTE.serverAddress]: hostname,
      [ATTRIBUTE.serverPort]: Number(port) || defaultPort(protocol),
    };
    return {
      name: `${operation} ${lane.upstreamModel}`,
      shared: {
        ...labels,
        [OWN_ATTRIBUTE.supplier]: lane.provider.name,
        [OWN_ATTRIBUTE.region]: lane.region,
        [OWN_ATTRIBUTE.lane]: lane.id,
      },
      series: this.metrics?.series(kindOf(operation), labels) ?? null,
    };
  }
}
