import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Escrow } from '../../billing';
import type { LaneView } from '../../catalogue';
import { editedJsonObject, Fault, fault, type MaybePromise, parseJsonText } from '../../kernel';
import { dialects, supplierFault } from '../../protocol';
import type { HttpRequest } from '../../web';
import { Admissions, findOmittedParts, RoutePlanner } from '../admission';
import { AttemptTools, withoutOmitted } from '../attempt';
import { type GatewayCall, type Inbound, Intake, type RequestWork } from '../intake';
import { operations } from '../operations/operation';
import { estimateTokens } from './estimate-tokens';

export interface TokenCount {
  readonly tokens: number;
  readonly exact: boolean;
}

/** Agents count before each request: a rough count now is worth more than an exact one later. */
const DEADLINE_MS = 3_000;
const MAX_RESPONSE_BYTES = 64 * 1024;

/** Counts the input of a request without sending it. Free for every key that could send the request. */
@Injectable()
export class TokenCounter {
  constructor(
    private readonly intake: Intake,
    private readonly admissions: Admissions,
    private readonly routes: RoutePlanner,
    private readonly escrow: Escrow,
    private readonly tools: AttemptTools,
  ) {}

  async count(request: HttpRequest, response: ServerResponse): Promise<TokenCount> {
    const { caller, work, leave } = await this.intake.admit(request, response);
    try {
      const inbound = await this.intake.receive(request, caller);
      const call = await this.intake.pass(await this.intake.describe(inbound, operations.messages));
      const lane = await this.findCountingLane(call);
      const count =
        lane === undefined
          ? null
          : await this.countAtSupplier(await this.withoutUnknownNames(call, lane), lane, work);
      if (work.stopped !== null) throw work.stopped;
      if (count instanceof Fault) throw count;
      return count === null
        ? { tokens: estimateTokens(call.inbound.body), exact: false }
        : { tokens: count, exact: true };
    } finally {
      leave();
    }
  }

  private async findCountingLane(call: GatewayCall): Promise<LaneView | undefined> {
    const { styles } = this.tools;
    const admission = this.admissions.find(call);
    const { lanes } = await this.routes.plan(call, admission);
    return lanes.find(
      ({ lane, why }) => why !== 'open' && styles.dialectFor(lane.provider, 'count_tokens') === 'messages',
    )?.lane;
  }

  private withoutUnknownNames(call: GatewayCall, lane: LaneView): MaybePromise<Inbound> {
    const omitted = findOmittedParts(call, lane, false, this.tools.styles);
    return omitted === null ? call.inbound : withoutOmitted(call, omitted);
  }

  /** Returns the supplier's count, or its rejection of the request; null for any other response. */
  private async countAtSupplier(
    inbound: Inbound,
    lane: LaneView,
    work: RequestWork,
  ): Promise<number | Fault | null> {
    // Counting is free, so the hold is zero; without a hold no supplier is called.
    const { requestId, headers } = inbound;
    const hold = this.escrow.tryHold({ requestId, amount: 0n, refs: [] });
    if (hold === null) return null;
    let timer: NodeJS.Timeout | undefined;
    const reader = this.tools.owners.readerFor(lane.provider, false);
    const repaired = dialects.messages.repairRequest(inbound.body, reader);
    try {
      const text = repaired === null ? inbound : await editedJsonObject(inbound, repaired);
      const sent = await this.tools.client.open(
        hold,
        {
          operation: 'count_tokens',
          wire: 'messages',
          lane,
          body: { kind: 'json', text },
          stream: false,
          headers,
          sessionKey: null,
        },
        { firstByteMs: DEADLINE_MS, idleMs: DEADLINE_MS, totalMs: DEADLINE_MS },
      );
      const { exchange } = sent;
      work.watch(exchange);
      // The provider's own timeouts take precedence over those above, but are made for inference.
      timer = setTimeout(() => exchange.abort(fault('upstream_timeout')), DEADLINE_MS);
      const countResponse = await exchange.readResponse(MAX_RESPONSE_BYTES);
      if (countResponse.status < 300) return parseCount(countResponse.body);
      const error = sent.judge(countResponse, countResponse.body);
      return countResponse.status === 400 && error.kind === 'invalid' ? supplierFault(error) : null;
    } catch {
      return null;
    } finally {
      clearTimeout(timer);
      hold.release();
    }
  }
}

function parseCount(answer: Buffer): number | null {
  try {
    const { input_tokens: count } = parseJsonText(answer.toString('utf8')) as Record<string, unknown>;
    return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null;
  } catch {
    return null;
  }
}
