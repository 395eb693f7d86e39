/** A backup or restore that cannot go on; the message tells the operator what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/** An object of a target that cannot be used, unlike a target that cannot be reached. */
export class UnreadableObject extends BackupError {
  constructor(
    object: string,
    /** Completes a sentence that begins with the object. */
    readonly problem: string,
    detail: string,
    options?: ErrorOptions,
  ) {
    super(`${object} ${problem}: ${detail}`, options);
  }
}

/** The bytes are not those that were written. */
export class DamagedObject extends UnreadableObject {
  constructor(object: string, detail: string, options?: ErrorOptions) {
    super(object, 'is damaged', detail, options);
  }
}
