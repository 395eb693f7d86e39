/** The days for which a proof holds after the record was last seen. */
export const GRACE_DAYS = 7;

/** A condition on rows of `reseller_domain`. */
export const isProven = (table: string): string =>
  `(${table}.proven_at IS NOT NULL AND coalesce(${table}.seen_at > now() - interval '${GRACE_DAYS} days', false))`;
