/** A change to the books by a thief or a faulty disk, bypassing triggers and permissions. */
export interface Breakage {
  readonly what: string;
  /**
   * SQL run as the database owner; `$1` is a seed that selects the victim. The last statement returns `told`, the text
   * the report must contain.
   */
  readonly sql: string;
}

/** Row of a table selected by the seed. */
export const randomRow = (table: string, condition = 'true', column = '*'): string =>
  `(SELECT ${column} FROM ${table} WHERE ${condition} ORDER BY md5(($1::text || ${table}::text)) LIMIT 1)`;
