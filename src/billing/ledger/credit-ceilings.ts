import { Injectable } from '@nestjs/common';
import { fault, formatUsd, type Nano } from '../../kernel';
import { Database, type Tx } from '../../platform';

interface CreditCeiling {
  readonly ceiling: Nano;
  /** Sum of the credit limits of the organisation's users. */
  readonly given: Nano;
}

/** The platform's cap on the total credit that administrators of an organisation can grant. */
@Injectable()
export class CreditCeilings {
  constructor(private readonly database: Database) {}

  async find(organisationId: number, tx?: Tx): Promise<CreditCeiling> {
    const [row] = await (tx ?? this.database.source).query<{ ceiling: string; given: string }[]>(
      `SELECT o.credit_ceiling_nano AS ceiling,
              (SELECT coalesce(sum(r.limit_nano), 0)::text
                 FROM user_account u JOIN spending_rule r ON r.kind = 'wallet' AND r.owner_id = u.id
                WHERE u.organisation_id = o.id) AS given
         FROM organisation o WHERE o.id = $1`,
      [organisationId],
    );
    if (row === undefined) throw fault('not_found');
    return { ceiling: BigInt(row.ceiling), given: BigInt(row.given) };
  }

  /** Returns the former ceiling. A ceiling below the credit already granted takes nothing back. */
  async set(tx: Tx, organisationId: number, ceiling: Nano): Promise<Nano> {
    const former = await this.find(organisationId, tx);
    await tx.query('UPDATE organisation SET credit_ceiling_nano = $2 WHERE id = $1', [
      organisationId,
      ceiling.toString(),
    ]);
    return former.ceiling;
  }

  /** Serialises raises within one organisation, so that two of them cannot use the same headroom. */
  async requireHeadroom(tx: Tx, organisationId: number, more: Nano): Promise<void> {
    await tx.query('SELECT 1 FROM organisation WHERE id = $1 FOR NO KEY UPDATE', [organisationId]);
    const { ceiling, given } = await this.find(organisationId, tx);
    if (given + more <= ceiling) return;
    const [maximum, total] = [ceiling, given].map((amount) => `$${formatUsd(amount)}`);
    throw fault('permission_denied', {
      param: 'credit_limit',
      message: `The credit limits of this organisation are ${total} together; the platform allows ${maximum}.`,
      details: { reason: 'credit-ceiling', ceiling: maximum, given: total },
    });
  }
}
