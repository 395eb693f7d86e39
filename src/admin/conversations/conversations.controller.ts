import { Body, Controller, Query, Req } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { ConversationOversight, ConversationRetention } from '../../chat';
import { fault, rejectStale, versionOf } from '../../kernel';
import { Database, everyRow, Settings } from '../../platform';
import {
  Access,
  Action,
  adminScope,
  Csv,
  csvTable,
  type CsvContent,
  done,
  type ActionResult,
  type HttpRequest,
  listPage,
  type ListPageModel,
  Page,
  PageRenderer,
} from '../../web';
import { conversationCsvColumns, conversationsList } from './conversations-model';
import { ConversationsQuery, filterOf, RetentionForm } from './conversations.dto';

const PATH = '/dashboard/admin/conversations';
const PAGE_SIZE = 50;
const EXPORT_BATCH_SIZE = 500;

@Controller()
export class OverseenConversationsController {
  constructor(
    private readonly database: Database,
    private readonly oversight: ConversationOversight,
    private readonly retention: ConversationRetention,
    private readonly activity: ActivityLog,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
  ) {}

  @Page(PATH, 'pages/admin/conversations', Access.role('org_admin'))
  async show(
    @Query() query: ConversationsQuery,
    @Req() request: HttpRequest,
  ): Promise<ListPageModel & { retention: { days: string; version: string } | null }> {
    const scope = adminScope(request);
    const translate = this.pages.textsFor(request);
    const page = await this.oversight.list(scope, {
      ...filterOf(query),
      cursor: query.cursor ?? null,
      limit: PAGE_SIZE,
    });
    const model = listPage(request, page, conversationsList(request, query, translate), translate);
    if (scope.kind !== 'organisation') return { ...model, retention: null };
    const days = await this.retention.daysOf(scope.organisationId);
    return { ...model, retention: { days: days === null ? '' : String(days), version: versionOf({ days }) } };
  }

  @Csv(`${PATH}/export`, Access.role('org_admin'), 'conversations')
  export(@Query() query: ConversationsQuery, @Req() request: HttpRequest): CsvContent {
    const scope = adminScope(request);
    const limit = this.settings.auditExportMaxRows;
    const rows = everyRow(limit, EXPORT_BATCH_SIZE, (page) =>
      this.oversight.list(scope, { ...filterOf(query), ...page }),
    );
    return csvTable(rows, conversationCsvColumns, limit);
  }

  /** Sets the retention period of an organisation; the hourly job applies it. */
  @Action(`${PATH}/retention`, Access.role('org_admin'), { audit: 'retention.changed' })
  async setRetention(
    @Body() { days = null, version }: RetentionForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const scope = adminScope(request);
    if (scope.kind !== 'organisation') {
      throw fault('invalid_request', {
        message: 'Choose an organisation first: each has its own retention.',
        details: { reason: 'choose-organisation' },
      });
    }
    const { organisationId } = scope;
    await this.database.transaction(async (tx) => {
      const before = await this.retention.lockedDaysOf(tx, organisationId);
      rejectStale(version, versionOf({ days: before }));
      await this.retention.setDays(tx, organisationId, days);
      await this.activity.write(tx, {
        action: 'retention.changed',
        object: { type: 'organisation', id: organisationId },
        concerns: { organisationId },
        changes: { conversation_days: [before, days] },
      });
    });
    return done(PATH, { organisation_id: organisationId, days }, 'conversations.retention-saved');
  }
}
