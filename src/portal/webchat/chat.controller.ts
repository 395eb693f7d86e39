import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Body, Controller, Req, Res } from '@nestjs/common';
import {
  ChatModels,
  ChatTurnsService,
  ConversationMessages,
  ConversationsService,
  type ConversationMessage,
  type ChatTurn,
  type TurnEnd,
} from '../../chat';
import { type Actor, type Fault, fault, formatUsd } from '../../kernel';
import { Database } from '../../platform';
import { AnswerFeedback, type AnsweredRequest } from '../../quality';
import {
  Access,
  Action,
  actorOf,
  done,
  type ActionResult,
  type HttpRequest,
  PageRenderer,
  PathId,
  wantsPage,
} from '../../web';
import { formatCost } from '../../views';
import { readAttachments } from './attachments';
import { TurnStream } from './turn-stream';
import { alertOf, badgeOf, replyFigures, type ChatLocalisation, titleOf } from './webchat-model';
import { AnswerFeedbackForm, ChatTurnForm, FirstMessageForm, MAX_TURN_BYTES } from './webchat.dto';

/**
 * Runs one turn: as an event stream for the page's script, as JSON for API clients, and as a redirect without scripts.
 */
@Controller()
export class ChatController {
  constructor(
    private readonly database: Database,
    private readonly conversations: ConversationsService,
    private readonly models: ChatModels,
    private readonly turns: ChatTurnsService,
    private readonly messages: ConversationMessages,
    private readonly feedback: AnswerFeedback,
    private readonly pages: PageRenderer,
  ) {}

  /** For pages without scripts; others create the conversation first and then stream into its page. */
  @Action('/dashboard/webchat', Access.session(), {
    audit: { none: 'a turn is on record as the request that it makes' },
  })
  async start(
    @Body() { model, content }: FirstMessageForm,
    @Req() request: HttpRequest,
    @Res() response: ServerResponse,
  ): Promise<void> {
    const actor = actorOf(request);
    const { name } = await this.models.getOrDefault(actor, model);
    const id = await this.database.transaction((tx) =>
      this.conversations.create(tx, actor.userId, name, null),
    );
    const firstMessage = { text: content, attachments: [], turnId: randomUUID(), isRetry: false };
    const turn = await this.turns.start(actor, id, firstMessage);
    if ('role' in turn) return redirectToMessage(response, id, turn.id);
    await this.respondComplete(turn, request, response);
  }

  @Action('/api/chat/:conv_id', Access.session(), {
    audit: { none: 'a turn is on record as the request that it makes' },
    bodyLimitBytes: MAX_TURN_BYTES,
    responds: { content: { 'text/event-stream': { type: 'string', description: 'Server-sent events.' } } },
  })
  async send(
    @PathId('conv_id') conversationId: number,
    @Body() form: ChatTurnForm,
    @Req() request: HttpRequest,
    @Res() response: ServerResponse,
  ): Promise<void> {
    const turn = await this.turns.start(actorOf(request), conversationId, {
      text: form.content ?? '',
      attachments: readAttachments(form.attachments ?? []),
      turnId: form.turn ?? randomUUID(),
      isRetry: form.retry === true,
    });
    if ('role' in turn) return this.respondDuplicate(conversationId, turn, form, request, response);
    // Tells the client that the message was stored, which an error response does not.
    response.setHeader('x-svc-message-id', turn.answerId);
    await this.noteRetry(actorOf(request), turn);
    if (form.stream === true) return this.stream(turn, request, response);
    await this.respondComplete(turn, request, response);
  }

  @Action('/api/chat/:conv_id/feedback', Access.session(), {
    audit: { none: 'a thumb on one’s own answer changes nothing of the service' },
  })
  async rate(
    @PathId('conv_id') conversationId: number,
    @Body() { message: messageId, verdict }: AnswerFeedbackForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const actor = actorOf(request);
    await this.conversations.get(actor.userId, conversationId);
    const message = await this.messages.findReply(conversationId, messageId);
    const ratedRequest = message === null ? null : answeredRequest(actor, message);
    if (ratedRequest === null)
      throw fault('not_found', { param: 'message', message: 'There is no answer with this id.' });
    await this.feedback.give(ratedRequest, verdict === 'none' ? null : verdict);
    return done(`/dashboard/webchat/${conversationId}#message-${messageId}`, {
      message_id: messageId,
      verdict: verdict === 'none' ? null : verdict,
    });
  }

  private async noteRetry(actor: Actor, { retryOf }: ChatTurn): Promise<void> {
    const ratedRequest = retryOf === null ? null : answeredRequest(actor, retryOf);
    if (retryOf === null || ratedRequest === null) return;
    const answeredAt = new Date(retryOf.createdAt.getTime() + (retryOf.latencyMs ?? 0));
    await this.feedback.recordRetry(ratedRequest, answeredAt);
  }

