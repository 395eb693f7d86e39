import { type Fault, type JsonFields, monotonicMs, type Usage } from '../../kernel';
import { ATTRIBUTE, type Conventions, type OpenSpan } from '../../platform';
import type { LaneIdentity } from './lane-identity';

/** What a request asks of any lane. */
export interface AskedOfLane {
  readonly stream: boolean;
  readonly choices: number;
  readonly maxOutputTokens: number | null;
  readonly effort: string | null;
  readonly body: JsonFields;
  /** It has pictures or sound in it. */
  readonly hasMedia: boolean;
}

/** How a lane answered, in the end. */
export interface LaneEnd {
  readonly status: number | null;
  /** Null where the answer is whole. */
  readonly problem: Fault | null;
  /** Null where nothing was answered. */
  readonly usage: Usage | null;
  readonly finishReason: string | null;
  /** It was not asked after all, so no call is counted. */
  readonly isUnasked?: boolean;
}

const LONGEST_NAME = 256;

/** One try of a lane: a span, where the request is traced, and counts in any case. */
export class LaneSpan {
  readonly startedMs = monotonicMs();
  private lastMs: number | null = null;
  private firstMs: number | null = null;
  private isOver = false;
  private isNamed = false;
  /** It ended so, and waits to be told what its caller got. */
  private heldSince: number | null = null;

  constructor(
    readonly identity: LaneIdentity,
    private readonly asked: AskedOfLane,
    /** Null: this request is not traced. */
    readonly span: OpenSpan | null,
    private readonly conventions: Conventions,
    private readonly isHeld: boolean,
  ) {
    if (span !== null) tellRequest(span, asked);
  }

  /** A piece of a streamed answer came. */
  chunk(): void {
    const now = monotonicMs();
    const { series } = this.identity;
    if (this.lastMs === null) {
      this.firstMs = now - this.startedMs;
      series?.firstChunk(this.firstMs);
    } else series?.nextChunk(now - this.lastMs);
    this.lastMs = now;
  }

  /** What the supplier calls its model and this answer; the answer says whether it named a model. */
  named(model: unknown, id: unknown): boolean {
    const { span, isNamed } = this;
    if (span === null || isNamed) return true;
    if (typeof model !== 'string' || model === '') return false;
    this.isNamed = true;
    span.set(ATTRIBUTE.responseModel, model.slice(0, LONGEST_NAME));
    if (typeof id === 'string' && id !== '') span.set(ATTRIBUTE.responseId, id.slice(0, LONGEST_NAME));
    return true;
  }

  /** It counts once. */
  ended({ status, problem, usage, finishReason, isUnasked }: LaneEnd): void {
    if (this.isOver) return;
    this.isOver = true;
    const now = monotonicMs();
    const { identity, asked, span } = this;
    // The conventions want what the supplier reported; what was estimated in its place is on the request's span.
    const told = usage === null || usage.source === 'estimated' ? null : usage;
    if (isUnasked !== true)
      identity.series?.ended(
        now - this.startedMs,
        problem?.outcome ?? '',
        told && { usage: told, isMixed: asked.hasMedia },
      );
    if (span === null) return;
    if (status !== null) span.set(ATTRIBUTE.status, status);
    if (this.firstMs !== null) span.set(ATTRIBUTE.firstChunk, this.firstMs / 1_000);
    if (finishReason !== null) span.set(ATTRIBUTE.finishReasons, [finishReason]);
    if (told !== null) tellUsage(span, told, this.conventions);
    if (problem !== null) {
      span.set(ATTRIBUTE.errorType, problem.outcome);
      span.failed();
    }
    if (this.isHeld) this.heldSince = now;
    else span.end(now);
  }

  /** Nothing more is told of one that was held. */
  release(): void {
    if (this.heldSince !== null) this.span?.end(this.heldSince);
  }
}

function tellRequest(span: OpenSpan, asked: AskedOfLane): void {
  const { body } = asked;
  if (asked.stream) span.set(ATTRIBUTE.stream, true);
  if (asked.choices !== 1) span.set(ATTRIBUTE.choices, asked.choices);
  if (asked.maxOutputTokens !== null) span.set(ATTRIBUTE.maxTokens, asked.maxOutputTokens);
  if (asked.effort !== null) span.set(ATTRIBUTE.reasoningLevel, asked.effort);
  for (const [field, name] of numbers) {
    const value = body[field];
    if (typeof value === 'number') span.set(name, value);
  }
}

/** These fields have one meaning in every dialect. */
const numbers = [
  ['temperature', ATTRIBUTE.temperature],
  ['top_p', ATTRIBUTE.topP],
  ['top_k', ATTRIBUTE.topK],
  ['seed', ATTRIBUTE.seed],
  ['frequency_penalty', ATTRIBUTE.frequencyPenalty],
  ['presence_penalty', ATTRIBUTE.presencePenalty],
  ['dimensions', ATTRIBUTE.embeddingsDimensions],
] as const;

/** Totals have everything in them; what came from a cache, was thought or is no text is a part of them. */
function tellUsage(span: OpenSpan, usage: Usage, { cacheWriteTokens, tellsModalities }: Conventions): void {
  const written = usage.cacheWriteTokens + usage.cacheWriteLongTokens;
  const input =
    usage.inputTokens + usage.cacheReadTokens + written + usage.audioInputTokens + usage.imageTokens;
  const output =
    usage.outputTokens + usage.reasoningTokens + usage.audioOutputTokens + usage.imageOutputTokens;
  span.set(ATTRIBUTE.inputTokens, input);
  span.set(ATTRIBUTE.outputTokens, output);
  const tell = (name: string, count: number): void => {
    if (count > 0) span.set(name, count);
  };
  tell(ATTRIBUTE.cacheReadTokens, usage.cacheReadTokens);
  tell(cacheWriteTokens, written);
  tell(ATTRIBUTE.reasoningTokens, usage.reasoningTokens);
  if (!tellsModalities) return;
  tell(ATTRIBUTE.audioInputTokens, usage.audioInputTokens);
  tell(ATTRIBUTE.audioOutputTokens, usage.audioOutputTokens);
  tell(ATTRIBUTE.imageInputTokens, usage.imageTokens);
  tell(ATTRIBUTE.imageOutputTokens, usage.imageOutputTokens);
}
