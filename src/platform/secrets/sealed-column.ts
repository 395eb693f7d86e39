/** A column of encrypted values, each bound to one location. Tables of secrets declare theirs next to the location. */
export interface SealedColumn {
  readonly table: string;
  /** Holds packed values, unless the parts of a value are in separate columns. */
  readonly column: string;
  readonly keyIdColumn?: string;
  /** An SQL condition on the table `t`; undefined if every row has a value. */
  readonly where?: string;
  readonly place: {
    readonly table: string;
    readonly field: string;
    /** SQL expression for the row of the location, on the columns of the table `t`. */
    readonly row: string;
    /** SQL expression for the host that the value is bound to; undefined if there is none. */
    readonly host?: string;
  };
}
