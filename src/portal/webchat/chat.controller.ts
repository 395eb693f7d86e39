import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Body, Controller, Req, Res } from '@nestjs/common';
import {
  ChatModels,
  ChatTurns,
  ConversationMessages,
  Conversations,
  type Message,
  type Turn,
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
  type Done,
  type HttpRequest,
  PageRenderer,
  PathId,
  wantsPage,
} from '../../web';
import { formatCost } from '../../views';
import { readAttachments } from './attachments';
import { TurnStream } from './turn-stream';
import { alertOf, badgeOf, factsOf, type Localisation, titleOf } from './webchat-model';
import { AnswerFeedbackForm, ChatTurnForm, FirstMessageForm, LARGEST_TURN_BYTES } from './webchat.forms';

/** Answers one turn: with its events for the page's script, whole for programs, with a page for everybody else. */
@Controller()
export class ChatController {
  constructor(
    private readonly database: Database,
    private readonly conversations: Conversations,
    private readonly models: ChatModels,
    private readonly turns: ChatTurns,
    private readonly messages: ConversationMessages,
    private readonly feedback: AnswerFeedback,
    private readonly pages: PageRenderer,
  ) {}

  /** Pages without scripts use it; those with them make the conversation first and stream into its page. */
  @Action('/dashboard/webchat', Access.session(), {
    audit: { none: 'a turn is on record as the request that it makes' },
  })
  async start(
    @Body() { model, content }: FirstMessageForm,
    @Req() request: HttpRequest,
    @Res() response: ServerResponse,
  ): Promise<void> {
    const actor = actorOf(request);
    const { name } = await this.models.chosen(actor, model);
    const id = await this.database.transaction((tx) =>
      this.conversations.create(tx, actor.userId, name, null),
    );
    const first = { text: content, attachments: [], turnId: randomUUID(), isRetry: false };
    const turn = await this.turns.begin(actor, id, first);
    if ('role' in turn) return leadTo(response, id, turn.id);
    await this.whole(turn, request, response);
  }

  @Action('/api/chat/:conv_id', Access.session(), {
    audit: { none: 'a turn is on record as the request that it makes' },
    bodyLimitBytes: LARGEST_TURN_BYTES,
    responds: { content: { 'text/event-stream': { type: 'string', description: 'Server-sent events.' } } },
  })
  async send(
    @PathId('conv_id') conversationId: number,
    @Body() form: ChatTurnForm,
    @Req() request: HttpRequest,
    @Res() response: ServerResponse,
  ): Promise<void> {
    const turn = await this.turns.begin(actorOf(request), conversationId, {
      text: form.content ?? '',
      attachments: readAttachments(form.attachments ?? []),
      turnId: form.turn ?? randomUUID(),
      isRetry: form.retry === true,
    });
    if ('role' in turn) return this.again(conversationId, turn, form, request, response);
    // A refusal does not say whether the message was taken; this does.
    response.setHeader('x-svc-message-id', turn.answerId);
    await this.noteRetry(actorOf(request), turn);
    if (form.stream === true) return this.stream(turn, request, response);
    await this.whole(turn, request, response);
  }

  /** A thumb up or down on an answer, or `none`, which takes it back. */
  @Action('/api/chat/:conv_id/feedback', Access.session(), {
    audit: { none: 'a thumb on one’s own answer changes nothing of the service' },
  })
  async judge(
    @PathId('conv_id') conversationId: number,
    @Body() { message: messageId, verdict }: AnswerFeedbackForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    const actor = actorOf(request);
    await this.conversations.get(actor.userId, conversationId);
    const message = await this.messages.answer(conversationId, messageId);
    const answered = message === null ? null : answeredRequest(actor, message);
    if (answered === null)
      throw fault('not_found', { param: 'message', message: 'There is no answer with this id.' });
    await this.feedback.give(answered, verdict === 'none' ? null : verdict);
    return done(`/dashboard/webchat/${conversationId}#message-${messageId}`, {
      message_id: messageId,
      verdict: verdict === 'none' ? null : verdict,
    });
  }

