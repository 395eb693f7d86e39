import {
  periodOf,
  RecordParameters,
  type RequestLogFilter,
  type StatusClass,
  statusClasses,
  zoneOf,
} from '../../audit';
import { cursor, line, matching, oneOf, parseUsd, uuid, integer } from '../../kernel';
import { keyIdField } from '../../keys';
import { ParsedBy } from '../../platform';

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
  @ParsedBy(line(256).orBlank())
  requested_model?: string;

  @ParsedBy(oneOf(statusClasses).orBlank())
  status?: StatusClass;

  @ParsedBy(matching(/^[a-z0-9_.-]{1,64}$/, 'a code of an error').orBlank())
  code?: string;

  @ParsedBy(oneOf(['yes']).orBlank())
  failover?: 'yes';

  /** In US dollars. */
  @ParsedBy(matching(/^\d{1,9}(\.\d{1,9})?$/, 'an amount of US dollars, like 0.05').orBlank())
  min_cost?: string;

  /** In milliseconds. */
  @ParsedBy(integer(0, 999_999_999).orBlank())
  min_latency?: number;

  @ParsedBy(line(256).orBlank())
  session?: string;

  @ParsedBy(uuid.orBlank())
  request_id?: string;

  /** The client's own id. */
  @ParsedBy(line(128).orBlank())
  client_request_id?: string;
}

export class RequestLogPageQuery extends RequestLogParameters {
  @ParsedBy(keyIdField.orBlank())
  key?: number | string;

  /** Comma-separated names of optional columns. */
  @ParsedBy(matching(/^[a-z_,-]{1,200}$/, 'names of columns, with commas between').orBlank())
  columns?: string;

  @ParsedBy(oneOf(['on']).orBlank())
  live?: 'on';

  /** The request whose details are open; scripts open them in place. */
  @ParsedBy(uuid.orBlank())
  open?: string;

  @ParsedBy(cursor.orBlank())
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
