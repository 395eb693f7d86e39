import type { FaultOptions } from '../pages';
import { errorStatuses } from './generated';

/** An error of the error catalogue, with the status that the host gives it. */
export class TestFault extends Error {
  readonly status: number;

  constructor(
    readonly code: string,
    readonly options: FaultOptions = {},
    readonly detail: readonly object[] = [],
  ) {
    super(options.message ?? code);
    this.name = 'TestFault';
    const status = errorStatuses[code];
    if (status === undefined) throw new TypeError(`the error catalogue has no code ${code}`);
    // Portal routes respond to an invalid parameter with 422.
    this.status = code === 'validation_error' ? 422 : status;
  }
}
