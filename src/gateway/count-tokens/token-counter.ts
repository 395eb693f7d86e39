import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Escrow } from '../../billing';
import type { LaneView } from '../../catalogue';
import { editedJsonObject, Fault, fault, parseJsonText } from '../../kernel';
import { dialects, supplierFault } from '../../protocol';
import type { HttpRequest } from '../../web';
import { Admissions, leftOutOf, Routes } from '../admission';
import { AttemptTools, withoutUnknown } from '../attempt';
import { type Call, type Inbound, Intake, type Work } from '../intake';
import { operations } from '../operations/operation';
import { estimateTokens } from './estimate-tokens';

export interface TokenCount {
  readonly tokens: number;
  /** The supplier that would serve the request counted it; otherwise it is estimated here. */
  readonly exact: boolean;
}

/** Agents count before they ask: an answer that is roughly right now is worth more than a precise one later. */
const DEADLINE_MS = 3_000;
const LARGEST_ANSWER = 64 * 1024;

/** Counts the input of a request without sending it. A key that could send it may count it, at no charge. */
@Injectable()
export class TokenCounter {
  constructor(
    private readonly intake: Intake,
    private readonly admissions: Admissions,
    private readonly routes: Routes,
    private readonly escrow: Escrow,
    private readonly tools: AttemptTools,
  ) {}

  async count(request: HttpRequest, response: ServerResponse): Promise<TokenCount> {
    const { caller, work, leave } = await this.intake.enter(request, response);
    try {
      const inbound = await this.intake.receive(request, caller);
      const call = await this.intake.pass(await this.intake.describe(inbound, operations.messages));
      const lane = await this.counting(call);
      const told = lane === undefined ? null : await this.ask(await this.known(call, lane), lane, work);
      if (work.stopped !== null) throw work.stopped;
      if (told instanceof Fault) throw told;
      return told === null
        ? { tokens: estimateTokens(call.inbound.body), exact: false }
        : { tokens: told, exact: true };
    } finally {
      leave();
    }
  }

  /** The first lane, of those that the request itself would be tried on, whose supplier counts. */
  private async counting(call: Call): Promise<LaneView | undefined> {
    const { styles } = this.tools;
    const admission = this.admissions.find(call);
    const { lanes } = await this.routes.plan(call, admission);
    return lanes.find(
      ({ lane, why }) => why !== 'open' && styles.dialectFor(lane.provider, 'count_tokens') === 'messages',
    )?.lane;
  }

  /** The request without names that the gateway does not know. */
  private known(call: Call, lane: LaneView): Inbound | Promise<Inbound> {
    const leftOut = leftOutOf(call, lane, false, this.tools.styles);
    return leftOut === null ? call.inbound : withoutUnknown(call, leftOut);
  }

  /** The supplier answers with a number or a refusal of the request itself; anything else is null. */
  private async ask(inbound: Inbound, lane: LaneView, work: Work): Promise<number | Fault | null> {
    // It costs nothing, so nothing is set aside; without billing's leave no supplier is called all the same.
    const { requestId, headers } = inbound;
    const hold = this.escrow.tryHold({ requestId, amount: 0n, refs: [] });
    if (hold === null) return null;
    let timer: NodeJS.Timeout | undefined;
    const reader = this.tools.owners.readerFor(lane.provider, false);
    const mended = dialects.messages.mendRequest(inbound.body, reader);
    try {
      const text = mended === null ? inbound : await editedJsonObject(inbound, mended);
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
      // The provider's own time limits come before those above, and are made for answers.
      timer = setTimeout(() => exchange.abort(fault('upstream_timeout')), DEADLINE_MS);
      const answer = await exchange.complete(LARGEST_ANSWER);
      if (answer.status < 300) return countIn(answer.body);
      const error = sent.judge(answer, answer.body);
      return answer.status === 400 && error.kind === 'invalid' ? supplierFault(error) : null;
    } catch {
      return null;
    } finally {
      clearTimeout(timer);
      hold.release();
    }
  }
}

function countIn(answer: Buffer): number | null {
  try {
    const { input_tokens: count } = parseJsonText(answer.toString('utf8')) as Record<string, unknown>;
    return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null;
  } catch {
    return null;
  }
}
