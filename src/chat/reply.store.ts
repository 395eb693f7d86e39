import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { RequestRecordQuery } from '../audit';
import { AUTO, type InnerCharge } from '../gateway';
import { completionTokens, promptTokens } from '../kernel';
import { Database, type Tx } from '../platform';
import { ConversationContent } from './conversation-content';
import { OpenTurns } from './open-turns';
import type { ChatTurn, TurnEnd, TurnOutcome } from './turn';

/** Longer than any reply can take: a reply still open after this was left behind by a node that died. */
const STALE = `interval '25 minutes'`;
/** Number of attempts to find the request record of a stopped reply, which is written shortly after. */
const MAX_RECORD_READS = 5;
const RECORD_PAUSE_MS = 100;

@Injectable()
export class ReplyStore {
  constructor(
    private readonly database: Database,
    private readonly content: ConversationContent,
    private readonly records: RequestRecordQuery,
    private readonly turns: OpenTurns,
  ) {}

  /** Calls `stop` when the conversation is deleted; returns a function that ends the watch. */
  watch(conversationId: number, stop: () => void): () => void {
    return this.turns.add(conversationId, stop);
  }

  async save(turn: ChatTurn, outcome: TurnOutcome): Promise<TurnEnd> {
    const { text } = outcome.answer;
    const state = stateOf(outcome);
    const problem = outcome.answer.problem ?? problemOf(outcome);
    const account = outcome.account ?? (await this.findRecordedAccount(turn, outcome));
    await this.write(turn, outcome, {
      state,
      text,
      code: state === 'stopped' ? null : problem?.code,
      account,
    });
    return {
      model: replyModel(turn, outcome),
      state,
      text,
      problem: state === 'stopped' ? null : problem,
      refusal: state === 'failed' ? outcome.error : null,
      account,
      totalNano: await this.totalOf(turn.conversationId),
    };
  }

  async closeStale(tx: Tx | null, conversationId: number | null): Promise<void> {
    await (tx ?? this.database.source).query(
      `UPDATE conversation_message SET state = 'incomplete', code = 'stream_interrupted'
        WHERE state = 'open' AND created_at < now() - ${STALE}
          AND ($1::integer IS NULL OR conversation_id = $1)`,
      [conversationId],
    );
  }

  /** Updates nothing if the conversation has been deleted. */
  private async write(
    turn: ChatTurn,
    outcome: TurnOutcome,
    end: {
      state: TurnEnd['state'];
      text: string;
      code: string | null | undefined;
      account: InnerCharge | null;
    },
  ): Promise<void> {
    const { conversationId, answerId } = turn;
    const { route } = outcome;
    const { state, text, code, account } = end;
    await this.database.query(
      `UPDATE conversation_message SET state = $2, content = $3, code = $4, supplier = $5, region = $6, failover = $7,
              input_tokens = $8, output_tokens = $9, cost_nano = $10, latency_ms = $11, model = $12
        WHERE id = $1`,
      [
        answerId,
        state,
        text === '' ? null : this.content.seal(conversationId, 'content', text),
        code ?? null,
        route?.supplier ?? null,
        route?.region ?? null,
        route?.failover ?? false,
        account?.inputTokens ?? null,
        account?.outputTokens ?? null,
        account?.costNano.toString() ?? null,
        account?.latencyMs ?? null,
        replyModel(turn, outcome),
      ],
    );
  }

  /** A reply stopped before its first token has cost its input, which only the request record knows. */
  private async findRecordedAccount(
    { caller, requestId }: ChatTurn,
    outcome: TurnOutcome,
  ): Promise<InnerCharge | null> {
    if (!outcome.isStopped) return null;
    for (let tries = 0; tries < MAX_RECORD_READS; tries += 1) {
      const record = await this.records.ofRequest(caller.keyId, requestId);
      if (record !== null) {
        const { costNano, latencyMs } = record;
        return {
          inputTokens: promptTokens(record),
          outputTokens: completionTokens(record),
          costNano,
          latencyMs,
        };
      }
      await delay(RECORD_PAUSE_MS);
    }
    return null;
  }

  private async totalOf(conversationId: number): Promise<bigint> {
    const [row] = await this.database.query<{ total: string }>(
      `SELECT coalesce(sum(cost_nano), 0)::text AS total FROM conversation_message WHERE conversation_id = $1`,
      [conversationId],
    );
    return BigInt(row?.total ?? 0);
  }
}

const replyModel = ({ model }: ChatTurn, { answer }: TurnOutcome): string =>
  model === AUTO ? (answer.model ?? model) : model;

function stateOf({ answer, isStopped, error }: TurnOutcome): TurnEnd['state'] {
  if (isStopped) return 'stopped';
  if (error === null && answer.problem === null) return 'complete';
  return answer.text === '' ? 'failed' : 'incomplete';
}

const problemOf = ({ error }: TurnOutcome): TurnEnd['problem'] =>
  error === null ? null : { code: error.code, message: error.humanMessage };
