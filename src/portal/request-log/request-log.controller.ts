import { Controller, Query, Req } from '@nestjs/common';
import { RequestLogQuery, UsageQuery } from '../../audit';
import { CatalogueService, priceTexts } from '../../catalogue';
import { AdminViewService } from '../../identity';
import { resolvePeriod } from '../../kernel';
import { KeyRegister } from '../../keys';
import { everyRow } from '../../platform';
import {
  Access,
  Csv,
  csvRows,
  type CsvContent,
  type HttpRequest,
  Page,
  PageRenderer,
  viewScope,
} from '../../web';
import { resolveKeyId } from '../lists/resolve-key-id';
import { DEFAULT_DAYS } from '../lists/periods';
import { organisationsFor } from '../lists/organisation-field';
import { RetentionTextReader } from './retention-text';
import { OwnThumbs } from './own-thumbs';
import { logFileColumns, logFileRow } from './request-log.csv';
import { toRequestLogFilter, RequestLogPageQuery } from './request-log.dto';
import { type RequestLogModel, requestLogPage } from './request-log-page';

const PAGE_SIZE = 50;
const EXPORT_PAGE_SIZE = 1_000;
const MAX_ROWS_PER_FILE = 1_000_000;

@Controller()
export class RequestLogController {
  constructor(
    private readonly log: RequestLogQuery,
    private readonly usage: UsageQuery,
    private readonly pages: PageRenderer,
    private readonly names: AdminViewService,
    private readonly keys: KeyRegister,
    private readonly thumbs: OwnThumbs,
    private readonly texts: RetentionTextReader,
    private readonly catalogue: CatalogueService,
  ) {}

  @Page('/dashboard/request-log', 'pages/dashboard/request-log', Access.session())
  async show(@Query() pageQuery: RequestLogPageQuery, @Req() request: HttpRequest): Promise<RequestLogModel> {
    const scope = viewScope(request);
    const query = await resolveKeyId(this.keys, scope, pageQuery);
    const now = Date.now();
    const timeZone = query.zone ?? this.pages.timeZoneOf(request);
    const filter = toRequestLogFilter(query, now, timeZone);
    const [page, choices, organisations] = await Promise.all([
      this.log.page(scope, filter, { cursor: query.cursor, limit: PAGE_SIZE }),
      this.usage.choices(scope, {
        from: filter.from ?? resolvePeriod({ days: DEFAULT_DAYS }, timeZone, now).from,
        to: filter.to ?? new Date(now),
      }),
      organisationsFor(this.names, scope, query.organisation),
    ]);
    const localisation = {
      locale: this.pages.localeOf(request),
      timeZone,
      translate: this.pages.textsFor(request),
    };
    const [thumbs, texts] = await Promise.all([
      this.thumbs.load(request, page.rows, localisation),
      this.texts.load(page.rows, localisation),
    ]);
    const facts = { request, query, now, filter, page, choices, organisations, thumbs, texts, localisation };
    return requestLogPage(facts);
  }

  @Csv('/dashboard/request-log/export', Access.session(), 'requests')
  async export(@Query() pageQuery: RequestLogPageQuery, @Req() request: HttpRequest): Promise<CsvContent> {
    const scope = viewScope(request);
    const query = await resolveKeyId(this.keys, scope, pageQuery);
    const filter = toRequestLogFilter(query, Date.now(), this.pages.timeZoneOf(request));
    const entries = everyRow(MAX_ROWS_PER_FILE, EXPORT_PAGE_SIZE, (page) =>
      this.log.page(scope, filter, page),
    );
    const priceText = priceTexts(this.catalogue.snapshot);
    const rows = csvRows(entries, (entry) => logFileRow(entry, priceText(entry)));
    return { columns: logFileColumns, rows, cappedAt: MAX_ROWS_PER_FILE };
  }
}
