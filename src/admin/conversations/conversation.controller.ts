import type { ServerResponse } from 'node:http';
import { Body, Controller, Req, Res } from '@nestjs/common';
import { ActivityLog, type ActionName } from '../../audit';
import { ConversationMessages, ConversationOversight, type OverseenConversation } from '../../chat';
import { Database, type Tx } from '../../platform';
import {
  Access,
  Action,
  adminScope,
  done,
  type Done,
  type HttpRequest,
  Page,
  PageFrames,
  PageRenderer,
  PathId,
  wantsPage,
} from '../../web';
import { contentOf, conversationFacts } from './conversations-model';
import { ViewContentForm } from './conversations.form';

const PATH = '/dashboard/admin/conversations';
const VIEW = 'pages/admin/conversation';
const MOST_SHOWN = 500;

/**
 * One conversation of another person. Reading its content needs a reason and is logged; the owner can see the entry.
 */
@Controller()
export class OverseenConversationController {
  constructor(
    private readonly database: Database,
    private readonly oversight: ConversationOversight,
    private readonly messages: ConversationMessages,
    private readonly activity: ActivityLog,
    private readonly pages: PageRenderer,
    private readonly frames: PageFrames,
  ) {}

  @Page(`${PATH}/:conv_id`, VIEW, Access.role('org_admin'))
  async show(@PathId('conv_id') id: number, @Req() request: HttpRequest) {
    const conversation = await this.oversight.get(adminScope(request), id);
    return { conversation: this.factsOf(conversation, request) };
  }

  @Action(`${PATH}/:conv_id/content`, Access.role('org_admin'), { audit: 'conversation.content-viewed' })
  async content(
    @PathId('conv_id') id: number,
    @Body() { reason }: ViewContentForm,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    const scope = adminScope(request);
    const { overseen, head } = await this.database.transaction(async (tx) => {
      const overseen = await this.oversight.get(scope, id, tx);
      await this.put(tx, 'conversation.content-viewed', overseen, reason);
      return { overseen, head: await this.oversight.content(scope, id, tx) };
    });
    const newestFirst = await this.messages.page(id, { limit: MOST_SHOWN });
    const messages = [...newestFirst.rows].reverse();
    if (!wantsPage(request)) {
      return {
        id,
        title: head.title,
        messages: messages.map(({ role, model, text, createdAt }) => ({
          role,
          model,
          content: text,
          created_at: createdAt.toISOString(),
        })),
      };
    }
    const conversation = {
      ...this.factsOf(overseen, request),
      content: contentOf(head, messages, overseen.person, this.pages.textsFor(request)),
      shown: messages.length,
      isCut: newestFirst.next !== null,
    };
    await this.frames.load(request, response);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    return this.pages.page(VIEW, { conversation }, request);
  }

  @Action('/api/admin/conversations/:conv_id', Access.role('org_admin'), {
    audit: 'conversation.deleted',
    verb: 'delete',
  })
  remove(@PathId('conv_id') id: number, @Req() request: HttpRequest): Promise<Done> {
    return this.removed(id, request);
  }

  /** The same for forms, which know no DELETE. */
  @Action(`${PATH}/:conv_id/delete`, Access.role('org_admin'), { audit: 'conversation.deleted' })
  removeByForm(@PathId('conv_id') id: number, @Req() request: HttpRequest): Promise<Done> {
    return this.removed(id, request);
  }

  private async removed(id: number, request: HttpRequest): Promise<Done> {
    const scope = adminScope(request);
    await this.database.transaction(async (tx) => {
      await this.put(tx, 'conversation.deleted', await this.oversight.remove(scope, id, tx));
    });
    return done(PATH, { id, deleted: true }, 'chat.deleted');
  }

  private put(
    tx: Tx,
    action: ActionName,
    { id, userId, organisationId, departmentId }: OverseenConversation,
    reason?: string,
  ): Promise<void> {
    return this.activity.write(tx, {
      action,
      object: { type: 'conversation', id },
      concerns: { userId, organisationId, departmentId },
      ...(reason === undefined ? {} : { reason }),
    });
  }

  private factsOf(conversation: OverseenConversation, request: HttpRequest) {
    const { id, person } = conversation;
    return { id, person, facts: conversationFacts(conversation, this.pages.textsFor(request)) };
  }
}
