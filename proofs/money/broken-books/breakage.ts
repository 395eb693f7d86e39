/** One thing that a thief or a bad disk does to the books, behind the back of every trigger and right. */
export interface Breakage {
  readonly what: string;
  /**
   * Run as the owner of the database; `$1` is a seed that picks the victim. Its last statement returns `told`: what
   * the report has to name.
   */
  readonly sql: string;
}

/** A row of a table, chosen by the seed. */
export const some = (table: string, where = 'true', column = '*'): string =>
  `(SELECT ${column} FROM ${table} WHERE ${where} ORDER BY md5(($1::text || ${table}::text)) LIMIT 1)`;
