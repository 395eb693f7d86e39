import { periodOf, type RequestLogFilter, type StatusClass, statusClasses, zoneOf } from '../../audit';
import { cursor, matching, parseUsd, uuid } from '../../kernel';
import { keyIdField } from '../../keys';
import { IsOneOf, IsVerbatimLine, IsWholeNumber, ParsedBy, RecordParameters } from '../../web';

export const optionalColumns = [
  'request_id',
  'client_request_id',
  'session',
  'user',
  'end_user',
  'tags',
  'cached',
  'first-token',
  'stream',
  'finish',
] as const;
export type OptionalColumn = (typeof optionalColumns)[number];

/** The filters of the request log. */
export class RequestLogParameters extends RecordParameters {
  @IsVerbatimLine(256, { optional: true })
  requested_model?: string;

  @IsOneOf(statusClasses, { optional: true })
  status?: StatusClass;

  @ParsedBy(matching(/^[a-z0-9_.-]{1,64}$/, 'a code of an error'), { optional: true })
  code?: string;

  @IsOneOf(['yes'], { optional: true })
  failover?: 'yes';

  /** In US dollars. */
  @ParsedBy(matching(/^\d{1,9}(\.\d{1,9})?$/, 'an amount of US dollars, like 0.05'), { optional: true })
  min_cost?: string;

  /** In milliseconds. */
  @IsWholeNumber(0, 999_999_999, { optional: true })
  min_latency?: number;

  @IsVerbatimLine(256, { optional: true })
  session?: string;

  @ParsedBy(uuid, { optional: true })
  request_id?: string;

  /** The client's own id. */
  @IsVerbatimLine(128, { optional: true })
  client_request_id?: string;
}

export class RequestLogPageQuery extends RequestLogParameters {
  @ParsedBy(keyIdField, { optional: true })
  key?: number | string;

  /** Comma-separated names of optional columns. */
  @ParsedBy(matching(/^[a-z_,-]{1,200}$/, 'names of columns, with commas between'), { optional: true })
  columns?: string;

  @IsOneOf(['on'], { optional: true })
  live?: 'on';

  /** The request whose details are open; scripts open them in place. */
  @ParsedBy(uuid, { optional: true })
  open?: string;

  @ParsedBy(cursor, { optional: true })
  cursor?: string;
}

export function toRequestLogFilter(
  query: RequestLogParameters & { readonly key?: number },
  now: number,
  defaultZone: string,
): RequestLogFilter {
  const zone = zoneOf(query.zone, defaultZone);
  // A lookup by id ignores the period, unless one is set explicitly.
  const hasId = query.request_id !== undefined || query.client_request_id !== undefined;
  const ignoresPeriod = hasId && query.from === undefined && query.to === undefined;
  const period = ignoresPeriod ? { from: null, to: null } : periodOf(query, zone, now);
  return {
    ...period,
    // Leaves the end open, so that new requests are included.
    to: query.to === undefined ? null : period.to,
    model: query.model,
    requestedModel: query.requested_model,
    keyId: query.key,
    projectId: query.project,
    userId: query.user,
    organisationId: query.organisation,
    supplier: query.supplier,
    region: query.region,
    statusClass: query.status,
    code: query.code,
    failoverOnly: query.failover === 'yes',
    minCostNano: query.min_cost === undefined ? null : parseUsd(query.min_cost),
    minLatencyMs: query.min_latency ?? null,
    session: query.session,
    requestId: query.request_id?.toLowerCase(),
    clientRequestId: query.client_request_id,
    endUser: query.end_user,
    tag: query.tag,
  };
}

export const selectedColumns = ({ columns }: RequestLogPageQuery): readonly OptionalColumn[] =>
  optionalColumns.filter((name) => (columns ?? '').split(',').includes(name));
