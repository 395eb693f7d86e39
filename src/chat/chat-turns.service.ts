import { Injectable } from '@nestjs/common';
import { type InnerAccount, type InnerAnswer, InnerChat, type InnerRoute } from '../gateway';
import { type Actor, type Fault, fault, fromUnknown, uuidv7 } from '../kernel';
import { Database, type Tx } from '../platform';
import { AnswerKeeper } from './answer-keeper';
import { AnswerText } from './answer-text';
import { type ChatModel, ChatModels } from './chat-models';
import { isPicture, type Message } from './conversation';
import { ConversationMessages } from './conversation-messages';
import { Conversations } from './conversations.service';
import { chatMessages, exchangesOf } from './history';
import type { Question, RunningTurn, Turn, TurnReader } from './turn';
import { WebchatKeys } from './webchat-keys.service';

const MOST_SENT = 200;

/** A turn of a conversation: a request of the gateway's chat route, made within this process with the webchat key. */
@Injectable()
export class ChatTurns {
  constructor(
    private readonly database: Database,
    private readonly conversations: Conversations,
    private readonly messages: ConversationMessages,
    private readonly models: ChatModels,
    private readonly keys: WebchatKeys,
    private readonly inner: InnerChat,
    private readonly keeper: AnswerKeeper,
  ) {}

  /** The answer that this turn has already, or the turn that is to be run. */
  async begin(actor: Actor, conversationId: number, question: Question): Promise<Turn | Message> {
    await this.conversations.get(actor.userId, conversationId);
    const caller = await this.keys.callerFor(actor);
    const models = await this.models.for(actor);
    const requestId = uuidv7();
    return this.database.transaction(async (tx) => {
      const { model, isTitled, isOfFormerPlace } = await this.conversations.lock(
        tx,
        actor.userId,
        conversationId,
      );
      if (isOfFormerPlace) throw ofFormerPlace();
      await this.keeper.closeStale(tx, conversationId);
      const known = await this.messages.ofTurn(tx, conversationId, question.turnId);
      if (known?.state === 'open') throw stillAnswering();
      if (known !== null) return known;
      await this.refuseSecondAnswer(tx, conversationId);
      const { takesImages } = openModel(models, model);
      if (question.attachments.some(isPicture) && !takesImages) {
        throw fault('invalid_request', {
          param: 'attachments',
          message: `${model} takes no pictures. Choose a model that does.`,
          details: { reason: 'no-pictures', model },
        });
      }
      const retryOf = question.isRetry ? await this.messages.lastAnswer(tx, conversationId) : null;
      if (question.isRetry) await this.requireQuestion(tx, conversationId);
      else await this.ask(tx, conversationId, model, question, isTitled);
      const answer = { role: 'assistant', state: 'open', model, turnId: question.turnId } as const;
      const answerId = await this.messages.add(tx, conversationId, answer, {
        requestId,
        keyId: caller.keyId,
      });
      await tx.query('UPDATE conversation SET updated_at = now() WHERE id = $1', [conversationId]);
      return { conversationId, answerId, requestId, model, caller, takesImages, retryOf };
    });
  }

  /** The end never rejects: what goes wrong is how the turn ends, and is kept with it. */
  run(turn: Turn, reader: TurnReader): RunningTurn {
    const answer = new AnswerText();
    let route: InnerRoute | null = null;
    let isStopped = false;
    let inner: InnerAnswer | null = null;
    const stop = (): void => {
      isStopped = true;
      inner?.stop();
    };
    const endWatch = this.keeper.watch(turn.conversationId, stop);
    const exchange = async (): Promise<InnerAccount | null> => {
      const body = await this.bodyOf(turn);
      inner = this.begun(
        turn,
        body,
        {
          route: (found) => reader.route((route = found)),
          text: (piece) => reader.text(piece),
        },
        answer,
      );
      if (isStopped) inner.stop();
      return inner.done;
    };
    const done = exchange()
      .then(
        (account) => ({ account, error: null }),
        (error: unknown) => ({ account: null, error: fromUnknown(error) }),
      )
      .then((ended) => this.keeper.keep(turn, { answer, route, isStopped, ...ended }))
      .finally(endWatch);
    return { done, resume: () => inner?.resume(), stop };
  }

  private begun(
    { caller, requestId, conversationId }: Turn,
    body: Record<string, unknown>,
    reader: TurnReader,
    answer: AnswerText,
  ): InnerAnswer {
    const session = `webchat-${conversationId}`;
    return this.inner.start(
      { caller, requestId, body, session },
      {
        route: (found) => reader.route(found),
        data: (chunk) => {
          const piece = answer.push(chunk);
          return piece === '' || reader.text(piece);
        },
      },
    );
  }

  private async bodyOf({ conversationId, model, takesImages }: Turn): Promise<Record<string, unknown>> {
    const { rows } = await this.messages.page(conversationId, { limit: MOST_SENT });
    const said = exchangesOf([...rows].reverse());
    const messages = await chatMessages(said, takesImages, ({ id }) =>
      this.messages.attachmentsOf(conversationId, id),
    );
    return { model, messages };
  }

  private async ask(
    tx: Tx,
    conversationId: number,
    model: string,
    { text, attachments, turnId }: Question,
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

  private async refuseSecondAnswer(tx: Tx, conversationId: number): Promise<void> {
    const open = await tx.query<unknown[]>(
      `SELECT FROM conversation_message WHERE conversation_id = $1 AND state = 'open'`,
      [conversationId],
    );
    if (open.length > 0) throw stillAnswering();
  }

  private async requireQuestion(tx: Tx, conversationId: number): Promise<void> {
    const asked = await tx.query<unknown[]>(
      `SELECT FROM conversation_message WHERE conversation_id = $1 AND role = 'user' LIMIT 1`,
      [conversationId],
    );
    if (asked.length === 0) throw fault('conflict', { message: 'There is no question to ask again.' });
  }
}

function openModel(models: readonly ChatModel[], name: string): ChatModel {
  const found = models.find((model) => model.name === name);
  if (found === undefined) throw fault('model_not_accessible', { param: 'model' });
  return found;
}

const stillAnswering = (): Fault =>
  fault('conflict', {
    message: 'The last message of this conversation is still being answered.',
    details: { reason: 'still-answering' },
  });

/** New words belong to the present organisation, and the conversation to the former one. */
const ofFormerPlace = (): Fault =>
  fault('conflict', {
    message: 'This conversation was begun in another organisation. Begin a new one.',
    details: { reason: 'former-organisation' },
  });
