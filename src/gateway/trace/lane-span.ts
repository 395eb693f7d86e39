import { type Fault, type JsonFields, monotonicMs, type Usage } from '../../kernel';
import { ATTRIBUTE, type Conventions, type OpenSpan } from '../../platform';
import type { LaneIdentity } from './lane-identity';

export interface LaneRequestAttributes {
  readonly stream: boolean;
  readonly choices: number;
  readonly maxOutputTokens: number | null;
  readonly effort: string | null;
  readonly body: JsonFields;
  readonly hasMedia: boolean;
}

export interface LaneOutcome {
  readonly status: number | null;
  /** Null if the response is complete. */
  readonly problem: Fault | null;
  /** Null if there was no response. */
  readonly usage: Usage | null;
  readonly finishReason: string | null;
  /** True if the lane was not called after all, so that no call is counted. */
  readonly isUnasked?: boolean;
}

const MAX_NAME_LENGTH = 256;

export class LaneSpan {
  readonly startedMs = monotonicMs();
  private lastMs: number | null = null;
  private firstMs: number | null = null;
  private hasEnded = false;
  private isNamed = false;
  /** End time of a span that waits for the response content. */
  private heldEndMs: number | null = null;

  constructor(
    readonly identity: LaneIdentity,
    private readonly attributes: LaneRequestAttributes,
    /** Null if this request is not traced. */
    readonly span: OpenSpan | null,
    private readonly conventions: Conventions,
    private readonly isHeld: boolean,
  ) {
    if (span !== null) addRequest(span, attributes);
  }

  countChunk(): void {
    const now = monotonicMs();
    const { series } = this.identity;
    if (this.lastMs === null) {
      this.firstMs = now - this.startedMs;
      series?.recordFirstChunk(this.firstMs);
    } else series?.recordNextChunk(now - this.lastMs);
    this.lastMs = now;
  }

  /** Records the supplier's names of the model and the response; returns true once a model is known. */
  recordNames(model: unknown, id: unknown): boolean {
    const { span, isNamed } = this;
    if (span === null || isNamed) return true;
    if (typeof model !== 'string' || model === '') return false;
    this.isNamed = true;
    span.set(ATTRIBUTE.responseModel, model.slice(0, MAX_NAME_LENGTH));
    if (typeof id === 'string' && id !== '') span.set(ATTRIBUTE.responseId, id.slice(0, MAX_NAME_LENGTH));
    return true;
  }

  /** Ends the attempt; later calls have no effect. */
  end({ status, problem, usage, finishReason, isUnasked }: LaneOutcome): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    const now = monotonicMs();
    const { identity, attributes: asked, span } = this;
    // The conventions ask for reported usage; estimates are on the request's span only.
    const reportedUsage = usage === null || usage.source === 'estimated' ? null : usage;
    if (isUnasked !== true)
      identity.series?.recordEnd(
        now - this.startedMs,
        problem?.outcome ?? '',
        reportedUsage && { usage: reportedUsage, isMixed: asked.hasMedia },
      );
    if (span === null) return;
    if (status !== null) span.set(ATTRIBUTE.status, status);
    if (this.firstMs !== null) span.set(ATTRIBUTE.firstChunk, this.firstMs / 1_000);
    if (finishReason !== null) span.set(ATTRIBUTE.finishReasons, [finishReason]);
    if (reportedUsage !== null) addUsage(span, reportedUsage, this.conventions);
    if (problem !== null) {
      span.set(ATTRIBUTE.errorType, problem.outcome);
      span.markFailed();
    }
    if (this.isHeld) this.heldEndMs = now;
    else span.end(now);
  }

  release(): void {
    if (this.heldEndMs !== null) this.span?.end(this.heldEndMs);
  }
}

function addRequest(span: OpenSpan, attributes: LaneRequestAttributes): void {
  const { body } = attributes;
  if (attributes.stream) span.set(ATTRIBUTE.stream, true);
  if (attributes.choices !== 1) span.set(ATTRIBUTE.choices, attributes.choices);
  if (attributes.maxOutputTokens !== null) span.set(ATTRIBUTE.maxTokens, attributes.maxOutputTokens);
  if (attributes.effort !== null) span.set(ATTRIBUTE.reasoningLevel, attributes.effort);
  for (const [field, name] of numericFields) {
    const value = body[field];
    if (typeof value === 'number') span.set(name, value);
  }
}

/** Fields with the same meaning in every dialect. */
const numericFields = [
  ['temperature', ATTRIBUTE.temperature],
  ['top_p', ATTRIBUTE.topP],
  ['top_k', ATTRIBUTE.topK],
  ['seed', ATTRIBUTE.seed],
  ['frequency_penalty', ATTRIBUTE.frequencyPenalty],
  ['presence_penalty', ATTRIBUTE.presencePenalty],
  ['dimensions', ATTRIBUTE.embeddingsDimensions],
] as const;

/** Totals include cached, reasoning and non-text tokens, which are also listed separately. */
function addUsage(
  span: OpenSpan,
  usage: Usage,
  { cacheWriteTokens, hasModalities: tellsModalities }: Conventions,
): void {
  const written = usage.cacheWriteTokens + usage.cacheWriteLongTokens;
  const input =
    usage.inputTokens + usage.cacheReadTokens + written + usage.audioInputTokens + usage.imageTokens;
  const output =
    usage.outputTokens + usage.reasoningTokens + usage.audioOutputTokens + usage.imageOutputTokens;
  span.set(ATTRIBUTE.inputTokens, input);
  span.set(ATTRIBUTE.outputTokens, output);
  const setIfPositive = (name: string, count: number): void => {
    if (count > 0) span.set(name, count);
  };
  setIfPositive(ATTRIBUTE.cacheReadTokens, usage.cacheReadTokens);
  setIfPositive(cacheWriteTokens, written);
  setIfPositive(ATTRIBUTE.reasoningTokens, usage.reasoningTokens);
  if (!tellsModalities) return;
  setIfPositive(ATTRIBUTE.audioInputTokens, usage.audioInputTokens);
  setIfPositive(ATTRIBUTE.audioOutputTokens, usage.audioOutputTokens);
  setIfPositive(ATTRIBUTE.imageInputTokens, usage.imageTokens);
  setIfPositive(ATTRIBUTE.imageOutputTokens, usage.imageOutputTokens);
}
