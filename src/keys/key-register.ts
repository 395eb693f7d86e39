import { Injectable } from '@nestjs/common';
import { Limits, type LimitState } from '../billing';
import { type Fault, fault } from '../kernel';
import { Database, type Tx } from '../platform';
import type { KeyKind } from './api-key.entity';
import type { KeyFilter, KeyPage, ManagedKey, ShownStatus } from './managed-key';

interface RegisterRow {
  id: number;
  public_id: string;
  kind: KeyKind;
  name: string;
  shown_status: ShownStatus;
  user_id: number | null;
  organisation_id: number | null;
  department_id: number | null;
  project_id: number | null;
  allowed_models: string[] | null;
  allowed_regions: string[] | null;
  regions_as_list: boolean;
  rate_limit_rpm: number | null;
  metadata: Record<string, string>;
  expires_at: Date | null;
  created_at: Date;
  created_by: string;
  revoked_at: Date | null;
  previous_until: Date | null;
}

const SHOWN_STATUS = `CASE WHEN status = 'active' AND expires_at <= now() THEN 'expired' ELSE status END`;
/** The root key is not one of the keys that it manages. */
const MANAGED = `SELECT id, public_id, kind, name, ${SHOWN_STATUS} AS shown_status, user_id, organisation_id,
  department_id, project_id, allowed_models, allowed_regions, regions_as_list, rate_limit_rpm, metadata, expires_at,
  created_at, created_by, revoked_at, CASE WHEN previous_until > now() THEN previous_until END AS previous_until
  FROM api_key WHERE kind <> 'root'`;

/** Reads the keys of the installation, as those who manage them see them. */
@Injectable()
export class KeyRegister {
  constructor(
    private readonly database: Database,
    private readonly limits: Limits,
  ) {}

  async get(publicId: string, tx?: Tx): Promise<ManagedKey> {
    const [key] = await this.read(`${MANAGED} AND public_id = $1`, [publicId], tx);
    if (key === undefined) throw noSuchKey();
    return key;
  }

  /** The newest first. */
  async list({ limit, after, status, name }: KeyFilter): Promise<KeyPage> {
    if (after !== undefined && after !== null) await this.get(after).catch(refuseCursor);
    const keys = await this.read(
      `${MANAGED} AND ($1::text IS NULL OR id < (SELECT id FROM api_key WHERE public_id = $1))
         AND ($2::text IS NULL OR ${SHOWN_STATUS} = $2)
         AND ($3::text IS NULL OR strpos(lower(name), lower($3)) > 0)
       ORDER BY id DESC LIMIT $4`,
      [after ?? null, status ?? null, name ?? null, limit + 1],
    );
    return { keys: keys.slice(0, limit), hasMore: keys.length > limit };
  }

  private async read(sql: string, parameters: unknown[], tx?: Tx): Promise<ManagedKey[]> {
    const rows = await (tx ?? this.database.source).query<RegisterRow[]>(sql, parameters);
    const budgets = await this.limits.states(
      rows.map(({ id }) => ({ kind: 'key', id })),
      tx,
    );
    return rows.map((row, place) => managedKey(row, budgets[place] ?? null));
  }
}

export const noSuchKey = (): Fault =>
  fault('not_found', { param: 'key_id', message: 'There is no key with this id.' });

function refuseCursor(error: unknown): never {
  if ((error as Partial<Fault>).code !== 'not_found') throw error;
  throw fault('invalid_request', {
    param: 'cursor',
    message: 'cursor must be the last_id of an earlier page.',
  });
}

function managedKey(row: RegisterRow, budget: LimitState | null): ManagedKey {
  return {
    id: row.id,
    publicId: row.public_id,
    kind: row.kind,
    name: row.name,
    status: row.shown_status,
    userId: row.user_id,
    organisationId: row.organisation_id,
    departmentId: row.department_id,
    projectId: row.project_id,
    allowedModels: row.allowed_models,
    allowedRegions: row.allowed_regions,
    regionsAsList: row.regions_as_list,
    rateLimitRpm: row.rate_limit_rpm,
    metadata: row.metadata,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
    createdBy: row.created_by,
    revokedAt: row.revoked_at,
    previousUntil: row.previous_until,
    budget,
  };
}
