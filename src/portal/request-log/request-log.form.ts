import {
  periodOf,
  RecordParameters,
  type RequestLogFilter,
  type StatusClass,
  statusClasses,
  zoneOf,
} from '../../audit';
import { cursor, line, matching, oneOf, parseUsd, uuid, whole } from '../../kernel';
import { keyOfPage } from '../../keys';
import { Takes } from '../../platform';

/** These columns are shown when they are asked for. */
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
  @Takes(line(256).orBlank())
  requested_model?: string;

  @Takes(oneOf(statusClasses).orBlank())
  status?: StatusClass;

  @Takes(matching(/^[a-z0-9_.-]{1,64}$/, 'a code of an error').orBlank())
  code?: string;

  @Takes(oneOf(['yes']).orBlank())
  failover?: 'yes';

  /** It is in US dollars. */
  @Takes(matching(/^\d{1,9}(\.\d{1,9})?$/, 'an amount of US dollars, like 0.05').orBlank())
  min_cost?: string;

  /** It is in milliseconds. */
  @Takes(whole(0, 999_999_999).orBlank())
  min_latency?: number;

  @Takes(line(256).orBlank())
  session?: string;

  @Takes(uuid.orBlank())
  request_id?: string;

  /** The caller's own id. */
  @Takes(line(128).orBlank())
  client_request_id?: string;
}

/** The page knows these beside the filters. */
export class RequestLogPageQuery extends RequestLogParameters {
  @Takes(keyOfPage.orBlank())
  key?: number | string;

  /** They are optional columns, with commas between. */
  @Takes(matching(/^[a-z_,-]{1,200}$/, 'names of columns, with commas between').orBlank())
  columns?: string;

  @Takes(oneOf(['on']).orBlank())
  live?: 'on';

  /** The request whose details are open; scripts open them in place. */
  @Takes(uuid.orBlank())
  open?: string;

  @Takes(cursor.orBlank())
  cursor?: string;
}

export function logFilterOf(
  asked: RequestLogParameters & { readonly key?: number },
  now: number,
  usualZone: string,
): RequestLogFilter {
  const zone = zoneOf(asked.zone, usualZone);
  // A request is looked for by an id whenever it was.
  const isNamed = asked.request_id !== undefined || asked.client_request_id !== undefined;
  const isOne = isNamed && asked.from === undefined && asked.to === undefined;
  const period = isOne ? { from: null, to: null } : periodOf(asked, zone, now);
  return {
    ...period,
    // New requests belong to a period that has no end.
    to: asked.to === undefined ? null : period.to,
    model: asked.model,
    requestedModel: asked.requested_model,
    keyId: asked.key,
    projectId: asked.project,
    userId: asked.user,
    organisationId: asked.organisation,
    supplier: asked.supplier,
    region: asked.region,
    statusClass: asked.status,
    code: asked.code,
    failoverOnly: asked.failover === 'yes',
    minCostNano: asked.min_cost === undefined ? null : parseUsd(asked.min_cost),
    minLatencyMs: asked.min_latency ?? null,
    session: asked.session,
    requestId: asked.request_id?.toLowerCase(),
    clientRequestId: asked.client_request_id,
    endUser: asked.end_user,
    tag: asked.tag,
  };
}

export const shownColumns = ({ columns }: RequestLogPageQuery): readonly OptionalColumn[] =>
  optionalColumns.filter((name) => (columns ?? '').split(',').includes(name));
