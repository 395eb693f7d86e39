import { Controller, Query, Req } from '@nestjs/common';
import { UsageQuery, type UsageQuestion } from '../../audit';
import { AdminViewService, OwnProjects } from '../../identity';
import { type Nano, periodNamed, type Scope } from '../../kernel';
import { KeyRegister, type ManagedKey } from '../../keys';
import { everyRow, Settings } from '../../platform';
import {
  Access,
  actorOf,
  Csv,
  csvTable,
  type CsvTable,
  type HttpRequest,
  listPage,
  localisationOf,
  Page,
  PageRenderer,
  viewScope,
} from '../../web';
import { USUAL_DAYS } from '../lists/periods';
import { organisationsFor } from '../lists/organisation-field';
import { keyFile, keysList } from './keys-model';
import { filterOf, KeysQuery } from './keys-query.form';

const ROWS_A_PAGE = 50;
const ROWS_AT_ONCE = 500;

/** The keys of a view: one's own, or in the administration's view all that the role may see. */
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
    const period = periodNamed({ days: USUAL_DAYS }, localisation.timeZone, Date.now());
    const [page, projects, organisations] = await Promise.all([
      this.register.list(scope, { ...filterOf(query), cursor: query.cursor, limit: ROWS_A_PAGE }),
      this.projects.list(actorOf(request).userId),
      organisationsFor(this.names, scope, query.organisation),
    ]);
    const [spent, lastUsed, troubled] = await Promise.all([
      this.spentBy(scope, page.rows, { ...period, zone: localisation.timeZone }),
      this.register.lastUsed(page.rows),
      query.cursor === undefined ? this.register.inTrouble(scope, 5) : [],
    ]);
    const facts = { period, spent, lastUsed, usualRate: this.settings.keyRateLimitRpm };
    const isOwnView = scope.kind === 'user';
    const description = keysList(
      { request, query, projects, organisations, facts, isOwnView, troubled },
      localisation,
    );
    return {
      ...listPage(request, page, description.list, localisation.translate),
      attention: description.attention,
    };
  }

  @Csv('/dashboard/keys/export', Access.session(), 'keys')
  export(@Query() query: KeysQuery, @Req() request: HttpRequest): CsvTable {
    const limit = this.settings.auditExportMaxRows;
    const scope = viewScope(request);
    const keys = everyRow(limit, ROWS_AT_ONCE, (page) =>
      this.register.list(scope, { ...filterOf(query), ...page }),
    );
    return csvTable(keys, keyFile, limit);
  }

  /** It answers by the number of each key that spent something. */
  private async spentBy(
    scope: Scope,
    keys: readonly ManagedKey[],
    period: Pick<UsageQuestion, 'from' | 'to' | 'zone'>,
  ): Promise<ReadonlyMap<number, Nano>> {
    const keyIds = keys.map(({ id }) => id);
    if (keyIds.length === 0) return new Map();
    const { groups } = await this.usage.ask(scope, {
      ...period,
      bucket: 'month',
      groupBy: 'key',
      filter: { keyIds },
      mostGroups: keyIds.length,
    });
    return new Map(groups.map(({ value, sums }) => [Number(value), sums.costNano]));
  }
}
