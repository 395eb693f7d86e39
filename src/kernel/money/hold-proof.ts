/**
 * Proof that money is set aside for a request. Billing alone makes one; a call to a supplier has to show it, so
 * that no route can forget.
 */
export abstract class HoldProof {
  readonly #proof = true;

  /** Without it, any object would do. */
  static isProof(value: object): value is HoldProof {
    return #proof in value && value.#proof;
  }
}
