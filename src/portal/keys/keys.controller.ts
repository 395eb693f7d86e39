import { Controller, Query, Req } from '@nestjs/common';
import { UsageQuery, type UsageRequest } from '../../audit';
import { AdminViewService, OwnProjects } from '../../identity';
import { type Nano, resolvePeriod, type Scope } from '../../kernel';
import { KeyRegister, type ManagedKey } from '../../keys';
import { everyRow, Settings } from '../../platform';
import {
  Access,
  actorOf,
  Csv,
  csvTable,
  type CsvContent,
  type HttpRequest,
  listPage,
  localisationOf,
  Page,
  PageRenderer,
  viewScope,
} from '../../web';
import { DEFAULT_DAYS } from '../lists/periods';
import { organisationsFor } from '../lists/organisation-field';
import { keyFile, keyListModel } from './keys-model';
import { toKeyFilter, KeysQuery } from './keys.dto';

const PAGE_SIZE = 50;
const EXPORT_PAGE_SIZE = 500;

/** The keys of a view: the user's own or, in the administration view, all that the role covers. */
@Controller()
export class KeysController {
  constructor(
    private readonly register: KeyRegister,
    private readonly usage: UsageQuery,
    private readonly projects: OwnProjects,
    private readonly names: AdminViewService,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
  ) {}

  @Page('/dashboard/keys', 'pages/dashboard/keys/list', Access.session())
  async show(@Query() query: KeysQuery, @Req() request: HttpRequest) {
    const scope = viewScope(request);
    const localisation = localisationOf(this.pages, request);
    const period = resolvePeriod({ days: DEFAULT_DAYS }, localisation.timeZone, Date.now());
    const [page, projects, organisations] = await Promise.all([
      this.register.list(scope, { ...toKeyFilter(query), cursor: query.cursor, limit: PAGE_SIZE }),
      this.projects.list(actorOf(request).userId),
      organisationsFor(this.names, scope, query.organisation),
    ]);
    const [spent, lastUsed, troubled] = await Promise.all([
      this.loadSpend(scope, page.rows, { ...period, zone: localisation.timeZone }),
      this.register.lastUsed(page.rows),
      query.cursor === undefined ? this.register.listAtRisk(scope, 5) : [],
    ]);
    const facts = { period, spent, lastUsed, usualRate: this.settings.keyRateLimitRpm };
    const isOwnView = scope.kind === 'user';
    const description = keyListModel(
      { request, query, projects, organisations, facts, isOwnView, troubled },
      localisation,
    );
    return {
      ...listPage(request, page, description.list, localisation.translate),
      attention: description.attention,
    };
  }

  @Csv('/dashboard/keys/export', Access.session(), 'keys')
  export(@Query() query: KeysQuery, @Req() request: HttpRequest): CsvContent {
    const limit = this.settings.auditExportMaxRows;
    const scope = viewScope(request);
    const keys = everyRow(limit, EXPORT_PAGE_SIZE, (page) =>
      this.register.list(scope, { ...toKeyFilter(query), ...page }),
    );
    return csvTable(keys, keyFile, limit);
  }

  /** Returns the spend per key id, without keys that spent nothing. */
  private async loadSpend(
    scope: Scope,
    keys: readonly ManagedKey[],
    period: Pick<UsageRequest, 'from' | 'to' | 'zone'>,
  ): Promise<ReadonlyMap<number, Nano>> {
    const keyIds = keys.map(({ id }) => id);
    if (keyIds.length === 0) return new Map();
    const { groups } = await this.usage.read(scope, {
      ...period,
      bucket: 'month',
      groupBy: 'key',
      filter: { keyIds },
      mostGroups: keyIds.length,
    });
    return new Map(groups.map(({ value, sums }) => [Number(value), sums.costNano]));
  }
}
