/** The column has encrypted values, and each belongs in one place. Tables of secrets list theirs beside their place. */
export interface SealedColumn {
  readonly table: string;
  /** It holds packed values; or the parts of a value stand in columns of their own. */
  readonly column: string;
  readonly keyIdColumn?: string;
  /** An SQL condition on the table `t`; without it, every row has a value. */
  readonly where?: string;
  readonly place: {
    readonly table: string;
    readonly field: string;
    /** It is SQL for the row of the place, of the columns of the table `t`. */
    readonly row: string;
    /** The SQL gives the host that the value is bound to; without it there is none. */
    readonly host?: string;
  };
}
