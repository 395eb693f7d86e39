/** Compares addresses in a canonical form; if several accounts match, `closestAddress` decides. */
export const hasAddress = (column: string, parameter: string): string =>
  `canonical_address(${column}) = canonical_address(${parameter})`;

/** Sorts the account with the requested spelling before those that only share the canonical form. */
export const closestAddress = (column: string, parameter: string): string =>
  `${column} = ${parameter} DESC, lower(${column}) = lower(${parameter}) DESC, ${column}`;
