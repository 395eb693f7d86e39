import type { UsageReading, UseCounts } from '../../kernel';
import { CountReader, isRecord, pick, splitTotals, unreadable } from '../usage';

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
  const toolPrompt = counts.of(raw.toolUsePromptTokenCount, 'toolUsePromptTokenCount') ?? 0;
  const cached = counts.of(raw.cachedContentTokenCount, 'cachedContentTokenCount') ?? 0;
  const thoughts = counts.of(raw.thoughtsTokenCount, 'thoughtsTokenCount') ?? 0;
  // Left out when the model was stopped before it said anything.
  const candidates = counts.of(raw.candidatesTokenCount ?? 0, 'candidatesTokenCount');
  const cachedDetails = raw.cacheTokensDetails;
  const freshOf = (modality: string): number =>
    Math.max(
      0,
      tokensOf(counts, modality, raw.promptTokensDetails, 'promptTokensDetails') -
        tokensOf(counts, modality, cachedDetails, 'cacheTokensDetails'),
    );
  const madeOf = (modality: string): number =>
    tokensOf(counts, modality, raw.candidatesTokensDetails, 'candidatesTokensDetails');
  return splitTotals(
    {
      // Cached content is part of the prompt, which is no smaller.
      input: prompt === undefined ? undefined : Math.max(prompt, cached) + toolPrompt,
      output: candidates === undefined ? undefined : candidates + thoughts,
      total: counts.of(raw.totalTokenCount, 'totalTokenCount'),
      cacheRead: cached,
      cacheWrite: undefined,
      audioInput: freshOf('AUDIO'),
      image: freshOf('IMAGE'),
      reasoning: thoughts,
      audioOutput: madeOf('AUDIO'),
      imageOutput: madeOf('IMAGE'),
      uses: groundedBy(raw.grounding),
    },
    counts,
  );
}

/** Tokens of a modality among the details; those without a usable count are left out. */
function tokensOf(counts: CountReader, modality: string, details: unknown, name: string): number {
  if (!Array.isArray(details)) return 0;
  let sum = 0;
  for (const detail of details as readonly unknown[]) {
    if (isRecord(detail) && detail.modality === modality)
      sum += counts.of(detail.tokenCount, `${name}.${modality}`) ?? 0;
  }
  return sum;
}
