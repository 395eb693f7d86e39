import { Injectable } from '@nestjs/common';
import { type InnerCharge, type InnerExchange, InnerChat, type InnerRoute } from '../gateway';
import { type Actor, type Fault, fault, fromUnknown, uuidv7 } from '../kernel';
import { Database, type Tx } from '../platform';
import { ReplyStore } from './reply.store';
import { ReplyText } from './reply-text';
import { type ChatModel, ChatModels } from './chat-models';
import { isPicture, type ConversationMessage } from './conversation';
import { ConversationMessages } from './conversation-messages';
import { ConversationsService } from './conversations.service';
import { chatMessages, exchangesOf } from './history';
import type { ChatQuestion, RunningTurn, ChatTurn, TurnReader } from './turn';
import { WebchatKeysService } from './webchat-keys.service';

const MAX_SENT_MESSAGES = 200;

/**
 * Runs turns of a conversation: requests to the gateway's chat route, made within this process with the web chat key.
 */
@Injectable()
export class ChatTurnsService {
  constructor(
    private readonly database: Database,
    private readonly conversations: ConversationsService,
    private readonly messages: ConversationMessages,
    private readonly models: ChatModels,
    private readonly keys: WebchatKeysService,
    private readonly inner: InnerChat,
    private readonly replies: ReplyStore,
  ) {}

  /** Returns the existing reply to this turn, or a new turn to run. */
  async start(
    actor: Actor,
    conversationId: number,
    question: ChatQuestion,
  ): Promise<ChatTurn | ConversationMessage> {
    await this.conversations.get(actor.userId, conversationId);
    const caller = await this.keys.callerFor(actor);
    const models = await this.models.listFor(actor);
    const requestId = uuidv7();
    return this.database.transaction(async (tx) => {
      const { model, isTitled, isOfFormerPlace } = await this.conversations.lock(
        tx,
        actor.userId,
        conversationId,
      );
      if (isOfFormerPlace) throw formerOrganisationError();
      await this.replies.closeStale(tx, conversationId);
      const existingReply = await this.messages.findReplyToTurn(tx, conversationId, question.turnId);
      if (existingReply?.state === 'open') throw stillAnsweringError();
      if (existingReply !== null) return existingReply;
      await this.assertNoOpenReply(tx, conversationId);
      const { takesImages } = getModel(models, model);
      if (question.attachments.some(isPicture) && !takesImages) {
        throw fault('invalid_request', {
          param: 'attachments',
          message: `${model} takes no pictures. Choose a model that does.`,
          details: { reason: 'no-pictures', model },
        });
      }
      const retryOf = question.isRetry ? await this.messages.findLastReply(tx, conversationId) : null;
      if (question.isRetry) await this.assertHasQuestion(tx, conversationId);
      else await this.addQuestion(tx, conversationId, model, question, isTitled);
      const answer = { role: 'assistant', state: 'open', model, turnId: question.turnId } as const;
      const answerId = await this.messages.add(tx, conversationId, answer, {
        requestId,
        keyId: caller.keyId,
      });
      await tx.query('UPDATE conversation SET updated_at = now() WHERE id = $1', [conversationId]);
      return { conversationId, answerId, requestId, model, caller, takesImages, retryOf };
    });
  }

  /** `done` never rejects: a failure becomes the turn's outcome and is stored with it. */
  run(turn: ChatTurn, reader: TurnReader): RunningTurn {
    const reply = new ReplyText();
    let route: InnerRoute | null = null;
    let isStopped = false;
    let inner: InnerExchange | null = null;
    const stop = (): void => {
      isStopped = true;
      inner?.stop();
    };
    const endWatch = this.replies.watch(turn.conversationId, stop);
    const exchange = async (): Promise<InnerCharge | null> => {
      const body = await this.bodyOf(turn);
      inner = this.startReply(
        turn,
        body,
        {
          route: (chosenRoute) => reader.route((route = chosenRoute)),
          text: (piece) => reader.text(piece),
        },
        reply,
      );
      if (isStopped) inner.stop();
      return inner.done;
    };
    const done = exchange()
      .then(
        (account) => ({ account, error: null }),
        (error: unknown) => ({ account: null, error: fromUnknown(error) }),
      )
      .then((result) => this.replies.save(turn, { answer: reply, route, isStopped, ...result }))
      .finally(endWatch);
    return { done, resume: () => inner?.resume(), stop };
  }

  private startReply(
    { caller, requestId, conversationId }: ChatTurn,
    body: Record<string, unknown>,
    reader: TurnReader,
    reply: ReplyText,
  ): InnerExchange {
    const session = `webchat-${conversationId}`;
    return this.inner.start(
      { caller, requestId, body, session },
      {
        route: (chosenRoute) => reader.route(chosenRoute),
        data: (chunk) => {
          const piece = reply.push(chunk);
          return piece === '' || reader.text(piece);
        },
      },
    );
  }

  private async bodyOf({ conversationId, model, takesImages }: ChatTurn): Promise<Record<string, unknown>> {
    const { rows } = await this.messages.page(conversationId, { limit: MAX_SENT_MESSAGES });
    const exchanges = exchangesOf([...rows].reverse());
    const messages = await chatMessages(exchanges, takesImages, ({ id }) =>
      this.messages.attachmentsOf(conversationId, id),
    );
    return { model, messages };
  }

  private async addQuestion(
    tx: Tx,
    conversationId: number,
    model: string,
    { text, attachments, turnId }: ChatQuestion,
    isTitled: boolean,
  ): Promise<void> {
    if (text.trim() === '' && attachments.length === 0) {
      throw fault('missing_fields', { param: 'content', message: 'Write a message first.' });
    }
    const question = { role: 'user', state: 'complete', model, turnId, text } as const;
    const id = await this.messages.add(tx, conversationId, question);
    await this.messages.attach(tx, conversationId, id, attachments);
    if (!isTitled) await this.conversations.titleAfter(tx, conversationId, text);
  }

  private async assertNoOpenReply(tx: Tx, conversationId: number): Promise<void> {
    const openReplies = await tx.query<unknown[]>(
      `SELECT FROM conversation_message WHERE conversation_id = $1 AND state = 'open'`,
      [conversationId],
    );
    if (openReplies.length > 0) throw stillAnsweringError();
  }

  private async assertHasQuestion(tx: Tx, conversationId: number): Promise<void> {
    const questions = await tx.query<unknown[]>(
      `SELECT FROM conversation_message WHERE conversation_id = $1 AND role = 'user' LIMIT 1`,
      [conversationId],
    );
    if (questions.length === 0) throw fault('conflict', { message: 'There is no question to ask again.' });
  }
}

function getModel(models: readonly ChatModel[], name: string): ChatModel {
  const accessibleModel = models.find((model) => model.name === name);
  if (accessibleModel === undefined) throw fault('model_not_accessible', { param: 'model' });
  return accessibleModel;
}

const stillAnsweringError = (): Fault =>
  fault('conflict', {
    message: 'The last message of this conversation is still being answered.',
    details: { reason: 'still-answering' },
  });

/** New messages would belong to the current organisation, but the conversation belongs to the former one. */
const formerOrganisationError = (): Fault =>
  fault('conflict', {
    message: 'This conversation was begun in another organisation. Begin a new one.',
    details: { reason: 'former-organisation' },
  });
