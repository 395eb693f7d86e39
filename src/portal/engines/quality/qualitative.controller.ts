import { Controller, Query, Req } from '@nestjs/common';
import { ActivityLog } from '../../../audit';
import { PersonalSettings } from '../../../identity';
import { atLeast, fault, isAdministrator, isUuid, resolvePeriod } from '../../../kernel';
import { Database, everyRow, Settings } from '../../../platform';
import { AutoSettingsStore, DecisionQuery, effectivePolicy } from '../../../autorouter';
import {
  presentScore,
  buildReports,
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
  type CsvContent,
  Data,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
  PathText,
} from '../../../web';
import { QualityAccess } from './quality-access';
import { toScoreFilter, QualitativeQuery, ScoreDetailQuery } from './qualitative.dto';
import { qualityPage } from './quality-page';
import { reportModels } from './report-model';

const PAGE_SIZE = 50;
const EXPORT_PAGE_SIZE = 1_000;

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
    const view = await this.access.resolve(request);
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
    const period = resolvePeriod(query, localisation.timeZone, Date.now());
    const filter = toScoreFilter(query, period);
    const [page, scored, share, choices] = await Promise.all([
      this.scores.page(view.scope, filter, { cursor: query.cursor ?? null, limit: PAGE_SIZE }),
      this.scores.listScored(view.scope, filter, localisation.timeZone),
      this.scores.share(view.scope, filter.from),
      this.scores.choices(view.scope, filter.from),
    ]);
    const facts = { request, query, period, page, share, choices, localisation };
    const reports = await buildReports(scored, await this.findReference(request));
    return {
      ...{ isHelpClosed, settingsHref },
      ...qualityPage(facts),
      ...reportModels(reports, scored, localisation),
    };
  }

  /** Differences refer to the autorouter's reference model; without one, to the most used model. */
  private async findReference(request: HttpRequest): Promise<string | null> {
    const { userId, organisationId } = actorOf(request);
    const levels = await this.auto.levels({ organisationId, userId, keyId: null });
    return effectivePolicy(levels).reference_model ?? null;
  }

  /** Returns a score with its details; texts only if they are retained and the reader is allowed to see them. */
  @Data('/dashboard/qualitative/detail/:request_id', Access.session())
  @Audited(['qualitative.content-viewed'])
  async detail(
    @PathText('request_id') requestId: string,
    @Query() { model }: ScoreDetailQuery,
    @Req() request: HttpRequest,
  ) {
    const view = await this.access.resolve(request);
    const rows =
      view.state === 'open' && isUuid(requestId)
        ? await this.scores.listForRequest(view.scope, requestId)
        : [];
    const row = rows.find((each) => (model === undefined ? each.role === 'served' : each.model === model));
    if (row === undefined || view.state !== 'open')
      throw fault('not_found', { param: 'request_id', message: 'There is no score of such a request.' });
    return {
      object: 'quality_score',
      row: presentScore(row),
      pair: rows.filter((each) => each.id !== row.id).map(presentScore),
      explanation: await this.decisions.explanationOf(view.scope, requestId),
      ...(await this.loadTexts(row, rows, request)),
    };
  }

  @Csv('/dashboard/qualitative/export', Access.session(), 'quality')
  async export(@Query() query: QualitativeQuery, @Req() request: HttpRequest): Promise<CsvContent> {
    const view = await this.access.resolve(request);
    const limit = this.settings.auditExportMaxRows;
    if (view.state !== 'open') return { columns: scoreFileColumns, rows: [], cappedAt: limit };
    const { scope } = view;
    const filter = toScoreFilter(query, resolvePeriod(query, this.pages.timeZoneOf(request), Date.now()));
    const rows = everyRow(limit, EXPORT_PAGE_SIZE, (page) => this.scores.page(scope, filter, page));
    return { columns: scoreFileColumns, rows: fileRows(rows), cappedAt: limit };
  }

  private async loadTexts(row: ScoreRow, rows: readonly ScoreRow[], request: HttpRequest) {
    const { userId, role } = actorOf(request);
    const unavailable = (reason: string) => {
      this.activity.reportNoChange();
      return { content: null, reason };
    };
    if (!row.content_available) return unavailable('retention_off');
    if (row.user_id !== userId && !isAdministrator(role)) return unavailable('not_allowed');
    const sample = await this.content.find(row.request_id);
    if (sample === null) return unavailable('retention_off');
    await this.database.transaction((tx) =>
      this.activity.write(tx, {
        action: 'qualitative.content-viewed',
        object: { type: 'log', id: row.request_id, label: row.model },
        concerns: { userId: row.user_id, organisationId: row.org_id, departmentId: row.department_id },
      }),
    );
    const answers = rows.flatMap(({ model }) => {
      const answer = sample.answers.get(model);
      return answer === undefined ? [] : [{ model, ...answer }];
    });
    return { content: { request: sample.request, answers }, reason: null };
  }
}

async function* fileRows(rows: AsyncIterable<ScoreRow>): AsyncGenerator<readonly unknown[]> {
  for await (const row of rows) yield scoreFileRow(row);
}
