import type { UsageReading, UseCounts } from '../../kernel';
import { CountReader, isRecord, pick, splitTotals, absentOrInvalid } from '../usage';

/** Adds the searches that grounded a response, which are outside its usage object. */
export function findGeminiUsage(body: unknown): unknown {
  const usage = pick(body, 'usageMetadata');
  const candidates = pick(body, 'candidates');
  if (!isRecord(usage) || !Array.isArray(candidates)) return usage;
  const grounding = candidates.map((one: unknown) => pick(one, 'groundingMetadata')).filter(isRecord);
  return grounding.length === 0 ? usage : { ...usage, grounding };
}

/** Both units in which grounding is sold; the price decides which is charged. */
function groundingUses(grounding: unknown): UseCounts | null {
  if (!Array.isArray(grounding)) return null;
  const queries = new Set(grounding.flatMap((one: unknown) => pick(one, 'webSearchQueries') ?? []));
  const chunks = grounding.flatMap((one: unknown) => pick(one, 'groundingChunks') ?? []);
  const usesMaps = chunks.some((chunk: unknown) => isRecord(chunk) && isRecord(chunk.maps));
  if (queries.size === 0 && !usesMaps) return null;
  return {
    ...(queries.size > 0 ? { grounded_prompt: 1, grounding_query: queries.size } : {}),
    ...(usesMaps ? { maps_grounding: 1 } : {}),
  };
}

/**
 * Thoughts and tool prompts are counted in addition to candidates and prompt; cached content is included in the prompt.
 */
export function normaliseGeminiUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return absentOrInvalid(raw);
  const counts = new CountReader();
  const prompt = counts.of(raw.promptTokenCount, 'promptTokenCount');
  const toolPrompt = counts.of(raw.toolUsePromptTokenCount, 'toolUsePromptTokenCount') ?? 0;
  const cached = counts.of(raw.cachedContentTokenCount, 'cachedContentTokenCount') ?? 0;
  const thoughts = counts.of(raw.thoughtsTokenCount, 'thoughtsTokenCount') ?? 0;
  // Absent if the model was stopped before any output.
  const candidates = counts.of(raw.candidatesTokenCount ?? 0, 'candidatesTokenCount');
  const cachedDetails = raw.cacheTokensDetails;
  const uncachedTokens = (modality: string): number =>
    Math.max(
      0,
      tokensOf(counts, modality, raw.promptTokensDetails, 'promptTokensDetails') -
        tokensOf(counts, modality, cachedDetails, 'cacheTokensDetails'),
    );
  const outputTokensOf = (modality: string): number =>
    tokensOf(counts, modality, raw.candidatesTokensDetails, 'candidatesTokensDetails');
  return splitTotals(
    {
      // Cached content is part of the prompt, which cannot be smaller.
      input: prompt === undefined ? undefined : Math.max(prompt, cached) + toolPrompt,
      output: candidates === undefined ? undefined : candidates + thoughts,
      total: counts.of(raw.totalTokenCount, 'totalTokenCount'),
      cacheRead: cached,
      cacheWrite: undefined,
      audioInput: uncachedTokens('AUDIO'),
      image: uncachedTokens('IMAGE'),
      reasoning: thoughts,
      audioOutput: outputTokensOf('AUDIO'),
      imageOutput: outputTokensOf('IMAGE'),
      uses: groundingUses(raw.grounding),
    },
    counts,
  );
}

function tokensOf(counts: CountReader, modality: string, details: unknown, name: string): number {
  if (!Array.isArray(details)) return 0;
  let sum = 0;
  for (const detail of details as readonly unknown[]) {
    if (isRecord(detail) && detail.modality === modality)
      sum += counts.of(detail.tokenCount, `${name}.${modality}`) ?? 0;
  }
  return sum;
}
