import { Injectable } from '@nestjs/common';
import { fault, type UserRole, type Scope } from '../../kernel';
import {
  Database,
  everyRow,
  Keyset,
  type Page,
  type PageRequest,
  readRows,
  type TableRow,
  type Tx,
} from '../../platform';
import { closestAddress, hasAddress } from '../account-address';
import type { UserStatus } from '../user-status';
import { notFoundFault } from './acting';
import { usersWithin } from './scope-conditions';

const COLUMNS =
  'u.id, u.email, u.display_name, u.role, u.status, u.organisation_id, u.department_id, u.billing_type, u.billing_exempt, u.delegate_user_id, u.created_at, u.last_seen_at, u.version';

export interface ListedUser extends TableRow<'user_account', typeof COLUMNS> {
  readonly organisation: string | null;
  readonly department: string | null;
  readonly delegate: string | null;
}

export interface UserFilter extends PageRequest {
  /** Matches any part of the name or address. */
  readonly text?: string | null;
  readonly role?: UserRole | null;
  readonly status?: UserStatus | null;
  readonly organisationId?: number | null;
}

export type UserName = TableRow<'user_account', 'id, email'> & { readonly name: string };

const newestFirst = new Keyset([{ sql: 'u.id', kind: 'integer' }], 'descending');

const selection = `
  SELECT ${COLUMNS}, ${newestFirst.positions}, o.name AS organisation, d.name AS department, payer.email AS delegate
    FROM user_account u LEFT JOIN organisation o ON o.id = u.organisation_id
    LEFT JOIN department d ON d.id = u.department_id LEFT JOIN user_account payer ON payer.id = u.delegate_user_id
   WHERE u.status <> 'deleted'`;

const PAGE_SIZE = 500;
const MAX_NAMES = 200;

@Injectable()
export class UserRegister {
  constructor(private readonly database: Database) {}

  async page(scope: Scope, filter: UserFilter): Promise<Page<ListedUser>> {
    const { text = null, role = null, status = null, organisationId = null } = filter;
    const within = usersWithin(scope, 6);
    const page = newestFirst.clause(filter, 6 + within.parameters.length);
    const rows = await this.database.rows<ListedUser>(
      `${selection}
         AND ($1::text IS NULL OR strpos(lower(u.email || ' ' || u.display_name), lower($1)) > 0)
         AND ($2::text IS NULL OR u.role = $2) AND ($3::text IS NULL OR u.status = $3)
         AND ($4::integer IS NULL OR u.organisation_id = $4)
         AND ${within.sql} AND ${page.where} ORDER BY ${page.orderBy} LIMIT $5`,
      [text, role, status, organisationId, page.limit, ...within.parameters, ...page.parameters],
    );
    return newestFirst.page(rows, filter);
  }

  all(scope: Scope, filter: UserFilter): AsyncIterable<ListedUser> {
    return everyRow(filter.limit, PAGE_SIZE, (page) => this.page(scope, { ...filter, ...page }));
  }

  async get(scope: Scope, id: number, tx?: Tx): Promise<ListedUser> {
    const within = usersWithin(scope, 2);
    const rows = await readRows<ListedUser>(
      tx ?? this.database,
      `${selection} AND u.id = $1 AND ${within.sql}`,
      [id, ...within.parameters],
    );
    const [row] = rows;
    if (row === undefined) throw notFoundFault('user');
    return row;
  }

  /** Returns the id of a user whom a form names by id or address, optionally within one organisation. */
  async resolveUserId(
    scope: Scope,
    idOrEmail: number | string,
    { param, organisationId = null }: { readonly param: string; readonly organisationId?: number | null },
  ): Promise<number> {
    if (typeof idOrEmail === 'number') return idOrEmail;
    const within = usersWithin(scope, 3);
    const [user] = await this.database.query<TableRow<'user_account', 'id'>>(
      `SELECT u.id FROM user_account u
        WHERE u.status <> 'deleted' AND ${hasAddress('u.email', '$1')}
          AND ($2::integer IS NULL OR u.organisation_id = $2) AND ${within.sql}
        ORDER BY ${closestAddress('u.email', '$1')} LIMIT 1`,
      [idOrEmail, organisationId, ...within.parameters],
    );
    if (user !== undefined) return user.id;
    throw fault('not_found', {
      param,
      message: 'There is no person with this mail address.',
      details: { reason: 'unknown-person' },
    });
  }

  /** Suggestions for a field that names a user, by email address; others can be typed. */
  async names(scope: Scope, organisationId: number | null = null): Promise<UserName[]> {
    const within = usersWithin(scope, 3);
    return this.database.query<UserName>(
      `SELECT u.id, u.display_name AS name, u.email FROM user_account u
        WHERE u.status <> 'deleted' AND ($1::integer IS NULL OR u.organisation_id = $1) AND ${within.sql}
        ORDER BY lower(u.email) LIMIT $2`,
      [organisationId, MAX_NAMES, ...within.parameters],
    );
  }
}
