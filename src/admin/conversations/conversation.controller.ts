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
  type ActionResult,
  type HttpRequest,
  Page,
  PageFrames,
  PageRenderer,
  PathId,
  wantsPage,
} from '../../web';
import { contentOf, conversationFigures } from './conversations-model';
import { ViewContentForm } from './conversations.dto';

const PATH = '/dashboard/admin/conversations';
const VIEW = 'pages/admin/conversation';
const MAX_MESSAGES = 500;

/** A conversation of another user. Reading its content needs a reason and is logged; the owner can see the entry. */
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
    return { conversation: this.overviewOf(conversation, request) };
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
      await this.record(tx, 'conversation.content-viewed', overseen, reason);
      return { overseen, head: await this.oversight.content(scope, id, tx) };
    });
    const newestFirst = await this.messages.page(id, { limit: MAX_MESSAGES });
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
      ...this.overviewOf(overseen, request),
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
  remove(@PathId('conv_id') id: number, @Req() request: HttpRequest): Promise<ActionResult> {
    return this.removeConversation(id, request);
  }

  @Action(`${PATH}/:conv_id/delete`, Access.role('org_admin'), { audit: 'conversation.deleted' })
  removeByForm(@PathId('conv_id') id: number, @Req() request: HttpRequest): Promise<ActionResult> {
    return this.removeConversation(id, request);
  }

  private async removeConversation(id: number, request: HttpRequest): Promise<ActionResult> {
    const scope = adminScope(request);
    await this.database.transaction(async (tx) => {
      await this.record(tx, 'conversation.deleted', await this.oversight.remove(scope, id, tx));
    });
    return done(PATH, { id, deleted: true }, 'chat.deleted');
  }

  private record(
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

  private overviewOf(conversation: OverseenConversation, request: HttpRequest) {
    const { id, person } = conversation;
    return { id, person, facts: conversationFigures(conversation, this.pages.textsFor(request)) };
  }
}
