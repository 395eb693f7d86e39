import { type Database, Keyset, type Page, type PageRequest } from '../platform';
import { IS_OPEN } from './access-list.query';
import type { ModelKind, ModelState } from './entities';
import type { ProviderView } from './views';

export interface ModelListFilter extends PageRequest {
  /** Matches any part of the name, the display name or an alias. */
  readonly text?: string | null;
  readonly state?: ModelState | null;
  readonly providerId?: number | null;
  /** Adds this organisation's settings and omits models that are not open to it. */
  readonly organisationId?: number | null;
}

export interface ListedModel {
  readonly id: number;
  readonly name: string;
  readonly displayName: string;
  readonly kind: ModelKind;
  readonly state: ModelState;
  readonly managed: boolean;
  readonly redirect: string | null;
  readonly retiresAt: Date | null;
  readonly aliases: number;
  readonly lanes: readonly { readonly provider: string; readonly region: string; readonly rests: boolean }[];
  /** Nano-USD as text; null if there is no price. */
  readonly input: string | null;
  readonly output: string | null;
  readonly perMinute: string | null;
  readonly perCall: string | null;
  readonly enabled: boolean;
}

const inOrder = new Keyset(
  [
    { sql: 'm.display_order', kind: 'integer' },
    { sql: 'm.name COLLATE "C"', kind: 'text' },
  ],
  'ascending',
);

export async function listModels(
  database: Pick<Database, 'query'>,
  filter: ModelListFilter,
): Promise<Page<ListedModel>> {
  const { text = null, state = null, providerId = null, organisationId = null } = filter;
  const keyset = inOrder.clause(filter, 5);
  const rows = await database.query<ListedModel & Record<string, unknown>>(
    `${SELECTION}, ${inOrder.positions}
       FROM (SELECT m.*, coalesce(access.enabled, true) AS enabled ${FROM} AND ${keyset.where}
              ORDER BY ${keyset.orderBy} LIMIT ${keyset.limit}) m ${DETAILS}
      ORDER BY ${keyset.orderBy}`,
    [text, state, providerId, organisationId, ...keyset.parameters],
  );
  return inOrder.page(rows, filter);
}

const SELECTION = `
  SELECT m.id, m.name, m.display_name AS "displayName", m.kind, m.state, m.managed, target.name AS redirect,
         m.retires_at AS "retiresAt",
         (SELECT count(*)::integer FROM model_alias a WHERE a.model_id = m.id) AS aliases,
         (SELECT coalesce(jsonb_agg(jsonb_build_object('provider', p.name, 'region', lower(btrim(l.region)),
                   'rests', NOT (l.enabled AND p.visible)) ORDER BY l.priority, l.id), '[]')
            FROM lane l JOIN provider p ON p.id = l.provider_id
           WHERE l.model_id = m.id AND l.removed_at IS NULL) AS lanes,
         price.input::text, price.output::text, price.per_minute::text AS "perMinute",
         price.per_call::text AS "perCall",
         m.enabled`;

/** Joined for the models of the page only: prices and redirects are looked up once per row. */
const DETAILS = `
    LEFT JOIN model target ON target.id = m.redirect_to
    LEFT JOIN LATERAL (
           SELECT input, output, per_minute, per_call FROM price
            WHERE model_id = m.id AND lane_id IS NULL AND valid_from <= now()
            ORDER BY valid_from DESC, id DESC LIMIT 1) price ON true`;

const FROM = `
    FROM model m
    LEFT JOIN model_organisation_access access ON access.model_id = m.id AND access.organisation_id = $4
   WHERE ($1::text IS NULL OR strpos(lower(m.name || ' ' || m.display_name), lower($1)) > 0
          OR EXISTS (SELECT 1 FROM model_alias a WHERE a.model_id = m.id AND strpos(lower(a.name), lower($1)) > 0))
     AND CASE WHEN $2::text IS NULL THEN m.state <> 'deleted' ELSE m.state = $2 END
     AND ($3::integer IS NULL OR EXISTS (
           SELECT 1 FROM lane l WHERE l.model_id = m.id AND l.provider_id = $3 AND l.removed_at IS NULL))
     AND ($4::integer IS NULL OR ${IS_OPEN})`;

export interface ListedProvider extends ProviderView {
  readonly managed: boolean;
  readonly models: number;
  readonly secrets: number;
  readonly rejected: number;
}

const MAX_PROVIDERS = 1_000;

export const listProviders = (database: Pick<Database, 'query'>): Promise<ListedProvider[]> =>
  database.query<ListedProvider>(
    `SELECT p.id, p.name, p.style, p.base_url AS "baseUrl", p.regions, p.visible, p.settings, p.timeouts, p.breaker,
            p.managed,
            (SELECT count(DISTINCT model_id)::integer FROM lane l
              WHERE l.provider_id = p.id AND l.removed_at IS NULL) AS models,
            (SELECT count(*)::integer FROM provider_credential c
              WHERE c.provider_id = p.id AND c.disabled_at IS NULL) AS secrets,
            (SELECT count(*)::integer FROM provider_credential c
              WHERE c.provider_id = p.id AND c.disabled_at IS NULL AND c.health = 'rejected') AS rejected
       FROM provider p WHERE p.removed_at IS NULL ORDER BY p.name LIMIT ${MAX_PROVIDERS}`,
  );

export interface ListedPrice {
  readonly id: string;
  readonly model: string;
  readonly kind: ModelKind;
  readonly input: string;
  readonly output: string;
  readonly perMinute: string;
  readonly perCall: string;
  readonly validFrom: Date | null;
  readonly source: string;
}

const newestFirst = new Keyset([{ sql: 'p.id', kind: 'integer' }], 'descending');

export async function listPrices(
  database: Pick<Database, 'query'>,
  filter: PageRequest & { readonly text?: string | null },
): Promise<Page<ListedPrice>> {
  const keyset = newestFirst.clause(filter, 2);
  const rows = await database.query<ListedPrice & Record<string, unknown>>(
    `WITH named AS MATERIALIZED (
       SELECT id, name, kind FROM model WHERE $1::text IS NULL OR strpos(lower(name), lower($1)) > 0)
     SELECT p.id::text, m.name AS model, m.kind, p.input::text, p.output::text, p.per_minute::text AS "perMinute",
            p.per_call::text AS "perCall",
            p.valid_from AS "validFrom", p.source, ${newestFirst.positions}
       FROM price p JOIN named m ON m.id = p.model_id
      WHERE ${keyset.where}
      ORDER BY ${keyset.orderBy} LIMIT ${keyset.limit}`,
    [filter.text ?? null, ...keyset.parameters],
  );
  return newestFirst.page(rows, filter);
}
