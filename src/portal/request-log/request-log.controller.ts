import { Controller, Query, Req } from '@nestjs/common';
import { RequestLogQuery, UsageQuery } from '../../audit';
import { CatalogueService, priceTexts } from '../../catalogue';
import { AdminViewService } from '../../identity';
import { periodNamed } from '../../kernel';
import { KeyRegister } from '../../keys';
import { everyRow } from '../../platform';
import {
  Access,
  Csv,
  csvRows,
  type CsvTable,
  type HttpRequest,
  Page,
  PageRenderer,
  viewScope,
} from '../../web';
import { withKeyNumber } from '../lists/key-of-page';
import { USUAL_DAYS } from '../lists/periods';
import { organisationsFor } from '../lists/organisation-field';
import { KeptTextsReader } from './kept-texts';
import { OwnThumbs } from './own-thumbs';
import { logFileColumns, logFileRow } from './request-log.csv';
import { logFilterOf, RequestLogPageQuery } from './request-log.form';
import { type RequestLogModel, requestLogPage } from './request-log-page';

const ROWS_A_PAGE = 50;
const ROWS_AT_ONCE = 1_000;
const ROWS_IN_FILE = 1_000_000;

/** Lists request by request: where each went, what it cost and why it failed. */
@Controller()
export class RequestLogController {
  constructor(
    private readonly log: RequestLogQuery,
    private readonly usage: UsageQuery,
    private readonly pages: PageRenderer,
    private readonly names: AdminViewService,
    private readonly keys: KeyRegister,
    private readonly thumbs: OwnThumbs,
    private readonly texts: KeptTextsReader,
    private readonly catalogue: CatalogueService,
  ) {}

  @Page('/dashboard/request-log', 'pages/dashboard/request-log', Access.session())
  async show(@Query() asked: RequestLogPageQuery, @Req() request: HttpRequest): Promise<RequestLogModel> {
    const scope = viewScope(request);
    const query = await withKeyNumber(this.keys, scope, asked);
    const now = Date.now();
    const timeZone = query.zone ?? this.pages.timeZoneOf(request);
    const filter = logFilterOf(query, now, timeZone);
    const [page, choices, organisations] = await Promise.all([
      this.log.page(scope, filter, { cursor: query.cursor, limit: ROWS_A_PAGE }),
      this.usage.choices(scope, {
        from: filter.from ?? periodNamed({ days: USUAL_DAYS }, timeZone, now).from,
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
      this.thumbs.of(request, page.rows, localisation),
      this.texts.of(page.rows, localisation),
    ]);
    const facts = { request, query, now, filter, page, choices, organisations, thumbs, texts, localisation };
    return requestLogPage(facts);
  }

  @Csv('/dashboard/request-log/export', Access.session(), 'requests')
  async export(@Query() asked: RequestLogPageQuery, @Req() request: HttpRequest): Promise<CsvTable> {
    const scope = viewScope(request);
    const query = await withKeyNumber(this.keys, scope, asked);
    const filter = logFilterOf(query, Date.now(), this.pages.timeZoneOf(request));
    const entries = everyRow(ROWS_IN_FILE, ROWS_AT_ONCE, (page) => this.log.page(scope, filter, page));
    const priceText = priceTexts(this.catalogue.snapshot);
    const rows = csvRows(entries, (entry) => logFileRow(entry, priceText(entry)));
    return { columns: logFileColumns, rows, cappedAt: ROWS_IN_FILE };
  }
}
