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
