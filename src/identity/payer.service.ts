import { Injectable } from '@nestjs/common';
import { invoiceAccountOf, type UnknownFieldMode } from '../kernel';
import { Database, readRows, type Tx } from '../platform';
import type { BillingType } from './billing-type';
import { isInUse, type UserStatus } from './user-status';

/** The owner of a key or conversation. */
export interface Ownership {
  readonly userId: number | null;
  readonly organisationId: number | null;
  readonly departmentId: number | null;
  readonly projectId: number | null;
}

/** The full attribution of an owner, and the payer. */
export interface Standing extends Ownership {
  readonly userStatus: UserStatus | null;
  readonly organisationRegions: readonly string[] | null;
  /** The project's billing user, the organisation's, or the user; or who pays for that one, delegate by delegate. */
  readonly payerUserId: number | null;
  /** Everyone on the way to the payer, who is the last: a change of one of them may change who pays. */
  readonly payerChain: readonly number[];
  readonly payerBillingType: BillingType | null;
  /** The payer's wallet or account of invoices; null if nobody pays, a suspended delegate would, or nothing is charged. */
  readonly chargedAccount: number | null;
  readonly billingExempt: boolean;
  /** The organisation, or the person without one, lets spans hold content. */
  readonly telemetryContent: boolean;
  /** The organisation's choice; null leaves it to the installation. */
  readonly unknownFields: UnknownFieldMode | null;
  /** The organisation pays these shares of a price, the latest version first; null where it never had a mark-up. */
  readonly priceFactors: readonly PriceFactorVersion[] | null;
}

export interface PriceFactorVersion {
  /** It is in milliseconds since the epoch. */
  readonly from: number;
  /** It is written in millionths. */
  readonly factor: number;
}

/** More delegates in a row are not followed; `billing-config` refuses them, and circles. */
export const MOST_DELEGATES = 4;

const statement = `
  WITH RECURSIVE owner AS (
    SELECT u.id AS user_id, u.status AS user_status,
           p.id AS project_id, p.billing_user_id AS project_payer,
           coalesce(p.organisation_id, d.organisation_id, $2::integer, u.organisation_id) AS organisation_id,
           coalesce(d.id, u.department_id) AS department_id, u.telemetry_content AS own_content
    FROM (SELECT 1) AS one
    LEFT JOIN user_account u ON u.id = $1
    LEFT JOIN department d ON d.id = $3
    LEFT JOIN project p ON p.id = $4
  ),
  payer AS (
    SELECT u.*, ARRAY[u.id] AS chain
      FROM owner w LEFT JOIN organisation o ON o.id = w.organisation_id
      JOIN user_account u ON u.id = coalesce(w.project_payer, o.billing_user_id, w.user_id)
    UNION ALL
    SELECT u.*, p.chain || u.id FROM payer p JOIN user_account u ON u.id = p.delegate_user_id
     WHERE u.id <> ALL (p.chain) AND cardinality(p.chain) <= ${MOST_DELEGATES}
  )
  SELECT w.user_id, w.organisation_id, w.department_id, w.project_id, w.user_status,
         o.allowed_regions AS organisation_regions, payer.id AS payer_user_id, coalesce(payer.chain, '{}') AS payer_chain, payer.billing_type AS payer_billing_type, payer.status AS payer_status,
         coalesce(o.billing_exempt, false) OR coalesce(payer.billing_exempt, false) AS billing_exempt,
         coalesce(o.telemetry_content, w.own_content, false) AS telemetry_content, o.unknown_fields,
         (SELECT jsonb_agg(jsonb_build_object('from', floor(extract(epoch FROM m.valid_from) * 1000), 'factor', m.factor)
                           ORDER BY m.valid_from DESC)
            FROM organisation_markup m WHERE m.organisation_id = w.organisation_id
             AND m.valid_from >= coalesce((SELECT max(n.valid_from) FROM organisation_markup n
                   WHERE n.organisation_id = w.organisation_id AND n.valid_from <= now()), '-infinity')) AS price_factors
  FROM owner w
  LEFT JOIN organisation o ON o.id = w.organisation_id
  LEFT JOIN payer ON true
  ORDER BY cardinality(payer.chain) DESC NULLS LAST LIMIT 1`;

@Injectable()
export class PayerService {
  constructor(private readonly database: Database) {}

  /** Inside a transaction it is read there. */
  async standingOf(owner: Ownership, tx?: Tx): Promise<Standing> {
    const rows = await readRows<PayingRow>(tx ?? this.database, statement, [
      owner.userId,
      owner.organisationId,
      owner.departmentId,
      owner.projectId,
    ]);
    const [row] = rows;
    if (row === undefined) throw new Error('the standing query answers one row always');
    return { ...row, chargedAccount: accountOf(row) };
  }
}

type PayingRow = Omit<Standing, 'chargedAccount'> & { readonly payerStatus: UserStatus | null };

function accountOf({
  billingExempt,
  payerUserId: id,
  payerStatus,
  payerChain,
  payerBillingType,
}: PayingRow): number | null {
  if (billingExempt || id === null) return null;
  const isDelegate = payerChain.length > 1;
  if (isDelegate && payerStatus !== null && !isInUse(payerStatus)) return null;
  return payerBillingType === 'invoiced' ? invoiceAccountOf(id) : id;
}