  private async stream(turn: ChatTurn, request: HttpRequest, response: ServerResponse): Promise<void> {
    const { conversationId, answerId, requestId, model } = turn;
    const events = new TurnStream(response, {
      conversation_id: conversationId,
      message_id: answerId,
      request_id: requestId,
      model,
    });
    const running = this.turns.run(turn, {
      route: ({ supplier, region, failover }) => events.send('route', { supplier, region, failover }),
      text: (text) => events.send('text', { text }),
    });
    stopOnDisconnect(response, running.stop);
    events.follow(running);
    try {
      const end = await running.done;
      // Before any event is sent, an error can still be a normal response.
      if (end.refusal !== null && !events.isOpen) throw withTurnRequestId(turn, end.refusal, request);
      if (end.problem !== null) events.send('error', end.problem);
      events.end('end', { ...turnFields(end), shown: await this.presentTurn(turn, end, request) });
    } finally {
      events.close();
    }
  }

  private async respondComplete(
    turn: ChatTurn,
    request: HttpRequest,
    response: ServerResponse,
  ): Promise<void> {
    const running = this.turns.run(turn, { route: () => undefined, text: () => true });
    stopOnDisconnect(response, running.stop);
    const end = await running.done;
    const { conversationId, answerId } = turn;
    const { model } = end;
    if (wantsPage(request)) return redirectToMessage(response, conversationId, answerId);
    if (end.refusal !== null) throw withTurnRequestId(turn, end.refusal, request);
    sendJson(response, {
      conversation_id: conversationId,
      message: { id: answerId, role: 'assistant', model, content: end.text, ...turnFields(end) },
      error: end.problem,
    });
  }

  private respondDuplicate(
    conversationId: number,
    message: ConversationMessage,
    form: ChatTurnForm,
    request: HttpRequest,
    response: ServerResponse,
  ): void {
    if (wantsPage(request)) return redirectToMessage(response, conversationId, message.id);
    if (form.stream === true)
      throw fault('conflict', {
        message: 'This message was sent before. Load the conversation again.',
        details: { reason: 'sent-before' },
      });
    const { id, role, model, text, state, inputTokens, outputTokens, costNano, latencyMs } = message;
    const usage =
      costNano === null
        ? null
        : {
            inputTokens: inputTokens ?? 0,
            outputTokens: outputTokens ?? 0,
            costNano,
            latencyMs: latencyMs ?? 0,
          };
    sendJson(response, {
      conversation_id: conversationId,
      message: { id, role, model, content: text, ...replyFields(state, usage) },
      error: message.code === null ? null : { code: message.code },
    });
  }

  /** Localised texts, as a reload of the page would show them. */
  private async presentTurn(
    { conversationId, requestId }: ChatTurn,
    { model, state, account, problem, totalNano }: TurnEnd,
    request: HttpRequest,
  ) {
    const localisation: ChatLocalisation = {
      locale: this.pages.localeOf(request),
      timeZone: this.pages.timeZoneOf(request),
      translate: this.pages.textsFor(request),
    };
    const { translate, locale } = localisation;
    const head = await this.conversations.find(actorOf(request).userId, conversationId);
    return {
      author: model,
      title: head === null ? null : titleOf(head, translate),
      badge: badgeOf({ state }, translate),
      alert: problem === null ? null : alertOf({ state, code: problem.code, requestId }, translate),
      facts: account === null ? [] : replyFigures(account, localisation),
      total: formatCost(locale, totalNano),
    };
  }
}

/** Returns null if the message has no request. */
const answeredRequest = (
  { userId, organisationId }: Actor,
  { requestId, model }: ConversationMessage,
): AnsweredRequest | null => (requestId === null ? null : { requestId, userId, organisationId, model });

/** Reports the error under the id of the turn's request, which is the one in the request log. */
function withTurnRequestId({ requestId }: ChatTurn, error: Fault, request: HttpRequest): Fault {
  request.requestId = requestId;
  return error;
}

const replyFields = (state: string, account: TurnEnd['account']) => ({
  state,
  input_tokens: account?.inputTokens ?? null,
  output_tokens: account?.outputTokens ?? null,
  cost_usd: account === null ? null : formatUsd(account.costNano),
  latency_ms: account?.latencyMs ?? null,
});

const turnFields = ({ state, account, totalNano }: TurnEnd) => ({
  ...replyFields(state, account),
  conversation_cost_usd: formatUsd(totalNano),
});

function stopOnDisconnect(response: ServerResponse, stop: () => void): void {
  response.on('close', () => {
    if (!response.writableFinished) stop();
  });
}

function redirectToMessage(response: ServerResponse, conversationId: number, messageId: string): void {
  response.statusCode = 303;
  response.setHeader('location', `/dashboard/webchat/${conversationId}#message-${messageId}`);
  response.end();
}

function sendJson(response: ServerResponse, body: object): void {
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.end(JSON.stringify(body));
}
