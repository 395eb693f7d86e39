import { Injectable } from '@nestjs/common';
import { fault, formatUsd, type Nano } from '../../kernel';
import { Database, type Tx } from '../../platform';

interface Ceiling {
  readonly ceiling: Nano;
  /** The sum of the credit limits that the people of the organisation have. */
  readonly given: Nano;
}

/** The platform limits the sum of credit that the administrators of an organisation may give. */
@Injectable()
export class CreditCeilings {
  constructor(private readonly database: Database) {}

  async of(organisationId: number, tx?: Tx): Promise<Ceiling> {
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

  /** Returns the former one. A ceiling below what is given takes nothing back. */
  async set(tx: Tx, organisationId: number, ceiling: Nano): Promise<Nano> {
    const former = await this.of(organisationId, tx);
    await tx.query('UPDATE organisation SET credit_ceiling_nano = $2 WHERE id = $1', [
      organisationId,
      ceiling.toString(),
    ]);
    return former.ceiling;
  }

  /** Raises within one organisation take turns, so that two of them find the same room once. */
  async requireRoom(tx: Tx, organisationId: number, more: Nano): Promise<void> {
    await tx.query('SELECT 1 FROM organisation WHERE id = $1 FOR NO KEY UPDATE', [organisationId]);
    const { ceiling, given } = await this.of(organisationId, tx);
    if (given + more <= ceiling) return;
    const [most, present] = [ceiling, given].map((amount) => `$${formatUsd(amount)}`);
    throw fault('permission_denied', {
      param: 'credit_limit',
      message: `The credit limits of this organisation are ${present} together; the platform allows ${most}.`,
      details: { reason: 'credit-ceiling', ceiling: most, given: present },
    });
  }
}
