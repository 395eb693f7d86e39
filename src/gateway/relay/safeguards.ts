import { Injectable } from '@nestjs/common';
import { parseJsonText } from '../../kernel';
import { Settings } from '../../platform';
import { pick } from '../../protocol';
import { SupplierStyles } from '../../routing';
import { isReviewedByLane, TOOL_REVIEW, wantsToolReview } from '../admission';
import type { LaneResponse } from '../attempt';
import type { GatewayCall } from '../intake';
import { ReviewedStream, type ToolCall } from '../reply/reviewed-stream';
import { applyEdits, memberEdits } from './stream-edits';

export type ToolVerdict =
  | { readonly type: 'evaluated'; readonly outcome: 'flagged' | 'not_flagged' }
  | { readonly type: 'unavailable'; readonly reason: string };

/** Never rejects: a tool call without a verdict is `unavailable`, which no agent takes for an approval. */
export type ToolJudge = (
  call: GatewayCall,
  toolCalls: readonly ToolCall[],
) => Promise<ReadonlyMap<string, ToolVerdict>>;

/** Serves `safeguards` of Messages on lanes that do not review tool calls, with verdicts of a model. */
@Injectable()
export class Safeguards {
  private judge: ToolJudge | null = null;

  constructor(
    private readonly settings: Settings,
    private readonly styles: SupplierStyles,
  ) {}

  /** Registered later because the judge sends requests through the pipeline, which depends on this class. */
  register(judge: ToolJudge): void {
    this.judge = judge;
  }

  createReviewedStream(call: GatewayCall): ReviewedStream | null {
    return this.settings.safeguardsModel !== undefined && wantsToolReview(call) ? new ReviewedStream() : null;
  }

  async reviewComplete(answer: LaneResponse, body: Buffer): Promise<Buffer> {
    if (!this.needsReview(answer)) return body;
    const results = await this.judgeToolCalls(answer, toolCallsIn(parseJsonText(body.toString())));
    return applyEdits(body, 0, sortEdits(memberEdits(body, [], results)));
  }

  async reviewEnding(answer: LaneResponse, stream: ReviewedStream | null, last: Buffer | string) {
    if (stream === null || !this.needsReview(answer)) return last;
    const results = await this.judgeToolCalls(answer, stream.toolCalls(last));
    return last
      .toString()
      .split('\n')
      .map((line) => (isMessageDelta(line) ? withResults(line, results) : line))
      .join('\n');
  }

  private needsReview({ routed: { call }, route: { lane } }: LaneResponse): boolean {
    return (
      this.settings.safeguardsModel !== undefined &&
      wantsToolReview(call) &&
      !isReviewedByLane(call, lane, this.styles)
    );
  }

  private async judgeToolCalls({ routed: { call } }: LaneResponse, toolCalls: readonly ToolCall[] | null) {
    if (toolCalls === null) return safeguardResults({ type: 'unavailable', reason: 'input_too_long' });
    const verdicts =
      toolCalls.length === 0 || this.judge === null
        ? new Map<string, ToolVerdict>()
        : await this.judge(call, toolCalls);
    const unavailable: ToolVerdict = { type: 'unavailable', reason: 'error' };
    const uses = toolCalls.map(({ id }) => [id, verdicts.get(id) ?? unavailable] as const);
    return safeguardResults({ type: 'available', tool_uses: Object.fromEntries(uses) });
  }
}

const safeguardResults = (status: object) => ({ safeguard_results: [{ type: TOOL_REVIEW, status }] });

const DATA_PREFIX = 'data:';

function isMessageDelta(line: string): boolean {
  if (!line.startsWith(DATA_PREFIX) || !line.includes('message_delta')) return false;
  try {
    return pick(parseJsonText(line.slice(DATA_PREFIX.length)), 'type') === 'message_delta';
  } catch {
    // A line of a multi-line event.
    return false;
  }
}

function withResults(line: string, results: object): string {
  const data = Buffer.from(line.slice(DATA_PREFIX.length));
  return DATA_PREFIX + applyEdits(data, 0, sortEdits(memberEdits(data, ['delta'], results))).toString();
}

const sortEdits = (edits: ReturnType<typeof memberEdits>) =>
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
