/** The bytes that came are no answer in HTTP. */
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

  constructor(what: string, milliseconds: number) {
    super(`the supplier ${what} ${milliseconds} ms`);
    this.name = 'SupplierDeadline';
  }
}

/** The proxy on the way did not let us through, or is not there. */
export class ProxyFailed extends Error {
  readonly code = 'PROXY_FAILED';

  constructor(host: string, problem: string, cause?: unknown) {
    super(`the proxy ${host} ${problem}`, cause === undefined ? undefined : { cause });
    this.name = 'ProxyFailed';
  }
}
