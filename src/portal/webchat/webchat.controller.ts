import { Controller, Get, Param, Query, Req, StreamableFile } from '@nestjs/common';
import { ChatModels, conversationIdOf, ConversationMessages, Conversations, type Message } from '../../chat';
import { Access, actorOf, FormPipe, type HttpRequest, Page, PageRenderer } from '../../web';
import { markdownOf } from './markdown-export';
import {
  type ConversationListModel,
  conversationList,
  type Looks,
  modelChoices,
  thread,
  type ThreadModel,
} from './webchat-model';
import { WebchatQuery } from './webchat.forms';

const CONVERSATIONS_A_PAGE = 30;
const MESSAGES_A_PAGE = 50;

/** A person's own conversations, whatever their role: others are overseen on pages of the administration. */
@Controller()
export class WebchatController {
  constructor(
    private readonly conversations: Conversations,
    private readonly messages: ConversationMessages,
    private readonly models: ChatModels,
    private readonly pages: PageRenderer,
  ) {}

  @Page('/dashboard/webchat', 'pages/dashboard/webchat', Access.session())
  async begin(@Query() { list }: WebchatQuery, @Req() request: HttpRequest): Promise<object> {
    const actor = actorOf(request);
    const looks = this.looksOf(request);
    const models = this.models.for(actor);
    return {
      list: await this.listFor(actor.userId, list, null, looks),
      models: modelChoices(models, models[0]?.name ?? '', looks),
    };
  }

  @Page('/dashboard/webchat/:conv_id', 'pages/dashboard/webchat-thread', Access.session())
  async show(
    @Param('conv_id') id: string,
    @Query() { cursor, list }: WebchatQuery,
    @Req() request: HttpRequest,
  ): Promise<{ list: ConversationListModel; thread: ThreadModel }> {
    const actor = actorOf(request);
    const looks = this.looksOf(request);
    const conversation = await this.conversations.get(actor.userId, conversationIdOf(id));
    const [messages, listed] = await Promise.all([
      this.messages.page(conversation.id, { cursor: cursor ?? null, limit: MESSAGES_A_PAGE }),
      this.listFor(actor.userId, list, conversation.id, looks),
    ]);
    return { list: listed, thread: thread(conversation, messages, this.models.for(actor), looks) };
  }

  @Get('/dashboard/webchat/:conv_id/export')
  @Access.session()
  async export(@Param('conv_id', FormPipe) id: string, @Req() request: HttpRequest): Promise<StreamableFile> {
    const { userId } = actorOf(request);
    const conversation = await this.conversations.get(userId, conversationIdOf(id));
    const newestFirst: Message[] = [];
    for await (const message of this.messages.all(conversation.id)) newestFirst.push(message);
    const translate = this.pages.textsFor(request);
    return new StreamableFile(Buffer.from(markdownOf(conversation, newestFirst.reverse(), translate)), {
      type: 'text/markdown; charset=utf-8',
      disposition: `attachment; filename="conversation-${conversation.id}.md"`,
    });
  }

  private async listFor(
    userId: number,
    cursor: string | undefined,
    current: number | null,
    looks: Looks,
  ): Promise<ConversationListModel> {
    const page = await this.conversations.list(userId, {
      cursor: cursor ?? null,
      limit: CONVERSATIONS_A_PAGE,
    });
    return conversationList(page, current, looks);
  }

  private looksOf(request: HttpRequest): Looks {
    return {
      locale: this.pages.localeOf(request),
      timeZone: this.pages.timeZoneOf(request),
      translate: this.pages.textsFor(request),
    };
  }
}
