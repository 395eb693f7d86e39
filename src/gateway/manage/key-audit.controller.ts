import type { ServerResponse } from 'node:http';
import { Controller, Get, Param, Req, Res, type StreamableFile } from '@nestjs/common';
import { toCell, type RecordFilter, Refusals, type RequestEntry, RequestRecordQuery } from '../../audit';
import { CatalogueService, pricesOf, priceTexts } from '../../catalogue';
import {
  choiceField,
  instantField,
  platformScope,
  invalidField,
  textField,
  integerField,
} from '../../kernel';
import { KeyRegister, type ManagedKey } from '../../keys';
import { Settings } from '../../platform';
import { Access, csvFile, type HttpRequest, presentPage, queryOf } from '../../web';
import { presentRecord, recordColumns } from './record-presenter';

const DEFAULT_PAGE_SIZE = 100;
const MAX_PAGE_SIZE = 1_000;

@Controller('/v1/manage/keys')
@Access.rootKey()
export class KeyAuditController {
  constructor(
    private readonly register: KeyRegister,
    private readonly records: RequestRecordQuery,
    private readonly refusals: Refusals,
    private readonly settings: Settings,
    private readonly catalogue: CatalogueService,
  ) {}

  @Get(':key_id/audit')
  async audit(
    @Param('key_id') keyId: string,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    const query = queryOf(request);
    const filter = filterOf(query);
    const format = choiceField(query.get('format') ?? 'json', 'format', ['json', 'csv']);
    const key = await this.register.get(platformScope, keyId);
    return format === 'csv' ? this.csvFileOf(key, filter, query, response) : this.page(key, filter, query);
  }

  private async page(
    { id, publicId }: ManagedKey,
    filter: Omit<RecordFilter, 'limit'>,
    query: URLSearchParams,
  ) {
    const limit = limitOf(query, MAX_PAGE_SIZE) ?? DEFAULT_PAGE_SIZE;
    const [page, refusals] = await Promise.all([
      this.records.ofKey(id, { ...filter, limit }),
      this.refusals.ofKey(id, filter.from ?? null, filter.to ?? null),
    ]);
    return {
      ...presentPage(
        page,
        (entry) => presentRecord(entry, publicId),
        ({ requestId }) => requestId,
      ),
      prices: pricesOf(page.rows, this.catalogue.snapshot),
      refusals: refusals.map(({ code, hour, count }) => ({ code, hour: hour.toISOString(), count })),
    };
  }

  private csvFileOf(
    { id, publicId }: ManagedKey,
    filter: Omit<RecordFilter, 'limit'>,
    query: URLSearchParams,
    response: ServerResponse,
  ): Promise<StreamableFile> {
    const cap = this.settings.auditExportMaxRows;
    const limit = limitOf(query, cap) ?? cap;
    const rows = this.records.allOfKey(id, { ...filter, limit });
    const priceText = priceTexts(this.catalogue.snapshot);
    const table = {
      columns: [...recordColumns, 'price'],
      rows: cellsOf(rows, publicId, priceText),
      cappedAt: limit,
    };
    return csvFile(table, `audit_${publicId}`, response);
  }
}

async function* cellsOf(
  entries: AsyncIterable<RequestEntry>,
  publicId: string,
  priceText: (entry: RequestEntry) => string | null,
): AsyncGenerator<readonly unknown[]> {
  for await (const entry of entries) {
    const record = presentRecord(entry, publicId);
    yield [...recordColumns.map((name) => toCell(record[name])), priceText(entry)];
  }
}

function filterOf(query: URLSearchParams): Omit<RecordFilter, 'limit'> {
  const [from, to] = (['from', 'to'] as const).map((name) => {
    const text = query.get(name);
    return text === null ? null : instantField(text, name);
  });
  if (from && to && from >= to) throw invalidField('to', 'later than from');
  const model = query.get('model');
  return {
    from: from ?? null,
    to: to ?? null,
    model: model === null ? null : textField(model, 'model', 256),
    cursor: query.get('cursor'),
  };
}

function limitOf(query: URLSearchParams, max: number): number | null {
  const text = query.get('limit');
  return text === null ? null : integerField(text, 'limit', 1, max);
}
