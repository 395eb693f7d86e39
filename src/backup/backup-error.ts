export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/** Object of a target that cannot be used, as opposed to a target that cannot be reached. */
export class UnreadableObject extends BackupError {
  constructor(
    object: string,
    /** Completes a sentence that starts with the object. */
    readonly problem: string,
    detail: string,
    options?: ErrorOptions,
  ) {
    super(`${object} ${problem}: ${detail}`, options);
  }
}

export class DamagedObject extends UnreadableObject {
  constructor(object: string, detail: string, options?: ErrorOptions) {
    super(object, 'is damaged', detail, options);
  }
}
