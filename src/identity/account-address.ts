/** Addresses are compared in one canonical form; of accounts that collide under it, the one spelled alike counts. */
export const hasAddress = (column: string, parameter: string): string =>
  `canonical_address(${column}) = canonical_address(${parameter})`;

/** Puts the account that is spelled as asked for before those that only have the same canonical form. */
export const closestAddress = (column: string, parameter: string): string =>
  `${column} = ${parameter} DESC, lower(${column}) = lower(${parameter}) DESC, ${column}`;
