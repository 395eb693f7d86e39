/** Half-open time span; `to` is exclusive. */
export interface TimeSpan {
  readonly from: Date;
  readonly to: Date;
}
