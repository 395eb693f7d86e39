import type { UsageReading, UseCounts } from '../../kernel';
import { CountReader, invalid, isRecord, okUnlessEmpty, pick, unreadable } from '../usage';

/** Searches that grounded an answer stand beside its usage. */
export function findGeminiUsage(body: unknown): unknown {
  const usage = pick(body, 'usageMetadata');
  const candidates = pick(body, 'candidates');
  if (!isRecord(usage) || !Array.isArray(candidates)) return usage;
  const grounding = candidates.map((one: unknown) => pick(one, 'groundingMetadata')).filter(isRecord);
  return grounding.length === 0 ? usage : { ...usage, grounding };
}

/** Both units in which grounding is sold: the price says which of them costs. */
function groundedBy(grounding: unknown): UseCounts | null {
  if (!Array.isArray(grounding)) return null;
  const queries = new Set(grounding.flatMap((one: unknown) => pick(one, 'webSearchQueries') ?? []));
  const chunks = grounding.flatMap((one: unknown) => pick(one, 'groundingChunks') ?? []);
  const isOfMaps = chunks.some((chunk: unknown) => isRecord(chunk) && isRecord(chunk.maps));
  if (queries.size === 0 && !isOfMaps) return null;
  return {
    ...(queries.size > 0 ? { grounded_prompt: 1, grounding_query: queries.size } : {}),
    ...(isOfMaps ? { maps_grounding: 1 } : {}),
  };
}

/** Thoughts and tool prompts are counted beside the candidates and the prompt; cached content inside it. */
export function normaliseGeminiUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return unreadable(raw);
  const counts = new CountReader();
  const prompt = counts.of(raw.promptTokenCount, 'promptTokenCount');
  const cached = counts.of(raw.cachedContentTokenCount, 'cachedContentTokenCount') ?? 0;
  const toolPrompt = counts.of(raw.toolUsePromptTokenCount, 'toolUsePromptTokenCount') ?? 0;
  // Left out when the model was stopped before it said anything.
  const candidates = counts.of(raw.candidatesTokenCount, 'candidatesTokenCount') ?? 0;
  const thoughts = counts.of(raw.thoughtsTokenCount, 'thoughtsTokenCount') ?? 0;
  if (counts.fault !== undefined) return invalid(counts.fault);
  if (prompt === undefined)
    return candidates + thoughts > 0 ? invalid('promptTokenCount is missing') : { kind: 'absent' };
  if (cached > prompt) return invalid('cachedContentTokenCount exceeds promptTokenCount');
  const fresh = prompt - cached;
  const audioIn = freshOf('AUDIO', raw.promptTokensDetails, raw.cacheTokensDetails);
  const imageIn = freshOf('IMAGE', raw.promptTokensDetails, raw.cacheTokensDetails);
  const audioOut = tokensOf('AUDIO', raw.candidatesTokensDetails);
  const imageOut = tokensOf('IMAGE', raw.candidatesTokensDetails);
  if (audioIn === undefined || audioOut === undefined || imageOut === undefined || imageIn === undefined)
    return invalid('a modality has no count');
  const audioInputTokens = Math.min(audioIn, fresh);
  const imageTokens = Math.min(imageIn, fresh - audioInputTokens);
  const audioOutputTokens = Math.min(audioOut, candidates);
  const imageOutputTokens = Math.min(imageOut, candidates - audioOutputTokens);
  return okUnlessEmpty({
    inputTokens: fresh - audioInputTokens - imageTokens + toolPrompt,
    cacheReadTokens: cached,
    outputTokens: candidates - audioOutputTokens - imageOutputTokens,
    reasoningTokens: thoughts,
    audioInputTokens,
    audioOutputTokens,
    imageTokens,
    imageOutputTokens,
    uses: groundedBy(raw.grounding),
  });
}

/** So many tokens of a modality stand among the details, without those that came from the cache. */
function freshOf(modality: string, details: unknown, cachedDetails: unknown): number | undefined {
  const all = tokensOf(modality, details);
  const cached = tokensOf(modality, cachedDetails);
  return all === undefined || cached === undefined ? undefined : Math.max(0, all - cached);
}

function tokensOf(modality: string, details: unknown): number | undefined {
  if (!Array.isArray(details)) return 0;
  let sum = 0;
  for (const detail of details as readonly unknown[]) {
    if (!isRecord(detail) || detail.modality !== modality) continue;
    const counts = new CountReader();
    sum += counts.of(detail.tokenCount, 'tokenCount') ?? 0;
    if (counts.fault !== undefined) return undefined;
  }
  return sum;
}
