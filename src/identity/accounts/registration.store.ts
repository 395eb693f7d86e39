import { hasAddress } from '../account-address';

/**
 * A single statement that writes in every case, so that its timing reveals nothing. Each registration of an unconfirmed
 * address keeps its own password with its token; the token that is used decides which one counts.
 */
export const insertAccount = `
  WITH account AS (
    INSERT INTO user_account AS u (email, display_name, password_hash, preferred_language, time_zone)
    SELECT $1::text, $2::text, $3::text, $4::text, $5::text
     WHERE NOT EXISTS (SELECT 1 FROM user_account o WHERE o.shares_address AND ${hasAddress('o.email', '$1')})
    ON CONFLICT (canonical_address(email)) WHERE NOT shares_address DO UPDATE SET email = u.email
      WHERE u.status = 'pending_verification'
    RETURNING id
  ), begun AS (
    INSERT INTO account_token (token_hash, purpose, user_id, data, expires_at)
    SELECT $8::bytea, 'verify_email', id, $9::jsonb, $10::timestamptz FROM account
  ), accepted AS (
    INSERT INTO legal_acceptance (user_id, version) SELECT id, $6 FROM account ON CONFLICT DO NOTHING
  )
  UPDATE attempt_throttle SET last_at = clock_timestamp() WHERE key_hash = $7`;
