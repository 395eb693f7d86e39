import type { SqlParameters } from '../sql-parameters';

export const statusClasses = ['2xx', '4xx', '5xx'] as const;
export type StatusClass = (typeof statusClasses)[number];

export interface RequestLogFilter {
  readonly from?: Date | null;
  /** Exclusive. */
  readonly to?: Date | null;
  readonly model?: string | null;
  /** Name in the request, including requests that no lane served. */
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

export function periodConditions({ from, to }: RequestLogFilter, parameters: SqlParameters): string[] {
  return [
    ...(from ? [`r.created_at >= ${parameters.add(from)}`] : []),
    ...(to ? [`r.created_at < ${parameters.add(to)}`] : []),
  ];
}

export function recordConditions(filter: RequestLogFilter, parameters: SqlParameters): string[] {
  const conditions: string[] = [];
  const addCondition = (value: unknown, condition: (parameter: string) => string): void => {
    if (value !== null && value !== undefined) conditions.push(condition(parameters.add(value)));
  };
  addCondition(filter.model, (value) => `r.served_model = ${value}`);
  addCondition(filter.requestedModel, (value) => `r.model = ${value}`);
  addCondition(filter.keyId, (value) => `r.key_id = ${value}::bigint`);
  addCondition(filter.userId, (value) => `r.user_id = ${value}::bigint`);
  addCondition(filter.projectId, (value) => `r.project_id = ${value}::bigint`);
  addCondition(filter.organisationId, (value) => `r.organisation_id = ${value}::bigint`);
  addCondition(filter.supplier, (value) => `r.supplier = ${value}`);
  addCondition(filter.region, (value) => `r.region = ${value}`);
  addCondition(filter.code, (value) => `r.code = ${value}`);
  addCondition(filter.minCostNano, (value) => `r.cost_nano >= ${value}::bigint`);
  addCondition(filter.minLatencyMs, (value) => `r.latency_ms >= ${value}`);
  addCondition(filter.session, (value) => `r.session_key = ${value}`);
  addCondition(filter.requestId, (value) => `r.request_id = ${value}::uuid`);
  addCondition(filter.clientRequestId, (value) => `r.client_request_id = ${value}`);
  addCondition(filter.endUser, (value) => `r.end_user = ${value}`);
  addCondition(filter.tag, (value) => `r.tags ? ${value}`);
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

export const usesHourSearch = (filter: RequestLogFilter): boolean =>
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
  /** Selects the keys with matches; for labels also the times of the first and last match. */
  readonly places: string;
  /** SQL expression for the possible number of matching records in an hour. */
  readonly hits: string;
}

const labelColumns =
  'array_agg(u.key_id)::text[] AS keys, array_agg(u.first_at) AS firsts, array_agg(u.last_at) AS lasts';

export function hourConditions(filter: RequestLogFilter, parameters: SqlParameters): HoursWithMatches {
  const conditions: string[] = [];
  const addCondition = (value: unknown, condition: (parameter: string) => string): void => {
    if (isSet(value)) conditions.push(condition(parameters.add(value)));
  };
  addCondition(filter.from, (value) => `u.hour >= date_trunc('hour', ${value}::timestamptz, 'UTC')`);
  addCondition(filter.to, (value) => `u.hour < ${value}`);
  addCondition(filter.model, (value) => `u.served_model = ${value}`);
  // The requested name is not stored for requests that no lane served.
  addCondition(filter.requestedModel, (value) => `(u.model = ${value} OR u.served_model IS NULL)`);
  addCondition(filter.keyId, (value) => `u.key_id = ${value}::bigint`);
  addCondition(filter.userId, (value) => `u.user_id = ${value}::bigint`);
  addCondition(filter.projectId, (value) => `u.project_id = ${value}::bigint`);
  addCondition(filter.organisationId, (value) => `u.organisation_id = ${value}::bigint`);
  addCondition(filter.supplier, (value) => `u.supplier = ${value}`);
  addCondition(filter.region, (value) => `u.region = ${value}`);
  addCondition(filter.minCostNano, (value) => `u.highest_cost_nano >= ${value}::bigint`);
  addCondition(filter.minLatencyMs, (value) => `u.highest_latency_ms >= ${value}`);
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
    places: isSet(label) ? labelColumns : 'array_agg(DISTINCT u.key_id)::text[] AS keys',
    hits: filter.failoverOnly === true ? 'sum(u.failovers)' : isExact ? 'sum(u.requests)' : 'count(*)',
  };
}
