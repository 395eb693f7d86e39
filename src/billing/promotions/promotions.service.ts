import { Injectable } from '@nestjs/common';
import { ActivityLog, type Changes, changesOf } from '../../audit';
import { fault, formatUsd, type Nano } from '../../kernel';
import {
  Database,
  Keyset,
  type Page,
  type PageRequest,
  readRows,
  type TableRow,
  type Tx,
} from '../../platform';
import { PromotionStore } from './promotion-store';

export const promotionScopes = ['user', 'organisation', 'everyone'] as const;

export type PromotionScope = (typeof promotionScopes)[number];

export interface NewPromotion {
  readonly name: string;
  readonly scope: PromotionScope;
  readonly userId: number | null;
  readonly organisationId: number | null;
  readonly amount: Nano;
  readonly expiresAt: Date | null;
  readonly createdBy: number;
}

export interface ListedPromotion {
  readonly id: number;
  readonly name: string;
  readonly scope: PromotionScope;
  readonly target: string | null;
  readonly amount: Nano;
  readonly wallets: number;
  readonly granted: Nano;
  readonly remaining: Nano;
  readonly reclaimed: Nano;
  readonly expiresAt: Date | null;
  readonly createdBy: string;
  readonly version: number;
}

export interface PromotionChange {
  readonly id: number;
  readonly version?: number;
  readonly name?: string;
  /** Null if the promotion never expires. */
  readonly expiresAt?: Date | null;
  /** Ends the promotion now; no effect if it has ended already. */
  readonly end?: boolean;
  readonly reason?: string;
}

type ListedPromotionRow = Omit<ListedPromotion, PromotionAmount> & Readonly<Record<PromotionAmount, string>>;
type PromotionAmount = 'amount' | 'granted' | 'remaining' | 'reclaimed';

type StoredPromotion = TableRow<'promotion_grant', 'name, expires_at, version'> & {
  readonly hasEnded: boolean;
};

const newestFirst = new Keyset([{ sql: 'g.id', kind: 'integer' }], 'descending');

/** Promotional credit granted by the operator. Only operators read it, so reads have no scope. */
@Injectable()
export class Promotions {
  constructor(
    private readonly database: Database,
    private readonly store: PromotionStore,
    private readonly activity: ActivityLog,
  ) {}

  async page(filter: PageRequest & { readonly text?: string | null }): Promise<Page<ListedPromotion>> {
    const page = newestFirst.clause(filter, 3);
    const rows = await this.database.rows<ListedPromotionRow>(
      `SELECT g.id, g.name, g.scope, coalesce(u.email, o.name) AS target, g.amount, g.expires_at, g.version,
              maker.email AS created_by, ${newestFirst.positions}, c.*
         FROM promotion_grant g LEFT JOIN user_account u ON u.id = g.user_id
         LEFT JOIN organisation o ON o.id = g.organisation_id JOIN user_account maker ON maker.id = g.created_by
         CROSS JOIN LATERAL (SELECT count(*)::integer AS wallets, coalesce(sum(amount), 0)::bigint AS granted,
             coalesce(sum(remaining), 0)::bigint AS remaining, coalesce(sum(reclaimed), 0)::bigint AS reclaimed
           FROM promotion_credit c WHERE c.grant_id = g.id) AS c
        WHERE ($1::text IS NULL OR strpos(lower(g.name), lower($1)) > 0) AND ${page.where}
        ORDER BY ${page.orderBy} LIMIT $2`,
      [filter.text ?? null, page.limit, ...page.parameters],
    );
    const result = newestFirst.page(rows, filter);
    return { ...result, rows: result.rows.map(promotionOf) };
  }

  /** Returns the unspent promotions in wallets, as of the last time their spending was counted. */
  async liability(): Promise<Nano> {
    const [row] = await this.database.query<{ total: string }>(
      'SELECT coalesce(sum(remaining), 0)::bigint AS total FROM promotion_credit',
    );
    return BigInt(row?.total ?? 0);
  }

