import { Controller, Get, Header, Query, Req, StreamableFile } from '@nestjs/common';
import { ChatModels, ConversationMessages, ConversationsService } from '../../chat';
import { AnswerFeedback } from '../../quality';
import { DecisionQuery } from '../../autorouter';
import { Access, actorOf, type HttpRequest, Page, PageRenderer, PathId } from '../../web';
import { exportMarkdown } from './markdown-export';
import {
  type ConversationListModel,
  conversationList,
  type ChatLocalisation,
  modelChoices,
  threadModel,
  type ThreadModel,
} from './webchat-model';
import { WebchatQuery } from './webchat.dto';

const CONVERSATIONS_PER_PAGE = 30;
const MESSAGES_PER_PAGE = 50;

/** A user's own conversations, in any role; administrators oversee others on their own pages. */
@Controller()
export class WebchatController {
  constructor(
    private readonly conversations: ConversationsService,
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
      this.models.listFor(actor),
      this.conversations.list(actor.userId, { limit: 1 }),
      this.loadList(actor.userId, query, null, localisation),
    ]);
    // Preselects the model that the user used last.
    const preselected =
      models.find(({ name }) => name === rows[0]?.model) ?? models.find(({ price }) => price !== null);
    const takesImages = models.filter((model) => model.takesImages).map(({ name }) => name);
    return {
      list,
      models: modelChoices(models, preselected?.name ?? '', localisation),
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
      this.messages.page(conversation.id, { cursor: query.cursor ?? null, limit: MESSAGES_PER_PAGE }),
      this.loadList(actor.userId, query, conversation.id, localisation),
      this.models.listFor(actor),
    ]);
    const requests = page.rows.flatMap(({ requestId }) => requestId ?? []);
    const [thumbs, choices] = await Promise.all([
      this.feedback.thumbsOf(actor.userId, requests),
      this.decisions.ofRequests(actor.userId, requests),
    ]);
    return { list, thread: threadModel({ conversation, page, models, thumbs, choices }, localisation) };
  }

  @Get('/dashboard/webchat/:conv_id/export')
  @Access.session()
  @Header('content-type', 'text/markdown; charset=utf-8')
  async export(@PathId('conv_id') id: number, @Req() request: HttpRequest): Promise<StreamableFile> {
    const { userId } = actorOf(request);
    const conversation = await this.conversations.get(userId, id);
    const newestFirst = await Array.fromAsync(this.messages.listAll(conversation.id));
    const translate = this.pages.textsFor(request);
    return new StreamableFile(Buffer.from(exportMarkdown(conversation, newestFirst.reverse(), translate)), {
      disposition: `attachment; filename="conversation-${conversation.id}.md"`,
    });
  }

  private async loadList(
    userId: number,
    { list, q = '' }: WebchatQuery,
    current: number | null,
    localisation: ChatLocalisation,
  ): Promise<ConversationListModel> {
    const searchText = q.trim();
    const page =
      searchText === ''
        ? await this.conversations.list(userId, { cursor: list ?? null, limit: CONVERSATIONS_PER_PAGE })
        : {
            rows: await this.conversations.search(userId, searchText, CONVERSATIONS_PER_PAGE),
            next: null,
            previous: null,
          };
    return conversationList(page, current, searchText, localisation);
  }

  private localisationOf(request: HttpRequest): ChatLocalisation {
    return {
      locale: this.pages.localeOf(request),
      timeZone: this.pages.timeZoneOf(request),
      translate: this.pages.textsFor(request),
    };
  }
}
