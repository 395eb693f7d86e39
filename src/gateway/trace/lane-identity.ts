import type { LaneView } from '../../catalogue';
import { ATTRIBUTE, type CallKind, type CallSeries, type ModelMetrics, type Told } from '../../platform';
import type { Operation } from '../operations/operation';
import { OWN } from './own-names';

/** How a lane and an operation are called in the conventions. */
export interface LaneIdentity {
  /** The name of its spans, and what all of them say. */
  readonly name: string;
  readonly shared: Told;
  /** Null where no metrics are sent. */
  readonly series: CallSeries | null;
}

/**
 * The well-known values of `gen_ai.provider.name`, by the hosts of their interfaces:
 * https://github.com/open-telemetry/semantic-conventions-genai, docs/registry/attributes/gen-ai.md
 */
const hosts: readonly (readonly [host: RegExp, provider: string])[] = [
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

/** What a style speaks, where the host says nothing. */
const styles: Readonly<Record<string, string>> = {
  'openai-style': 'openai',
  'messages-style': 'anthropic',
  gemini: 'gcp.gen_ai',
  bedrock: 'aws.bedrock',
  'cohere-rerank': 'cohere',
};

/** Services that others sell under the interface of OpenAI have a profile of their own. */
const profiles: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  mistral: 'mistral_ai',
  groq: 'groq',
  deepseek: 'deepseek',
};

function providerOf({ provider: { style, settings } }: LaneView, host: string): string {
  const known = hosts.find(([pattern]) => pattern.test(host))?.[1];
  const { profile } = settings;
  const ofProfile = typeof profile === 'string' ? (profiles[profile] ?? undefined) : undefined;
  // A style of an extension is a name of its own.
  return known ?? ofProfile ?? styles[style] ?? style;
}

/** The well-known values of `gen_ai.operation.name`; what has none keeps our name. */
function operationOf({ name }: Operation, { provider: { style } }: LaneView): string {
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

const usualPort = (protocol: string): number => (protocol === 'http:' ? 80 : 443);

/** Identities by lane and operation. A changed lane is a new view. */
export class LaneIdentities {
  private readonly known = new WeakMap<LaneView, Map<string, LaneIdentity>>();

  constructor(private readonly metrics: ModelMetrics | null) {}

  of(lane: LaneView, operation: Operation): LaneIdentity {
    let ofLane = this.known.get(lane);
    if (ofLane === undefined) this.known.set(lane, (ofLane = new Map<string, LaneIdentity>()));
    let identity = ofLane.get(operation.name);
    if (identity === undefined) ofLane.set(operation.name, (identity = this.read(lane, operation)));
    return identity;
  }

  private read(lane: LaneView, asked: Operation): LaneIdentity {
    const { hostname, port, protocol } = new URL(lane.provider.baseUrl);
    const operation = operationOf(asked, lane);
    const labels = {
      [ATTRIBUTE.operation]: operation,
      [ATTRIBUTE.provider]: providerOf(lane, hostname),
      [ATTRIBUTE.requestModel]: lane.upstreamModel,
      [ATTRIBUTE.serverAddress]: hostname,
      [ATTRIBUTE.serverPort]: Number(port) || usualPort(protocol),
    };
    return {
      name: `${operation} ${lane.upstreamModel}`,
      shared: {
        ...labels,
        [OWN.supplier]: lane.provider.name,
        [OWN.region]: lane.region,
        [OWN.lane]: lane.id,
      },
      series: this.metrics?.series(kindOf(operation), labels) ?? null,
    };
  }
}
