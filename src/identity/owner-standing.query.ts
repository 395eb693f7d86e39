import type { UnknownFieldMode } from '../kernel';
import { type Database, readRows, type Tx } from '../platform';
import type { BillingType } from './billing-type';
import type { UserStatus } from './user-status';

export interface PriceFactorVersion {
  /** Milliseconds since the epoch. */
  readonly from: number;
  /** In millionths. */
  readonly factor: number;
}

export interface Ownership {
  readonly userId: number | null;
  readonly organisationId: number | null;
  readonly departmentId: number | null;
  readonly projectId: number | null;
}

export interface OwnerStanding extends Ownership {
  readonly userStatus: UserStatus | null;
  readonly organisationRegions: readonly string[] | null;
  /** The project's billing user, else the organisation's, else the user; or the delegate who pays for that one. */
  readonly payerUserId: number | null;
  /** All accounts up to and including the payer: a change of any of them can change who pays. */
  readonly payerChain: readonly number[];
  readonly payerBillingType: BillingType | null;
  /**
   * The payer's wallet or invoice account; null if there is no payer, a suspended delegate would pay, or nothing is
   * charged.
   */
  readonly chargedAccount: number | null;
  readonly billingExempt: boolean;
  /** Whether the organisation, or a user without one, allows content in traces. */
  readonly telemetryContent: boolean;
  /** The organisation's choice; null uses the setting of the installation. */
  readonly unknownFields: UnknownFieldMode | null;
  /** Shares of a price that the organisation pays, latest version first; null if it never had a mark-up. */
  readonly priceFactors: readonly PriceFactorVersion[] | null;
}

export type OwnerStandingRow = Omit<OwnerStanding, 'chargedAccount'> & {
  readonly payerStatus: UserStatus | null;
};

/** Maximum number of delegates in a row; `billing-config` rejects longer chains, and loops. */
export const MAX_DELEGATES = 4;

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
     WHERE u.id <> ALL (p.chain) AND cardinality(p.chain) <= ${MAX_DELEGATES}
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

export async function readOwnerStanding(
  reader: Database | Tx,
  { userId, organisationId, departmentId, projectId }: Ownership,
): Promise<OwnerStandingRow> {
  const [row] = await readRows<OwnerStandingRow>(reader, statement, [
    userId,
    organisationId,
    departmentId,
    projectId,
  ]);
  if (row === undefined) throw new Error('the standing query answers one row always');
  return row;
}
