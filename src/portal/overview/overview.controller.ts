import { Controller, Query, Req } from '@nestjs/common';
import { LatencyQuery, RequestLogQuery, UsageQuery } from '../../audit';
import { ReachedBudgets } from '../../billing';
import { CatalogueService } from '../../catalogue';
import { PersonalSettings } from '../../identity';
import { type Actor, atLeast, periodBefore, resolvePeriod, type Scope } from '../../kernel';
import { KeyRegister } from '../../keys';
import { requestSnippets } from '../../views';
import {
  Access,
  actorOf,
  type HttpRequest,
  type Localisation,
  localisationOf,
  Page,
  PageRenderer,
  viewScope,
} from '../../web';
import { PersonalNotices } from '../notices/personal-notices';
import { DocumentLibrary } from '../public/documents/document-library';
import { exampleModels } from '../public/example-models';
import { publicModels } from '../public/public-models';
import { firstRunCard } from './first-run';
import { overviewModel } from './overview-model';
import { FundsService } from './funds.service';
import { setUpCard, type SetUpCardModel } from './set-up-card';
import { SetUpService } from './set-up.service';
import { OverviewQuery } from './overview.dto';

const MAX_MODELS = 7;
const LISTED_REQUESTS = 10;
const MAX_KEY_BANNERS = 5;
const MAX_BUDGET_BANNERS = 5;
const LATENCY_SAMPLE_SIZE = 1_000;

@Controller()
export class OverviewController {
  constructor(
    private readonly usage: UsageQuery,
    private readonly requests: RequestLogQuery,
    private readonly latencies: LatencyQuery,
    private readonly funds: FundsService,
    private readonly budgets: ReachedBudgets,
    private readonly keys: KeyRegister,
    private readonly catalogue: CatalogueService,
    private readonly notices: PersonalNotices,
    private readonly personal: PersonalSettings,
    private readonly library: DocumentLibrary,
    private readonly setUp: SetUpService,
    private readonly pages: PageRenderer,
  ) {}

  @Page('/dashboard', 'pages/dashboard/overview', Access.session())
  async show(@Query() { days }: OverviewQuery, @Req() request: HttpRequest) {
    const scope = viewScope(request);
    const localisation = localisationOf(this.pages, request);
    const isOwn = scope.kind === 'user';
    const now = Date.now();
    const zone = localisation.timeZone;
    const period = resolvePeriod({ days }, zone, now);
    const lastDay = resolvePeriod({ hours: 24 }, zone, now);
    const byDay = { bucket: 'day', zone } as const;
    const [
      usage,
      earlier,
      latest,
      latencies,
      funds,
      budgets,
      troubled,
      ending,
      ownKeys,
      notices,
      muted,
      setUp,
    ] = await Promise.all([
      this.usage.read(scope, { ...byDay, ...period, groupBy: 'model', mostGroups: MAX_MODELS }),
      this.usage.read(scope, { ...byDay, ...periodBefore(period) }),
      this.requests.page(scope, {}, { limit: LISTED_REQUESTS }),
      this.latencies.newest(scope, lastDay.from, LATENCY_SAMPLE_SIZE),
      this.funds.load(scope),
      isOwn ? this.budgets.listForUser(scope.userId, MAX_BUDGET_BANNERS) : [],
      isOwn ? [] : this.keys.listAtRisk(scope, MAX_KEY_BANNERS),
      isOwn ? this.keys.listExpiring(scope, MAX_KEY_BANNERS) : [],
      this.keys.list(scope, { kind: 'client', limit: 1 }),
      isOwn ? this.notices.of(scope.userId) : [],
      this.personal.mutedNotices(actorOf(request).userId),
      this.loadSetUpCard(actorOf(request), localisation),
    ]);
    const facts = {
      request,
      days,
      period,
      usage,
      earlier,
      latest: latest.rows,
      latencies,
      funds,
      budgets,
      troubled,
      ending,
      notices,
      muted,
    };
    const isFirstRun = isOwn && latest.rows.length === 0;
    return {
      ...overviewModel(facts, localisation),
      setUp,
      ...(isFirstRun
        ? {
            firstRun: firstRunCard(
              { funds, key: ownKeys.rows[0] ?? null, snippets: this.snippets(request) },
              localisation.translate,
            ),
          }
        : {}),
    };
  }

  /** Polled by the first page every few seconds until there is a request; a page of its own without scripts. */
  @Page('/dashboard/first-request', 'pages/dashboard/first-request', Access.session())
  async firstRequest(@Req() request: HttpRequest) {
    const latest = await this.findLatest(viewScope(request));
    return { hasArrived: latest !== null, arrivedAt: latest?.createdAt };
  }

  @Page('/dashboard/guide', 'pages/dashboard/guide', Access.session())
  async guide(@Req() request: HttpRequest) {
    // Uses the reader's own key, even in an administrator view.
    const ownScope = { kind: 'user', userId: actorOf(request).userId } as const;
    const { rows } = await this.keys.list(ownScope, { kind: 'client', status: 'active', limit: 1 });
    const pageContext = this.pages.portalOf(request);
    return { ...this.library.page('guide', pageContext), key: rows[0] ?? null, baseUrl: pageContext.baseUrl };
  }

  /** Shown to operators until they dismiss it. */
  private async loadSetUpCard(
    { userId, role }: Actor,
    { translate }: Localisation,
  ): Promise<SetUpCardModel | null> {
    if (!atLeast(role, 'platform_admin')) return null;
    if (await this.personal.isHelpClosed(userId, 'setup')) return null;
    return setUpCard(await this.setUp.load(userId), translate);
  }

  private async findLatest(scope: Scope): Promise<{ readonly createdAt: Date } | null> {
    const { rows } = await this.requests.page(scope, {}, { limit: 1 });
    return rows[0] ?? null;
  }

  private snippets(request: HttpRequest) {
    const { chat, large } = exampleModels(publicModels(this.catalogue));
    return requestSnippets({
      id: 'first',
      label: this.pages.textsFor(request)('snippet.languages'),
      baseUrl: this.pages.portalOf(request).baseUrl,
      key: 'svc_…',
      model: chat,
      largeModel: large,
    });
  }
}
