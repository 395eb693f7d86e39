/** The received bytes are no HTTP response. */
export class BrokenAnswer extends Error {
  readonly code = 'SUPPLIER_BROKEN_ANSWER';

  constructor(reason: string) {
    super(`the supplier's answer cannot be read: ${reason}`);
    this.name = 'BrokenAnswer';
  }
}

export class SupplierClosed extends Error {
  readonly code = 'SUPPLIER_CLOSED';

  constructor() {
    super('the supplier closed the connection before its answer was whole');
    this.name = 'SupplierClosed';
  }
}

export class SupplierDeadline extends Error {
  readonly code = 'SUPPLIER_DEADLINE';

  constructor(problem: string, milliseconds: number) {
    super(`the supplier ${problem} ${milliseconds} ms`);
    this.name = 'SupplierDeadline';
  }
}

/** The proxy on the route did not let the connection through, or is unreachable. */
export class ProxyFailed extends Error {
  readonly code = 'PROXY_FAILED';

  constructor(host: string, problem: string, cause?: unknown) {
    super(`the proxy ${host} ${problem}`, cause === undefined ? undefined : { cause });
    this.name = 'ProxyFailed';
  }
}
