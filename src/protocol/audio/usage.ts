import { usageOf, type Usage, type UsageReading } from '../../kernel';
import { CountReader, isRecord, pick, splitTotals, absentOrInvalid } from '../usage';

/** Usage of a transcription; defaults to the duration of the recording next to the text. */
export function findTranscriptionUsage(body: unknown): unknown {
  const usage = pick(body, 'usage');
  if (usage !== undefined && usage !== null) return usage;
  const seconds = pick(body, 'duration');
  return typeof seconds === 'number' ? { type: 'duration', seconds } : undefined;
}

/** Usage can be by duration, tokens or both; the price decides which is charged. */
export function normaliseTranscriptionUsage(raw: unknown): UsageReading {
  if (!isRecord(raw)) return absentOrInvalid(raw);
  const counts = new CountReader();
  const details = counts.detailsIn(raw.input_token_details, 'input_token_details');
  const prompt = counts.detailsIn(raw.prompt_tokens_details, 'prompt_tokens_details');
  return splitTotals(
    {
      input: counts.of(raw.input_tokens, 'input_tokens') ?? counts.of(raw.prompt_tokens, 'prompt_tokens'),
      output:
        counts.of(raw.output_tokens, 'output_tokens') ??
        counts.of(raw.completion_tokens, 'completion_tokens'),
      total: counts.of(raw.total_tokens, 'total_tokens'),
      cacheRead: undefined,
      cacheWrite: undefined,
      audioInput:
        counts.of(details.audio_tokens, 'input_token_details.audio_tokens') ??
        counts.of(prompt.audio_tokens, 'prompt_tokens_details.audio_tokens'),
      image: undefined,
      reasoning: undefined,
      audioOutput: undefined,
      audioMilliseconds:
        counts.milliseconds(raw.seconds, 'seconds') ??
        counts.milliseconds(raw.prompt_audio_seconds, 'prompt_audio_seconds'),
    },
    counts,
  );
}

/** The characters of the request are known exactly, so the usage is no estimate. */
export function speechUsageByCharacters(text: string): Usage {
  return usageOf({ inputTokens: Array.from(text).length });
}
