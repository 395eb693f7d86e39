/**
 * Proof of a hold. Only billing creates one, and every supplier call requires it, so that no route can skip billing.
 */
export abstract class HoldProof {
  readonly #proof = true;

  /** A private brand: without it any object would be assignable. */
  static isProof(value: object): value is HoldProof {
    return #proof in value && value.#proof;
  }
}
