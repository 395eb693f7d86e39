import type { UsageReading } from '../../kernel';
import { CountReader, invalid, isRecord, okUnlessEmpty, pick, unreadable } from '../usage';

export function findGeminiUsage(body: unknown): unknown {
  return pick(body, 'usageMetadata');
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
  const audioIn = audioOf(raw.promptTokensDetails, raw.cacheTokensDetails);
  const audioOut = audioOf(raw.candidatesTokensDetails, undefined);
  if (audioIn === undefined || audioOut === undefined) return invalid('a modality has no count');
  const audioInputTokens = Math.min(audioIn, fresh);
  const audioOutputTokens = Math.min(audioOut, candidates);
  return okUnlessEmpty({
    inputTokens: fresh - audioInputTokens + toolPrompt,
    cacheReadTokens: cached,
    outputTokens: candidates - audioOutputTokens,
    reasoningTokens: thoughts,
    audioInputTokens,
    audioOutputTokens,
  });
}

/** Audio among the details, without the audio that came from the cache. */
function audioOf(details: unknown, cachedDetails: unknown): number | undefined {
  const all = sumAudio(details);
  const cached = sumAudio(cachedDetails);
  return all === undefined || cached === undefined ? undefined : Math.max(0, all - cached);
}

function sumAudio(details: unknown): number | undefined {
  if (!Array.isArray(details)) return 0;
  let sum = 0;
  for (const detail of details as readonly unknown[]) {
    if (!isRecord(detail) || detail.modality !== 'AUDIO') continue;
    const counts = new CountReader();
    sum += counts.of(detail.tokenCount, 'tokenCount') ?? 0;
    if (counts.fault !== undefined) return undefined;
  }
  return sum;
}
