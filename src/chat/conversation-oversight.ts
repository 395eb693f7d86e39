import { Injectable } from '@nestjs/common';
import type { Scope } from '../kernel';
import { Database, type Page, type PageRequest, readRows, type Tx } from '../platform';
import type { ConversationHead } from './conversation';
import {
  type ConversationRow,
  ConversationsService,
  headColumns,
  newestFirst,
  conversationNotFound,
} from './conversations.service';

/** A conversation as administrators see it. The title counts as content and is left out. */
export interface OverseenConversation extends Omit<ConversationHead, 'title'> {
  readonly person: string;
  readonly organisationId: number | null;
  readonly departmentId: number | null;
}

export interface OversightFilter extends PageRequest {
  /** Part of a name or an email address. */
  readonly person?: string | null;
  readonly model?: string | null;
}

type OverseenRow = ConversationRow & { readonly person: string };

const COLUMNS = `${headColumns}, CASE WHEN u.display_name = '' THEN u.email ELSE u.display_name END AS person`;

/** Administrators' access to the conversations of others. Callers log every use of `content`. */
@Injectable()
export class ConversationOversight {
  constructor(
    private readonly database: Database,
    private readonly conversations: ConversationsService,
  ) {}

  async list(scope: Scope, filter: OversightFilter): Promise<Page<OverseenConversation>> {
    const { person = null, model = null } = filter;
    const condition = withinScope(scope, 4);
    const keyset = newestFirst.clause(filter, 4 + condition.parameters.length);
    const rows = await this.database.rows<OverseenRow>(
      `SELECT ${COLUMNS}, ${newestFirst.positions} FROM conversation c JOIN user_account u ON u.id = c.user_id
        WHERE ($1::text IS NULL OR strpos(lower(u.display_name || ' ' || u.email), lower($1)) > 0)
          AND ($2::text IS NULL OR c.model = $2)
          AND ${condition.sql} AND ${keyset.where} ORDER BY ${keyset.orderBy} LIMIT $3`,
      [person, model, keyset.limit, ...condition.parameters, ...keyset.parameters],
    );
    const page = newestFirst.page(rows, filter);
    return { ...page, rows: page.rows.map(toOverseen) };
  }

  async get(scope: Scope, id: number, tx?: Tx): Promise<OverseenConversation> {
    return toOverseen(await this.row(scope, id, tx));
  }

  async content(scope: Scope, id: number, tx: Tx): Promise<ConversationHead> {
    return this.conversations.head(await this.row(scope, id, tx));
  }

  async remove(scope: Scope, id: number, tx: Tx): Promise<OverseenConversation> {
    const conversation = toOverseen(await this.row(scope, id, tx));
    await tx.query('DELETE FROM conversation WHERE id = $1', [id]);
    return conversation;
  }

  private async row(scope: Scope, id: number, tx?: Tx): Promise<OverseenRow> {
    const condition = withinScope(scope, 2);
    const [row] = await readRows<OverseenRow>(
      tx ?? this.database,
      `SELECT ${COLUMNS} FROM conversation c JOIN user_account u ON u.id = c.user_id
        WHERE c.id = $1 AND ${condition.sql}`,
      [id, ...condition.parameters],
    );
    if (row === undefined) throw conversationNotFound();
    return row;
  }
}

function toOverseen(row: OverseenRow): OverseenConversation {
  return {
    id: row.id,
    userId: row.userId,
    model: row.model,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    costNano: BigInt(row.costNano),
    messages: row.messages,
    person: row.person,
    organisationId: row.organisationId,
    departmentId: row.departmentId,
  };
}

/**
 * Condition on the conversation `c`, which belongs to the organisation its user had when it was started. Parameters are
 * numbered from `first`.
 */
function withinScope(scope: Scope, first: number): { sql: string; parameters: readonly number[] } {
  switch (scope.kind) {
    case 'platform':
      return { sql: 'true', parameters: [] };
    case 'organisation':
      return { sql: `c.organisation_id = $${first}`, parameters: [scope.organisationId] };
    case 'department':
      return {
        sql: `(c.department_id = $${first} OR c.user_id = $${first + 1})`,
        parameters: [scope.departmentId, scope.userId],
      };
    case 'user':
      return { sql: `c.user_id = $${first}`, parameters: [scope.userId] };
  }
}
