import { Controller, Query, Req } from '@nestjs/common';
import { ActivityLog } from '../../../audit';
import { PersonalSettings } from '../../../identity';
import { atLeast, fault, isAdministrator, isUuid, periodNamed } from '../../../kernel';
import { Database, everyRow, Settings } from '../../../platform';
import { AutoSettingsStore, DecisionQuery, effectivePolicy } from '../../../autorouter';
import {
  presentScore,
  reportsOf,
  SampleContent,
  scoreFileColumns,
  scoreFileRow,
  ScoreQuery,
  type ScoreRow,
} from '../../../quality';
import {
  Access,
  actorOf,
  Audited,
  Csv,
  type CsvTable,
  Data,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
  PathText,
} from '../../../web';
import { QualityAccess } from './quality-access';
import { filterOf, QualitativeQuery, ScoreDetailQuery } from './qualitative.form';
import { qualityPage } from './quality-page';
import { reportModels } from './report-model';

const ROWS_A_PAGE = 50;
const ROWS_AT_ONCE = 1_000;

/** The reports say how good answers are, for those whom the organisation lets read them. */
@Controller()
export class QualitativeController {
  constructor(
    private readonly access: QualityAccess,
    private readonly scores: ScoreQuery,
    private readonly decisions: DecisionQuery,
    private readonly auto: AutoSettingsStore,
    private readonly content: SampleContent,
    private readonly personal: PersonalSettings,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
    private readonly database: Database,
    private readonly activity: ActivityLog,
  ) {}

  @Page('/dashboard/qualitative', 'pages/dashboard/qualitative', Access.session())
  async show(@Query() query: QualitativeQuery, @Req() request: HttpRequest) {
    const { userId, role } = actorOf(request);
    const view = await this.access.of(request);
    const isHelpClosed = await this.personal.isHelpClosed(userId, 'qualitative');
    const localisation = localisationOf(this.pages, request);
    const settingsHref = atLeast(role, 'org_admin') ? '/dashboard/qualitative/settings' : null;
    if (view.state !== 'open') {
      const { translate } = localisation;
      const empty = {
        title: translate(`qualitative.${view.state}-title`),
        text: translate(`qualitative.${view.state}-text`),
        ...(settingsHref === null || view.state === 'closed'
          ? {}
          : { action: { label: translate('qualitative.settings'), href: settingsHref } }),
      };
      return { isHelpClosed, empty };
    }
    const period = periodNamed(query, localisation.timeZone, Date.now());
    const filter = filterOf(query, period);
    const [page, scored, share, choices] = await Promise.all([
      this.scores.page(view.scope, filter, { cursor: query.cursor ?? null, limit: ROWS_A_PAGE }),
      this.scores.scored(view.scope, filter, localisation.timeZone),
      this.scores.share(view.scope, filter.from),
      this.scores.choices(view.scope, filter.from),
    ]);
    const facts = { request, query, period, page, share, choices, localisation };
    const reports = await reportsOf(scored, await this.referenceFor(request));
    return {
      ...{ isHelpClosed, settingsHref },
      ...qualityPage(facts),
      ...reportModels(reports, scored, localisation),
    };
  }

  /** Differences are against the model that auto leans on; without one, against the one that served most. */
  private async referenceFor(request: HttpRequest): Promise<string | null> {
    const { userId, organisationId } = actorOf(request);
    const levels = await this.auto.levels({ organisationId, userId, keyId: null });
    return effectivePolicy(levels).reference_model ?? null;
  }

  /** One score row with everything that may be said of it; texts only where they are kept and the reader may read them. */
  @Data('/dashboard/qualitative/detail/:request_id', Access.session())
  @Audited(['qualitative.content-viewed'])
  async detail(
    @PathText('request_id') requestId: string,
    @Query() { model }: ScoreDetailQuery,
    @Req() request: HttpRequest,
  ) {
    const view = await this.access.of(request);
    const rows =
      view.state === 'open' && isUuid(requestId) ? await this.scores.ofRequest(view.scope, requestId) : [];
    const row = rows.find((each) => (model === undefined ? each.role === 'served' : each.model === model));
    if (row === undefined || view.state !== 'open')
      throw fault('not_found', { param: 'request_id', message: 'There is no score of such a request.' });
    return {
      object: 'quality_score',
      row: presentScore(row),
      pair: rows.filter((each) => each.id !== row.id).map(presentScore),
      explanation: await this.decisions.explanationOf(view.scope, requestId),
      ...(await this.texts(row, rows, request)),
    };
  }

  @Csv('/dashboard/qualitative/export', Access.session(), 'quality')
  async export(@Query() query: QualitativeQuery, @Req() request: HttpRequest): Promise<CsvTable> {
    const view = await this.access.of(request);
    const limit = this.settings.auditExportMaxRows;
    if (view.state !== 'open') return { columns: scoreFileColumns, rows: [], cappedAt: limit };
    const { scope } = view;
    const filter = filterOf(query, periodNamed(query, this.pages.timeZoneOf(request), Date.now()));
    const rows = everyRow(limit, ROWS_AT_ONCE, (page) => this.scores.page(scope, filter, page));
    return { columns: scoreFileColumns, rows: fileRows(rows), cappedAt: limit };
  }

  private async texts(row: ScoreRow, rows: readonly ScoreRow[], request: HttpRequest) {
    const { userId, role } = actorOf(request);
    const without = (reason: string) => {
      this.activity.nothingChanged();
      return { content: null, reason };
    };
    if (!row.content_available) return without('retention_off');
    if (row.user_id !== userId && !isAdministrator(role)) return without('not_allowed');
    const kept = await this.content.of(row.request_id);
    if (kept === null) return without('retention_off');
    await this.database.transaction((tx) =>
      this.activity.write(tx, {
        action: 'qualitative.content-viewed',
        object: { type: 'log', id: row.request_id, label: row.model },
        concerns: { userId: row.user_id, organisationId: row.org_id, departmentId: row.department_id },
      }),
    );
    const answers = rows.flatMap(({ model }) => {
      const answer = kept.answers.get(model);
      return answer === undefined ? [] : [{ model, ...answer }];
    });
    return { content: { request: kept.request, answers }, reason: null };
  }
}

async function* fileRows(rows: AsyncIterable<ScoreRow>): AsyncGenerator<readonly unknown[]> {
  for await (const row of rows) yield scoreFileRow(row);
}
