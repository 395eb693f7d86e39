/**
 * The names of the GenAI conventions (status: Development), as two lists.
 *
 * Latest: https://github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai/client-inference.md,
 * client-embeddings.md and gen-ai-token-metrics.md, as of November 2026 (commits 024a4f94, 88eccb15, 066d4a7f).
 * 1.41: https://github.com/open-telemetry/semantic-conventions/tree/v1.41.0/docs/gen-ai, the last there.
 * What changed between them: docs/gen-ai/non-normative/migration.md of the former.
 */
export interface Conventions {
  readonly metrics: ModelMetricNames;
  /** Span attribute for tokens written to a supplier's cache. */
  readonly cacheWriteTokens: string;
  /** Whether tokens of images and audio have attributes of their own. */
  readonly hasModalities: boolean;
  /** Whether a message of a response states why it ended. */
  readonly hasFinishReason: boolean;
}

/** Null if there is no such metric. */
interface ModelMetricNames {
  readonly duration: string;
  readonly firstChunk: string;
  readonly nextChunk: string;
  /** Single histogram of both directions, distinguished by `gen_ai.token.type`. */
  readonly tokens: string | null;
  readonly inputTokens: string | null;
  readonly outputTokens: string | null;
  readonly embeddingsDuration: string;
  readonly embeddingsTokens: string | null;
  /** Calls that are neither inference nor embeddings, such as reranking and speech. */
  readonly otherDuration: string;
  readonly used: UsedTokenNames | null;
}

interface UsedTokenNames {
  readonly input: string;
  readonly output: string;
  readonly cacheRead: string;
  readonly cacheWrite: string;
  readonly reasoning: string;
}

const inference = 'gen_ai.client.inference';

const latest: Conventions = {
  metrics: {
    duration: `${inference}.duration`,
    firstChunk: `${inference}.time_to_first_chunk`,
    nextChunk: `${inference}.time_per_output_chunk`,
    tokens: null,
    inputTokens: `${inference}.operation.input_tokens`,
    outputTokens: `${inference}.operation.output_tokens`,
    embeddingsDuration: 'gen_ai.client.embeddings.duration',
    embeddingsTokens: 'gen_ai.client.embeddings.operation.input_tokens',
    otherDuration: 'gen_ai.client.operation.duration',
    used: {
      input: `${inference}.usage.input_tokens`,
      output: `${inference}.usage.output_tokens`,
      cacheRead: `${inference}.usage.cache_read.input_tokens`,
      cacheWrite: `${inference}.usage.cache_write.input_tokens`,
      reasoning: `${inference}.usage.reasoning.output_tokens`,
    },
  },
  cacheWriteTokens: 'gen_ai.usage.cache_write.input_tokens',
  hasModalities: true,
  hasFinishReason: false,
};

const operation = 'gen_ai.client.operation';

const version141: Conventions = {
  metrics: {
    duration: `${operation}.duration`,
    firstChunk: `${operation}.time_to_first_chunk`,
    nextChunk: `${operation}.time_per_output_chunk`,
    tokens: 'gen_ai.client.token.usage',
    inputTokens: null,
    outputTokens: null,
    embeddingsDuration: `${operation}.duration`,
    embeddingsTokens: null,
    otherDuration: `${operation}.duration`,
    used: null,
  },
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  hasModalities: false,
  hasFinishReason: true,
};

/** Value of `OTEL_SEMCONV_STABILITY_OPT_IN` that requests the latest names. */
const OPTED_IN = 'gen_ai_latest_experimental';

export function conventionsOf(settings: {
  readonly telemetryConventions: 'latest' | '1.41';
  readonly otelStability: string;
}): Conventions {
  const isOptedIn = settings.otelStability.split(',').some((value) => value.trim() === OPTED_IN);
  return settings.telemetryConventions === 'latest' || isOptedIn ? latest : version141;
}

/** Attributes of both versions, and the stable ones of HTTP and errors (semantic-conventions 1.44). */
export const ATTRIBUTE = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  responseId: 'gen_ai.response.id',
  stream: 'gen_ai.request.stream',
  choices: 'gen_ai.request.choice.count',
  maxTokens: 'gen_ai.request.max_tokens',
  temperature: 'gen_ai.request.temperature',
  topP: 'gen_ai.request.top_p',
  topK: 'gen_ai.request.top_k',
  seed: 'gen_ai.request.seed',
  frequencyPenalty: 'gen_ai.request.frequency_penalty',
  presencePenalty: 'gen_ai.request.presence_penalty',
  reasoningLevel: 'gen_ai.request.reasoning.level',
  embeddingsDimensions: 'gen_ai.embeddings.dimension.count',
  finishReasons: 'gen_ai.response.finish_reasons',
  firstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  audioInputTokens: 'gen_ai.usage.audio.input_tokens',
  audioOutputTokens: 'gen_ai.usage.audio.output_tokens',
  imageInputTokens: 'gen_ai.usage.image.input_tokens',
  imageOutputTokens: 'gen_ai.usage.image.output_tokens',
  tokenType: 'gen_ai.token.type',
  modality: 'gen_ai.token.modality',
  instructions: 'gen_ai.system_instructions',
  tools: 'gen_ai.tool.definitions',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  errorType: 'error.type',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  method: 'http.request.method',
  route: 'http.route',
  path: 'url.path',
  scheme: 'url.scheme',
  status: 'http.response.status_code',
} as const;

/** Histogram bounds for seconds and tokens, as the conventions advise. */
export const SECONDS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
] as const;
export const TOKENS = [
  1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
] as const;
