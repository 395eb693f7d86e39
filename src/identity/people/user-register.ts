import { Injectable } from '@nestjs/common';
import { fault, type Role, type Scope } from '../../kernel';
import { Database, everyRow, Keyset, type Page, type PageRequest, type Tx } from '../../platform';
import { closestAddress, hasAddress } from '../account-address';
import type { BillingType } from '../billing-type';
import type { UserStatus } from '../user-status';
import { absent } from './acting';
import { usersWithin } from './within';

export interface ListedUser {
  readonly id: number;
  readonly email: string;
  readonly displayName: string;
  readonly role: Role;
  readonly status: UserStatus;
  readonly organisationId: number | null;
  readonly organisation: string | null;
  readonly departmentId: number | null;
  readonly department: string | null;
  readonly billingType: BillingType;
  readonly billingExempt: boolean;
  readonly delegateUserId: number | null;
  readonly delegate: string | null;
  readonly createdAt: Date;
  readonly lastSeenAt: Date | null;
  readonly version: number;
}

export interface UserFilter extends PageRequest {
  /** It is any part of the name or the address. */
  readonly text?: string | null;
  readonly role?: Role | null;
  readonly status?: UserStatus | null;
  readonly organisationId?: number | null;
}

export interface UserName {
  readonly id: number;
  readonly name: string;
  readonly email: string;
}

interface UserRow extends Readonly<Record<string, unknown>> {
  readonly id: number;
  readonly email: string;
  readonly display_name: string;
  readonly role: Role;
  readonly status: UserStatus;
  readonly organisation_id: number | null;
  readonly organisation: string | null;
  readonly department_id: number | null;
  readonly department: string | null;
  readonly billing_type: BillingType;
  readonly billing_exempt: boolean;
  readonly delegate_user_id: number | null;
  readonly delegate: string | null;
  readonly created_at: Date;
  readonly last_seen_at: Date | null;
  readonly version: number;
}

const newestFirst = new Keyset([{ sql: 'u.id', kind: 'integer' }], 'descending');

/** Erased accounts are gone for everybody. */
const selection = `
  SELECT u.id, u.email, u.display_name, u.role, u.status, u.organisation_id, o.name AS organisation, u.department_id,
         d.name AS department, u.billing_type, u.billing_exempt, u.delegate_user_id, payer.email AS delegate,
         u.created_at, u.last_seen_at, u.version, ${newestFirst.positions}
    FROM user_account u LEFT JOIN organisation o ON o.id = u.organisation_id
    LEFT JOIN department d ON d.id = u.department_id LEFT JOIN user_account payer ON payer.id = u.delegate_user_id
   WHERE u.status <> 'deleted'`;

const ROWS_AT_ONCE = 500;
const MOST_NAMES = 200;

/** Reads accounts as administrators see them: always those of a scope. */
@Injectable()
export class UserRegister {
  constructor(private readonly database: Database) {}

  async page(scope: Scope, filter: UserFilter): Promise<Page<ListedUser>> {
    const { text = null, role = null, status = null, organisationId = null } = filter;
    const within = usersWithin(scope, 6);
    const page = newestFirst.clause(filter, 6 + within.parameters.length);
    const rows = await this.database.query<UserRow>(
      `${selection}
         AND ($1::text IS NULL OR strpos(lower(u.email || ' ' || u.display_name), lower($1)) > 0)
         AND ($2::text IS NULL OR u.role = $2) AND ($3::text IS NULL OR u.status = $3)
         AND ($4::integer IS NULL OR u.organisation_id = $4)
         AND ${within.sql} AND ${page.where} ORDER BY ${page.orderBy} LIMIT $5`,
      [text, role, status, organisationId, page.limit, ...within.parameters, ...page.parameters],
    );
    const found = newestFirst.page(rows, filter);
    return { ...found, rows: found.rows.map(userOf) };
  }

  all(scope: Scope, filter: UserFilter): AsyncIterable<ListedUser> {
    return everyRow(filter.limit, ROWS_AT_ONCE, (page) => this.page(scope, { ...filter, ...page }));
  }

  async get(scope: Scope, id: number, tx?: Tx): Promise<ListedUser> {
    const within = usersWithin(scope, 2);
    const rows = await (tx ?? this.database.source).query<UserRow[]>(
      `${selection} AND u.id = $1 AND ${within.sql}`,
      [id, ...within.parameters],
    );
    const [row] = rows;
    if (row === undefined) throw absent('user');
    return userOf(row);
  }

  /** The number of a person whom a form names in either way, within one organisation where that matters. */
  async numberOf(
    scope: Scope,
    named: number | string,
    { param, organisationId = null }: { readonly param: string; readonly organisationId?: number | null },
  ): Promise<number> {
    if (typeof named === 'number') return named;
    const within = usersWithin(scope, 3);
    const [found] = await this.database.query<{ id: number }>(
      `SELECT u.id FROM user_account u
        WHERE u.status <> 'deleted' AND ${hasAddress('u.email', '$1')}
          AND ($2::integer IS NULL OR u.organisation_id = $2) AND ${within.sql}
        ORDER BY ${closestAddress('u.email', '$1')} LIMIT 1`,
      [named, organisationId, ...within.parameters],
    );
    if (found !== undefined) return found.id;
    throw fault('not_found', {
      param,
      message: 'There is no person with this mail address.',
      details: { reason: 'unknown-person' },
    });
  }

  /** Suggestions for a field that names a person, by mail address; others can be typed. */
  async names(scope: Scope, organisationId: number | null = null): Promise<UserName[]> {
    const within = usersWithin(scope, 3);
    return this.database.query<UserName>(
      `SELECT u.id, u.display_name AS name, u.email FROM user_account u
        WHERE u.status <> 'deleted' AND ($1::integer IS NULL OR u.organisation_id = $1) AND ${within.sql}
        ORDER BY lower(u.email) LIMIT $2`,
      [organisationId, MOST_NAMES, ...within.parameters],
    );
  }
}

const userOf = (row: UserRow): ListedUser => ({
  id: row.id,
  email: row.email,
  displayName: row.display_name,
  role: row.role,
  status: row.status,
  organisationId: row.organisation_id,
  organisation: row.organisation,
  departmentId: row.department_id,
  department: row.department,
  billingType: row.billing_type,
  billingExempt: row.billing_exempt,
  delegateUserId: row.delegate_user_id,
  delegate: row.delegate,
  createdAt: row.created_at,
  lastSeenAt: row.last_seen_at,
  version: row.version,
});