  async create(promotion: NewPromotion): Promise<number> {
    const id = await this.database.transaction(async (tx) => {
      await requireTarget(tx, promotion);
      const { name, scope, userId, organisationId, amount, expiresAt, createdBy } = promotion;
      const rows = await tx.query<TableRow<'promotion_grant', 'id'>[]>(
        `INSERT INTO promotion_grant (name, scope, user_id, organisation_id, amount, expires_at, created_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`,
        [name, scope, userId, organisationId, amount.toString(), expiresAt, createdBy],
      );
      const grantId = rows[0]?.id ?? 0;
      await this.activity.write(tx, {
        action: 'promotion.granted',
        object: { type: 'promotion', id: grantId, label: name },
        concerns: { userId, organisationId },
        changes: changesOf(null, {
          name,
          scope,
          userId,
          organisationId,
          amount: formatUsd(amount),
          expiresAt,
        }),
      });
      return grantId;
    });
    await this.store.creditAll(id);
    return id;
  }

  async change(input: PromotionChange): Promise<Changes> {
    const changes = await this.database.transaction(async (tx) => {
      const [promotion] = await readRows<StoredPromotion>(
        tx,
        `SELECT name, expires_at, version, (expires_at <= clock_timestamp()) IS TRUE AS has_ended
           FROM promotion_grant WHERE id = $1 FOR UPDATE`,
        [input.id],
      );
      if (promotion === undefined) throw fault('not_found', { message: 'There is no such promotion.' });
      if (input.version !== undefined && input.version !== promotion.version) {
        throw fault('conflict', {
          param: 'version',
          message: 'Somebody else changed this promotion meanwhile.',
        });
      }
      const before = { name: promotion.name, expires_at: promotion.expiresAt };
      const after = {
        name: input.name ?? promotion.name,
        expires_at: newExpiry(promotion, input),
      };
      const diff = changesOf(before, after);
      if (Object.keys(diff).length === 0) {
        this.activity.reportNoChange();
        return diff;
      }
      await tx.query(
        'UPDATE promotion_grant SET name = $2, expires_at = $3, version = version + 1 WHERE id = $1',
        [input.id, after.name, after.expires_at],
      );
      if (diff.expires_at !== undefined) await this.store.notifyNodes(tx, input.id);
      await this.activity.write(tx, {
        action: 'promotion.changed',
        object: { type: 'promotion', id: input.id, label: after.name },
        concerns: {},
        changes: diff,
        ...(input.reason === undefined ? {} : { reason: input.reason }),
      });
      return diff;
    });
    await this.store.creditAll(input.id);
    await this.store.reclaimAll(input.id);
    return changes;
  }
}

/** Returns the new expiry. An ended promotion is never extended, because its rest has been posted back. */
function newExpiry(promotion: StoredPromotion, { expiresAt, end }: PromotionChange): Date | null {
  if (!promotion.hasEnded)
    return end === true ? new Date() : expiresAt === undefined ? promotion.expiresAt : expiresAt;
  if (expiresAt === undefined || expiresAt?.getTime() === promotion.expiresAt?.getTime())
    return promotion.expiresAt;
  throw fault('conflict', {
    param: 'expires_at',
    message: 'This promotion has ended. Make a new one.',
    details: { reason: 'promotion-ended' },
  });
}

async function requireTarget(tx: Tx, { scope, userId, organisationId }: NewPromotion): Promise<void> {
  if (scope === 'everyone') return;
  const targets =
    scope === 'user'
      ? await tx.query<unknown[]>(`SELECT 1 FROM user_account WHERE id = $1 AND status = 'active'`, [userId])
      : await tx.query<unknown[]>(
          'SELECT 1 FROM organisation WHERE id = $1 AND billing_user_id IS NOT NULL',
          [organisationId],
        );
  if (targets.length > 0) return;
  throw fault('not_found', {
    message:
      scope === 'user' ? 'There is no such active user.' : 'There is no such organisation with a payer.',
  });
}

const promotionOf = (row: ListedPromotionRow): ListedPromotion => ({
  ...row,
  amount: BigInt(row.amount),
  granted: BigInt(row.granted),
  remaining: BigInt(row.remaining),
  reclaimed: BigInt(row.reclaimed),
});
