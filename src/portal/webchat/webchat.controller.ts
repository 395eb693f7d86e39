import { Controller, Get, Header, Query, Req, StreamableFile } from '@nestjs/common';
import { ChatModels, ConversationMessages, Conversations } from '../../chat';
import { AnswerFeedback } from '../../quality';
import { DecisionQuery } from '../../autorouter';
import { Access, actorOf, type HttpRequest, Page, PageRenderer, PathId } from '../../web';
import { markdownOf } from './markdown-export';
import {
  type ConversationListModel,
  conversationList,
  type Localisation,
  modelChoices,
  thread,
  type ThreadModel,
} from './webchat-model';
import { WebchatQuery } from './webchat.forms';

const CONVERSATIONS_A_PAGE = 30;
const MESSAGES_A_PAGE = 50;

/** A person's own conversations, in any role; administrators oversee others on their own pages. */
@Controller()
export class WebchatController {
  constructor(
    private readonly conversations: Conversations,
    private readonly messages: ConversationMessages,
    private readonly models: ChatModels,
    private readonly feedback: AnswerFeedback,
    private readonly decisions: DecisionQuery,
    private readonly pages: PageRenderer,
  ) {}

  @Page('/dashboard/webchat', 'pages/dashboard/webchat', Access.session())
  async begin(@Query() query: WebchatQuery, @Req() request: HttpRequest) {
    const actor = actorOf(request);
    const localisation = this.localisationOf(request);
    const [models, { rows }, list] = await Promise.all([
      this.models.for(actor),
      this.conversations.list(actor.userId, { limit: 1 }),
      this.listFor(actor.userId, query, null, localisation),
    ]);
    // The model that a person used last is the one they want.
    const usual =
      models.find(({ name }) => name === rows[0]?.model) ?? models.find(({ price }) => price !== null);
    const takesImages = models.filter((model) => model.takesImages).map(({ name }) => name);
    return {
      list,
      models: modelChoices(models, usual?.name ?? '', localisation),
      takesImages: takesImages.join('\n'),
    };
  }

  @Page('/dashboard/webchat/:conv_id', 'pages/dashboard/webchat-thread', Access.session())
  async show(
    @PathId('conv_id') id: number,
    @Query() query: WebchatQuery,
    @Req() request: HttpRequest,
  ): Promise<{ list: ConversationListModel; thread: ThreadModel }> {
    const actor = actorOf(request);
    const localisation = this.localisationOf(request);
    const conversation = await this.conversations.get(actor.userId, id);
    const [page, list, models] = await Promise.all([
      this.messages.page(conversation.id, { cursor: query.cursor ?? null, limit: MESSAGES_A_PAGE }),
      this.listFor(actor.userId, query, conversation.id, localisation),
      this.models.for(actor),
    ]);
    const requests = page.rows.flatMap(({ requestId }) => requestId ?? []);
    const [thumbs, choices] = await Promise.all([
      this.feedback.thumbsOf(actor.userId, requests),
      this.decisions.ofRequests(actor.userId, requests),
    ]);
    return { list, thread: thread({ conversation, page, models, thumbs, choices }, localisation) };
  }

  @Get('/dashboard/webchat/:conv_id/export')
  @Access.session()
  @Header('content-type', 'text/markdown; charset=utf-8')
  async export(@PathId('conv_id') id: number, @Req() request: HttpRequest): Promise<StreamableFile> {
    const { userId } = actorOf(request);
    const conversation = await this.conversations.get(userId, id);
    const newestFirst = await Array.fromAsync(this.messages.all(conversation.id));
    const translate = this.pages.textsFor(request);
    return new StreamableFile(Buffer.from(markdownOf(conversation, newestFirst.reverse(), translate)), {
      disposition: `attachment; filename="conversation-${conversation.id}.md"`,
    });
  }

  private async listFor(
    userId: number,
    { list, q = '' }: WebchatQuery,
    current: number | null,
    localisation: Localisation,
  ): Promise<ConversationListModel> {
    const words = q.trim();
    const page =
      words === ''
        ? await this.conversations.list(userId, { cursor: list ?? null, limit: CONVERSATIONS_A_PAGE })
        : {
            rows: await this.conversations.search(userId, words, CONVERSATIONS_A_PAGE),
            next: null,
            previous: null,
          };
    return conversationList(page, current, words, localisation);
  }

  private localisationOf(request: HttpRequest): Localisation {
    return {
      locale: this.pages.localeOf(request),
      timeZone: this.pages.timeZoneOf(request),
      translate: this.pages.textsFor(request),
    };
  }
}
