import { Controller, Query, Req } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type Repository } from 'typeorm';
import {
  type ActivityEntry,
  ActivityLog,
  ActivityQuery,
  ChainBreaks,
  ChainStates,
  type ExtensionAction,
} from '../../audit';
import { Extensions } from '../../extensions';
import { Organisation } from '../../identity';
import { Database, Settings } from '../../platform';
import { type BannerModel, formatTime } from '../../views';
import {
  Access,
  adminScope,
  Audited,
  Csv,
  csvTable,
  type CsvContent,
  extensionActions,
  type HttpRequest,
  listPage,
  type ListPageModel,
  Page,
  PageRenderer,
} from '../../web';
import { auditLogCsvColumns } from './audit-log-csv';
import { auditLogList } from './audit-log-model';
import { breakBanner, sealBanner } from './seal-banner';
import { AuditLogQuery, filterOf } from './audit-log.dto';

const PAGE_SIZE = 50;

@Controller()
export class AuditLogController {
  private readonly extensionActions: readonly ExtensionAction[];

  constructor(
    @InjectRepository(Organisation) private readonly organisations: Repository<Organisation>,
    private readonly database: Database,
    private readonly activity: ActivityQuery,
    private readonly log: ActivityLog,
    private readonly chains: ChainStates,
    private readonly breaks: ChainBreaks,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
    extensions: Extensions,
  ) {
    this.extensionActions = extensionActions(extensions);
  }

  @Page('/dashboard/admin/audit', 'pages/admin/audit', Access.role('org_admin'))
  async show(
    @Query() query: AuditLogQuery,
    @Req() request: HttpRequest,
  ): Promise<ListPageModel & { cap: string; seal: BannerModel; broken: BannerModel | null }> {
    const scope = adminScope(request);
    const translate = this.pages.textsFor(request);
    const timeZone = this.pages.timeZoneOf(request);
    const page = await this.activity.page(scope, {
      ...filterOf(query, timeZone),
      cursor: query.cursor,
      limit: PAGE_SIZE,
    });
    const organisations = await this.organisationsOf(page.rows);
    const list = auditLogList({
      request,
      query,
      scope,
      timeZone,
      translate,
      organisations,
      extensionActions: this.extensionActions,
    });
    const cap = translate('audit.cap', { count: this.settings.auditExportMaxRows });
    const locale = this.pages.localeOf(request);
    const localisation = { locale, timeZone, translate };
    const seal = sealBanner(await this.chains.of(scope), localisation);
    const broken = scope.kind === 'platform' ? breakBanner(await this.breaks.listOpen(), localisation) : null;
    const { searchedTo } = page;
    const note =
      searchedTo &&
      translate('list.searched-to', { time: formatTime(locale, timeZone, searchedTo, 'minute') });
    return {
      ...listPage(request, page, { ...list, note }, translate),
      cap,
      seal,
      broken,
    };
  }

  @Csv('/dashboard/admin/audit/export', Access.role('org_admin'), 'audit')
  @Audited('log.exported')
  async export(@Query() query: AuditLogQuery, @Req() request: HttpRequest): Promise<CsvContent> {
    const scope = adminScope(request);
    const filter = filterOf(query, this.pages.timeZoneOf(request));
    const limit = this.settings.auditExportMaxRows;
    const { cursor: _cursor, open: _open, ...filters } = query;
    await this.database.transaction((tx) =>
      this.log.write(tx, {
        action: 'log.exported',
        object: { type: 'log', label: 'audit' },
        ...(scope.kind === 'organisation' ? { concerns: { organisationId: scope.organisationId } } : {}),
        changes: Object.fromEntries(
          Object.entries(filters).flatMap(([name, value]) => (value ? [[name, [null, String(value)]]] : [])),
        ),
      }),
    );
    const entries = this.activity.all(scope, { ...filter, limit });
    return csvTable(entries, auditLogCsvColumns, limit);
  }

  private async organisationsOf(entries: readonly ActivityEntry[]): Promise<ReadonlyMap<number, string>> {
    const ids = new Set(entries.flatMap(({ organisationId: id }) => (id === null ? [] : [id])));
    if (ids.size === 0) return new Map();
    const rows = await this.organisations.findBy({ id: In([...ids]) });
    return new Map(rows.map(({ id, name }) => [id, name]));
  }
}
