import { IsIn, IsUUID, Matches, MaxLength } from 'class-validator';
import {
  idOf,
  periodOf,
  RecordParameters,
  type RequestLogFilter,
  type StatusClass,
  statusClasses,
  zoneOf,
} from '../../audit';
import { parseUsd } from '../../kernel';
import { Given } from '../../platform';

/** Columns that are shown when they are asked for. */
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
  @Given(IsIn(statusClasses))
  status?: StatusClass;

  @Given(Matches(/^[a-z0-9_.-]{1,64}$/))
  code?: string;

  @Given(IsIn(['yes']))
  failover?: 'yes';

  /** In US dollars. */
  @Given(Matches(/^\d{1,9}(\.\d{1,9})?$/))
  min_cost?: string;

  /** In milliseconds. */
  @Given(Matches(/^\d{1,9}$/))
  min_latency?: string;

  @Given(MaxLength(256))
  session?: string;

  @Given(IsUUID())
  request_id?: string;

  /** The caller's own id. */
  @Given(MaxLength(128))
  client_request_id?: string;
}

/** What the page knows beside the filters. */
export class RequestLogPageQuery extends RequestLogParameters {
  /** Optional columns, with commas between. */
  @Given(Matches(/^[a-z_,-]{1,200}$/))
  columns?: string;

  @Given(IsIn(['on']))
  live?: 'on';

  /** The request whose details are open; scripts open them in place. */
  @Given(IsUUID())
  open?: string;

  @Given(MaxLength(1_000))
  cursor?: string;
}

export function logFilterOf(asked: RequestLogParameters, now: number, usualZone: string): RequestLogFilter {
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
    keyId: idOf(asked.key, 'key'),
    projectId: idOf(asked.project, 'project'),
    userId: idOf(asked.user, 'user'),
    organisationId: idOf(asked.organisation, 'organisation'),
    supplier: asked.supplier,
    region: asked.region,
    statusClass: asked.status,
    code: asked.code,
    failoverOnly: asked.failover === 'yes',
    minCostNano: asked.min_cost === undefined ? null : parseUsd(asked.min_cost),
    minLatencyMs: asked.min_latency === undefined ? null : Number(asked.min_latency),
    session: asked.session,
    requestId: asked.request_id?.toLowerCase(),
    clientRequestId: asked.client_request_id,
    endUser: asked.end_user,
    tag: asked.tag,
  };
}

export const shownColumns = ({ columns }: RequestLogPageQuery): readonly OptionalColumn[] =>
  optionalColumns.filter((name) => (columns ?? '').split(',').includes(name));
