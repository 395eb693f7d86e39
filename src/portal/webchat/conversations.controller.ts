import { Body, Controller, Query, Req } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { ChatModels, ConversationsService, WebchatKeysService } from '../../chat';
import { fault, toJsonNumber } from '../../kernel';
import { Database } from '../../platform';
import { Access, Action, actorOf, Data, done, type ActionResult, type HttpRequest, PathId } from '../../web';
import {
  ConversationListQuery,
  ConversationModelForm,
  ConversationTitleForm,
  NewConversationForm,
} from './webchat.dto';

const PAGE_PATH = '/dashboard/webchat';
const PAGE_SIZE = 50;
const OWN_CONVERSATION = {
  audit: { none: 'a conversation is its owner’s alone, and its requests are on record' },
} as const;

/** Manages a user's own conversations; others count as missing. */
@Controller()
export class ConversationsController {
  constructor(
    private readonly database: Database,
    private readonly conversations: ConversationsService,
    private readonly models: ChatModels,
    private readonly keys: WebchatKeysService,
    private readonly activity: ActivityLog,
  ) {}

  /** Issues the key of the chat. The secret is shown only once, and the previous one becomes invalid. */
  @Action('/api/webchat-key', Access.session(), { audit: ['key.created', 'key.rotated'] })
  async key(@Req() request: HttpRequest) {
    const { id, publicId, text, expiresAt, budget } = await this.keys.issue(actorOf(request));
    return {
      id,
      key_public_id: publicId,
      key: text,
      expires_at: expiresAt.toISOString(),
      budget_limit: budget === null ? null : toJsonNumber(budget.limit),
      budget_used: budget === null ? null : toJsonNumber(budget.spent),
      budget_period: budget?.period ?? null,
      routes: ['POST /v1/chat/completions'],
    };
  }

  @Data('/api/conversations', Access.session())
  async list(@Query() query: ConversationListQuery, @Req() request: HttpRequest) {
    const { userId } = actorOf(request);
    const { rows, next, previous } = await this.conversations.list(userId, {
      cursor: query.cursor ?? null,
      limit: PAGE_SIZE,
    });
    return {
      object: 'list',
      data: rows.map(({ id, title, model, messages, costNano, createdAt, updatedAt }) => ({
        id,
        title,
        model,
        messages,
        cost_usd: toJsonNumber(costNano),
        created_at: createdAt.toISOString(),
        updated_at: updatedAt.toISOString(),
      })),
      next_cursor: next,
      previous_cursor: previous,
    };
  }

  @Action('/api/conversations', Access.session(), OWN_CONVERSATION)
  async create(
    @Body() { title, model }: NewConversationForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const actor = actorOf(request);
    const { name: modelName } = await this.models.getOrDefault(actor, model);
    const id = await this.database.transaction((tx) =>
      this.conversations.create(tx, actor.userId, modelName, title?.trim() || null),
    );
    const { createdAt } = await this.conversations.get(actor.userId, id);
    return done(`${PAGE_PATH}/${id}`, {
      id,
      title: title?.trim() || null,
      model: modelName,
      created_at: createdAt.toISOString(),
    });
  }

  @Action('/api/conversations/:conv_id', Access.session(), { audit: 'conversation.deleted', verb: 'delete' })
  remove(@PathId('conv_id') id: number, @Req() request: HttpRequest): Promise<ActionResult> {
    return this.removeConversation(id, request);
  }

  /** Alias for HTML forms, which cannot send DELETE. */
  @Action('/dashboard/webchat/:conv_id/delete', Access.session(), { audit: 'conversation.deleted' })
  removeByForm(@PathId('conv_id') id: number, @Req() request: HttpRequest): Promise<ActionResult> {
    return this.removeConversation(id, request);
  }

  @Action('/api/conversations/:conv_id/model', Access.session(), OWN_CONVERSATION)
  async chooseModel(
    @PathId('conv_id') id: number,
    @Body() { model }: ConversationModelForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const actor = actorOf(request);
    await this.conversations.get(actor.userId, id);
    const { name, takesImages } = await this.models.get(actor, model);
    await this.database.transaction((tx) => this.conversations.chooseModel(tx, actor.userId, id, name));
    return done(`${PAGE_PATH}/${id}`, {
      id,
      model: name,
      takes_images: takesImages,
    });
  }

  @Action('/api/conversations/:conv_id/title', Access.session(), OWN_CONVERSATION)
  async rename(
    @PathId('conv_id') id: number,
    @Body() { title }: ConversationTitleForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const { userId } = actorOf(request);
    if (title.trim() === '') throw fault('missing_fields', { param: 'title' });
    await this.database.transaction((tx) => this.conversations.rename(tx, userId, id, title.trim()));
    return done(`${PAGE_PATH}/${id}`, {
      id,
      title: title.trim(),
    });
  }

  private async removeConversation(id: number, request: HttpRequest): Promise<ActionResult> {
    const { userId } = actorOf(request);
    await this.database.transaction(async (tx) => {
      await this.conversations.remove(tx, userId, id);
      await this.activity.write(tx, { action: 'conversation.deleted', object: { type: 'conversation', id } });
    });
    return done(PAGE_PATH, { id, deleted: true }, 'chat.deleted');
  }
}
