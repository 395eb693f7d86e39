import type { UserRole } from '../../kernel';
import type { Database } from '../../platform';
import { hasAddress } from '../account-address';

export interface InviteDetails {
  readonly state: 'pending' | 'accepted' | 'revoked' | 'expired';
  readonly isForAnother: boolean;
  readonly email: string;
  readonly role: UserRole;
  readonly organisation: string;
  readonly invitedBy: string;
  readonly expiresAt: Date;
}

export async function findInvite(
  database: Database,
  tokenHash: Buffer,
  viewer: string | null,
): Promise<InviteDetails | null> {
  const [invite] = await database.rows<InviteDetails>(
    `SELECT CASE WHEN i.revoked_at IS NOT NULL THEN 'revoked' WHEN i.accepted_at IS NOT NULL THEN 'accepted'
                 WHEN i.expires_at <= now() THEN 'expired' ELSE 'pending' END AS state,
            i.email, i.role, o.name AS organisation, u.display_name AS invited_by, i.expires_at,
            coalesce(NOT ${hasAddress('i.email', '$2::text')}, false) AS is_for_another
     FROM invite i JOIN organisation o ON o.id = i.organisation_id JOIN user_account u ON u.id = i.invited_by
     WHERE i.token_hash = $1`,
    [tokenHash, viewer],
  );
  return invite ?? null;
}