  private async noteRetry(actor: Actor, { retryOf }: Turn): Promise<void> {
    const answered = retryOf === null ? null : answeredRequest(actor, retryOf);
    if (retryOf === null || answered === null) return;
    const answeredAt = new Date(retryOf.createdAt.getTime() + (retryOf.latencyMs ?? 0));
    await this.feedback.noteRetry(answered, answeredAt);
  }

  private async stream(turn: Turn, request: HttpRequest, response: ServerResponse): Promise<void> {
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
    stopWhenGone(response, running.stop);
    events.follow(running);
    try {
      const ended = await running.done;
      // Nothing was sent yet: a refusal is an answer of its own.
      if (ended.refusal !== null && !events.isOpen) throw refusalOf(turn, ended.refusal, request);
      if (ended.problem !== null) events.send('error', ended.problem);
      events.end('end', { ...factsIn(ended), shown: await this.shown(turn, ended, request) });
    } finally {
      events.close();
    }
  }

  private async whole(turn: Turn, request: HttpRequest, response: ServerResponse): Promise<void> {
    const running = this.turns.run(turn, { route: () => undefined, text: () => true });
    stopWhenGone(response, running.stop);
    const ended = await running.done;
    const { conversationId, answerId } = turn;
    const { model } = ended;
    if (wantsPage(request)) return leadTo(response, conversationId, answerId);
    if (ended.refusal !== null) throw refusalOf(turn, ended.refusal, request);
    sendJson(response, {
      conversation_id: conversationId,
      message: { id: answerId, role: 'assistant', model, content: ended.text, ...factsIn(ended) },
      error: ended.problem,
    });
  }

  /** Sent twice: the answer is the one that was given. */
  private again(
    conversationId: number,
    message: Message,
    form: ChatTurnForm,
    request: HttpRequest,
    response: ServerResponse,
  ): void {
    if (wantsPage(request)) return leadTo(response, conversationId, message.id);
    if (form.stream === true)
      throw fault('conflict', {
        message: 'This message was sent before. Load the conversation again.',
        details: { reason: 'sent-before' },
      });
    const { id, role, model, text, state, inputTokens, outputTokens, costNano, latencyMs } = message;
    const account =
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
      message: { id, role, model, content: text, ...answerFacts(state, account) },
      error: message.code === null ? null : { code: message.code },
    });
  }

  /** In the reader's language, as the page would show it after a reload. */
  private async shown(
    { conversationId, requestId }: Turn,
    { model, state, account, problem, totalNano }: TurnEnd,
    request: HttpRequest,
  ) {
    const localisation: Localisation = {
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
      facts: account === null ? [] : factsOf(account, localisation),
      total: formatCost(locale, totalNano),
    };
  }
}

/** It is null where no request stands behind it. */
const answeredRequest = (
  { userId, organisationId }: Actor,
  { requestId, model }: Message,
): AnsweredRequest | null => (requestId === null ? null : { requestId, userId, organisationId, model });

/** The request that failed is the one of the turn: under its id it stands in the log. */
function refusalOf({ requestId }: Turn, refusal: Fault, request: HttpRequest): Fault {
  request.requestId = requestId;
  return refusal;
}

const answerFacts = (state: string, account: TurnEnd['account']) => ({
  state,
  input_tokens: account?.inputTokens ?? null,
  output_tokens: account?.outputTokens ?? null,
  cost_usd: account === null ? null : formatUsd(account.costNano),
  latency_ms: account?.latencyMs ?? null,
});

const factsIn = ({ state, account, totalNano }: TurnEnd) => ({
  ...answerFacts(state, account),
  conversation_cost_usd: formatUsd(totalNano),
});

function stopWhenGone(response: ServerResponse, stop: () => void): void {
  response.on('close', () => {
    if (!response.writableFinished) stop();
  });
}

function leadTo(response: ServerResponse, conversationId: number, messageId: string): void {
  response.statusCode = 303;
  response.setHeader('location', `/dashboard/webchat/${conversationId}#message-${messageId}`);
  response.end();
}

function sendJson(response: ServerResponse, body: object): void {
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.end(JSON.stringify(body));
}
