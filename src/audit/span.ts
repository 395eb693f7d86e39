/** A half-open span of time; `to` is exclusive. */
export interface Span {
  readonly from: Date;
  readonly to: Date;
}
