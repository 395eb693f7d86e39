/** A stretch of time; `to` does not belong to it. */
export interface Span {
  readonly from: Date;
  readonly to: Date;
}
