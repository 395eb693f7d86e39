import { isObject, type JsonObject } from './json';

/** Disjoint counts; each dialect formats them in its own way. */
export interface Usage {
  readonly uncachedInput: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Text and tool calls, without reasoning. */
  readonly output: number;
  readonly reasoning: number;
}

export const usageVariants = ['negative', 'nan', 'absent', 'absurd', 'fractional', 'double'] as const;
/** Ways in which a faulty supplier misreports usage; `double` sends the correct usage twice. */
export type UsageVariant = (typeof usageVariants)[number];

export function chatUsage(usage: Usage, variant?: UsageVariant): JsonObject | undefined {
  const prompt = usage.uncachedInput + usage.cacheRead + usage.cacheWrite;
  const completion = usage.output + usage.reasoning;
  return distortUsage(
    {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: {
        cached_tokens: usage.cacheRead,
        audio_tokens: 0,
        ...(usage.cacheWrite > 0 ? { cache_write_tokens: usage.cacheWrite } : {}),
      },
      completion_tokens_details: {
        reasoning_tokens: usage.reasoning,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
    variant,
  );
}

export function responsesUsage(usage: Usage, variant?: UsageVariant): JsonObject | undefined {
  const input = usage.uncachedInput + usage.cacheRead + usage.cacheWrite;
  const output = usage.output + usage.reasoning;
  return distortUsage(
    {
      input_tokens: input,
      input_tokens_details: {
        cached_tokens: usage.cacheRead,
        ...(usage.cacheWrite > 0 ? { cache_write_tokens: usage.cacheWrite } : {}),
      },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: usage.reasoning },
      total_tokens: input + output,
    },
    variant,
  );
}

export function messagesUsage(usage: Usage, variant?: UsageVariant): JsonObject | undefined {
  return distortUsage(
    {
      input_tokens: usage.uncachedInput,
      cache_creation_input_tokens: usage.cacheWrite,
      cache_read_input_tokens: usage.cacheRead,
      cache_creation: { ephemeral_5m_input_tokens: usage.cacheWrite, ephemeral_1h_input_tokens: 0 },
      output_tokens: usage.output + usage.reasoning,
      service_tier: 'standard',
    },
    variant,
  );
}

/** Usage of routes without output: embeddings, moderation. */
export function inputUsage(promptTokens: number, variant?: UsageVariant): JsonObject | undefined {
  return distortUsage({ prompt_tokens: promptTokens, total_tokens: promptTokens }, variant);
}

export function distortUsage(usage: JsonObject, variant: UsageVariant | undefined): JsonObject | undefined {
  switch (variant) {
    case 'absent':
      return undefined;
    case 'negative':
      return mapNumbers(usage, (count) => -Math.max(1, count));
    case 'nan':
      return mapNumbers(usage, () => 'NaN');
    case 'absurd':
      return mapNumbers(usage, () => 9e17);
    case 'fractional':
      return mapNumbers(usage, (count) => count + 0.5);
    case 'double':
    case undefined:
      return usage;
  }
}

function mapNumbers(value: JsonObject, change: (count: number) => unknown): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => {
      if (typeof entry === 'number') return [name, change(entry)];
      return [name, isObject(entry) ? mapNumbers(entry, change) : entry];
    }),
  );
}
