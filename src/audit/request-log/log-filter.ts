import type { SqlParameters } from '../sql-parameters';

export const statusClasses = ['2xx', '4xx', '5xx'] as const;
export type StatusClass = (typeof statusClasses)[number];

export interface RequestLogFilter {
  readonly from?: Date | null;
  /** It is exclusive. */
  readonly to?: Date | null;
  /** The model that served the request. */
  readonly model?: string | null;
  /** The name in the request, also of requests that no lane served. */
  readonly requestedModel?: string | null;
  readonly keyId?: number | null;
  readonly userId?: number | null;
  readonly projectId?: number | null;
  readonly organisationId?: number | null;
  readonly supplier?: string | null;
  readonly region?: string | null;
  readonly statusClass?: StatusClass | null;
  readonly code?: string | null;
  readonly failoverOnly?: boolean;
  readonly minCostNano?: bigint | null;
  readonly minLatencyMs?: number | null;
  readonly session?: string | null;
  readonly requestId?: string | null;
  readonly clientRequestId?: string | null;
  readonly endUser?: string | null;
  readonly tag?: string | null;
}

/** The conditions on the time of `request_record r`. */
export function periodConditions({ from, to }: RequestLogFilter, parameters: SqlParameters): string[] {
  return [
    ...(from ? [`r.created_at >= ${parameters.add(from)}`] : []),
    ...(to ? [`r.created_at < ${parameters.add(to)}`] : []),
  ];
}

/** The other conditions on `request_record r`. */
export function recordConditions(filter: RequestLogFilter, parameters: SqlParameters): string[] {
  const conditions: string[] = [];
  const narrow = (value: unknown, condition: (parameter: string) => string): void => {
    if (value !== null && value !== undefined) conditions.push(condition(parameters.add(value)));
  };
  narrow(filter.model, (value) => `r.served_model = ${value}`);
  narrow(filter.requestedModel, (value) => `r.model = ${value}`);
  narrow(filter.keyId, (value) => `r.key_id = ${value}::bigint`);
  narrow(filter.userId, (value) => `r.user_id = ${value}::bigint`);
  narrow(filter.projectId, (value) => `r.project_id = ${value}::bigint`);
  narrow(filter.organisationId, (value) => `r.organisation_id = ${value}::bigint`);
  narrow(filter.supplier, (value) => `r.supplier = ${value}`);
  narrow(filter.region, (value) => `r.region = ${value}`);
  narrow(filter.code, (value) => `r.code = ${value}`);
  narrow(filter.minCostNano, (value) => `r.cost_nano >= ${value}::bigint`);
  narrow(filter.minLatencyMs, (value) => `r.latency_ms >= ${value}`);
  narrow(filter.session, (value) => `r.session_key = ${value}`);
  narrow(filter.requestId, (value) => `r.request_id = ${value}::uuid`);
  narrow(filter.clientRequestId, (value) => `r.client_request_id = ${value}`);
  narrow(filter.endUser, (value) => `r.end_user = ${value}`);
  narrow(filter.tag, (value) => `r.tags ? ${value}`);
  if (filter.failoverOnly === true) conditions.push('r.failover');
  if (filter.statusClass) {
    const hundreds = Number(filter.statusClass[0]) * 100;
    conditions.push(`r.status >= ${hundreds} AND r.status < ${hundreds + 100}`);
  }
  // A partial index covers failures: a request without a code has none of these.
  if (filter.code || filter.statusClass === '4xx' || filter.statusClass === '5xx')
    conditions.push('r.code IS NOT NULL');
  return conditions;
}

/** The hours of usage locate matches where no index of records covers a filter. */
export const isGuided = (filter: RequestLogFilter): boolean =>
  !hasOwnIndex(filter) &&
  (isSet(filter.model) ||
    isSet(filter.requestedModel) ||
    isSet(filter.supplier) ||
    isSet(filter.region) ||
    isSet(filter.userId) ||
    isSet(filter.projectId) ||
    isSet(filter.organisationId) ||
    isSet(filter.minCostNano) ||
    isSet(filter.minLatencyMs) ||
    isSet(filter.endUser) ||
    isSet(filter.tag) ||
    filter.failoverOnly === true);

const hasOwnIndex = (filter: RequestLogFilter): boolean =>
  isSet(filter.session) ||
  isSet(filter.requestId) ||
  isSet(filter.clientRequestId) ||
  isSet(filter.code) ||
  filter.statusClass === '4xx' ||
  filter.statusClass === '5xx';

const isSet = (value: unknown): boolean => value !== null && value !== undefined;

interface HoursWithMatches {
  readonly table: string;
  readonly conditions: string[];
  /** The places say whose matches they are; those of labels also say when the first and the last came. */
  readonly places: string;
  /** An hour may have this many matching records. */
  readonly hits: string;
}

const placesOfLabel =
  'array_agg(u.key_id)::text[] AS keys, array_agg(u.first_at) AS firsts, array_agg(u.last_at) AS lasts';

/** The hours of usage that contain matches. */
export function hourConditions(filter: RequestLogFilter, parameters: SqlParameters): HoursWithMatches {
  const conditions: string[] = [];
  const narrow = (value: unknown, condition: (parameter: string) => string): void => {
    if (isSet(value)) conditions.push(condition(parameters.add(value)));
  };
  narrow(filter.from, (value) => `u.hour >= date_trunc('hour', ${value}::timestamptz, 'UTC')`);
  narrow(filter.to, (value) => `u.hour < ${value}`);
  narrow(filter.model, (value) => `u.served_model = ${value}`);
  // The requested name is not kept of requests that no lane served.
  narrow(filter.requestedModel, (value) => `(u.model = ${value} OR u.served_model IS NULL)`);
  narrow(filter.keyId, (value) => `u.key_id = ${value}::bigint`);
  narrow(filter.userId, (value) => `u.user_id = ${value}::bigint`);
  narrow(filter.projectId, (value) => `u.project_id = ${value}::bigint`);
  narrow(filter.organisationId, (value) => `u.organisation_id = ${value}::bigint`);
  narrow(filter.supplier, (value) => `u.supplier = ${value}`);
  narrow(filter.region, (value) => `u.region = ${value}`);
  narrow(filter.minCostNano, (value) => `u.highest_cost_nano >= ${value}::bigint`);
  narrow(filter.minLatencyMs, (value) => `u.highest_latency_ms >= ${value}`);
  if (filter.failoverOnly === true) conditions.push('u.failovers > 0');
  const label = filter.endUser ?? filter.tag;
  if (isSet(label)) {
    conditions.push(`u.kind = ${parameters.add(isSet(filter.endUser) ? 'end_user' : 'tag')}`);
    conditions.push(`u.label = ${parameters.add(label)}`);
  }
  const isExact = !isSet(filter.minCostNano) && !isSet(filter.minLatencyMs);
  return {
    table: isSet(label) ? 'usage_label_hour' : 'usage_hour',
    conditions,
    places: isSet(label) ? placesOfLabel : 'array_agg(DISTINCT u.key_id)::text[] AS keys',
    hits: filter.failoverOnly === true ? 'sum(u.failovers)' : isExact ? 'sum(u.requests)' : 'count(*)',
  };
}
