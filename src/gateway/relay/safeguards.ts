import { Injectable } from '@nestjs/common';
import { parseJsonText } from '../../kernel';
import { Settings } from '../../platform';
import { pick } from '../../protocol';
import { SupplierStyles } from '../../routing';
import { isReviewedByLane, TOOL_REVIEW, wantsToolReview } from '../admission';
import type { LaneAnswer } from '../attempt';
import type { Call } from '../intake';
import { ReviewedStream, type ToolCall } from '../reply/reviewed-stream';
import { applyEdits, memberEdits } from './edits';

export type ToolVerdict =
  | { readonly type: 'evaluated'; readonly outcome: 'flagged' | 'not_flagged' }
  | { readonly type: 'unavailable'; readonly reason: string };

/** Never rejects: a call without a verdict is `unavailable`, and no agent takes that for an approval. */
export type ToolJudge = (
  call: Call,
  toolCalls: readonly ToolCall[],
) => Promise<ReadonlyMap<string, ToolVerdict>>;

/** Answers `safeguards` of Messages on lanes that do not review tool calls, with the verdicts of a model. */
@Injectable()
export class Safeguards {
  private judge: ToolJudge | null = null;

  constructor(
    private readonly settings: Settings,
    private readonly styles: SupplierStyles,
  ) {}

  /** The judge sends requests through the pipeline, which needs this class. */
  register(judge: ToolJudge): void {
    this.judge = judge;
  }

  /** Null unless a review of the answer may be due. */
  streamOf(call: Call): ReviewedStream | null {
    return this.settings.safeguardsModel !== undefined && wantsToolReview(call) ? new ReviewedStream() : null;
  }

  async whole(answer: LaneAnswer, body: Buffer): Promise<Buffer> {
    if (!this.isDue(answer)) return body;
    const results = await this.resultsFor(answer, toolCallsIn(parseJsonText(body.toString())));
    return applyEdits(body, 0, inOrder(memberEdits(body, [], results)));
  }

  /** The last bytes of a stream, which hold the event with its reason to stop. */
  async ending(answer: LaneAnswer, stream: ReviewedStream | null, last: Buffer | string) {
    if (stream === null || !this.isDue(answer)) return last;
    const results = await this.resultsFor(answer, stream.toolCalls(last));
    return last
      .toString()
      .split('\n')
      .map((line) => (isMessageDelta(line) ? withResults(line, results) : line))
      .join('\n');
  }

  private isDue({ routed: { call }, route: { lane } }: LaneAnswer): boolean {
    return (
      this.settings.safeguardsModel !== undefined &&
      wantsToolReview(call) &&
      !isReviewedByLane(call, lane, this.styles)
    );
  }

  private async resultsFor({ routed: { call } }: LaneAnswer, toolCalls: readonly ToolCall[] | null) {
    if (toolCalls === null) return resultsOf({ type: 'unavailable', reason: 'input_too_long' });
    const verdicts =
      toolCalls.length === 0 || this.judge === null
        ? new Map<string, ToolVerdict>()
        : await this.judge(call, toolCalls);
    const unknown: ToolVerdict = { type: 'unavailable', reason: 'error' };
    const uses = toolCalls.map(({ id }) => [id, verdicts.get(id) ?? unknown] as const);
    return resultsOf({ type: 'available', tool_uses: Object.fromEntries(uses) });
  }
}

const resultsOf = (status: object) => ({ safeguard_results: [{ type: TOOL_REVIEW, status }] });

const DATA = 'data:';

function isMessageDelta(line: string): boolean {
  if (!line.startsWith(DATA) || !line.includes('message_delta')) return false;
  try {
    return pick(parseJsonText(line.slice(DATA.length)), 'type') === 'message_delta';
  } catch {
    // A part of an event of several lines.
    return false;
  }
}

function withResults(line: string, results: object): string {
  const data = Buffer.from(line.slice(DATA.length));
  return DATA + applyEdits(data, 0, inOrder(memberEdits(data, ['delta'], results))).toString();
}

const inOrder = (edits: ReturnType<typeof memberEdits>) =>
  edits.sort((one, other) => one.start - other.start);

function toolCallsIn(body: unknown): readonly ToolCall[] | null {
  const content = pick(body, 'content');
  if (!Array.isArray(content)) return null;
  return content
    .filter((block: unknown) => pick(block, 'type') === 'tool_use')
    .map((block: unknown) => ({
      id: String(pick(block, 'id')),
      name: String(pick(block, 'name')),
      input: JSON.stringify(pick(block, 'input')),
    }));
}
